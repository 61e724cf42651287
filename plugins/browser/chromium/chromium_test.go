package chromium

import (
	"strings"
	"testing"
)

func TestAWindowNeedsADisplay(t *testing.T) {
	for _, tc := range []struct {
		mode, display, wayland string
		want                   bool
	}{
		{"auto", "", "", true},
		{"", "", "", true},
		{"auto", ":0", "", false},
		{"auto", "", "wayland-0", false},
		{"true", ":0", "", true},
		{"false", "", "", false},
	} {
		got := HeadlessFor(tc.mode, func(name string) string {
			return map[string]string{"DISPLAY": tc.display, "WAYLAND_DISPLAY": tc.wayland}[name]
		})
		if got != tc.want {
			t.Errorf("%+v: %t", tc, got)
		}
	}
}

func TestOldAndOtherProductsAreRefused(t *testing.T) {
	for product, want := range map[string]string{
		"Chrome/156.0.8078.108":         "",
		"HeadlessChrome/120.0.0.0":      "",
		"Chromium/130":                  "",
		"Edg/140.0.1":                   "",
		"Chrome/119.0.6045.105":         "too old",
		"Firefox/150.0":                 "no Chromium",
		"Chrome/x":                      "no Chromium",
		"":                              "no Chromium",
		"Chrome/99999999999999999999.0": "no Chromium",
	} {
		err := CheckVersion(product)
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "browser.path")) {
			t.Errorf("%q: %v, want %q", product, err, want)
		}
	}
}

func TestFlagsOfTheUserWinAndFeaturesAreJoined(t *testing.T) {
	args, err := commandLine(Options{
		Path: "/b", Profile: "/p", Headless: true,
		Args: []string{"--lang=de", "--enable-features=X,Translate", "--disable-features=Y", "--disable-features=Z"},
	}, false)
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Join(args, " ")
	for _, want := range []string{"/b --remote-debugging-pipe --user-data-dir=/p ", ",Y,Z ", ",X,Translate ", " --headless ", " --lang=de about:blank"} {
		if !strings.Contains(line, want) {
			t.Errorf("%q is missing in %s", want, line)
		}
	}
	for _, never := range []string{"--no-sandbox", "RenderDocument,Translate,"} {
		if strings.Contains(line, never) {
			t.Errorf("%q is in %s", never, line)
		}
	}
	if strings.Count(line, "--disable-features=") != 1 || strings.Count(line, "--enable-features=") != 1 {
		t.Errorf("the lists are not joined: %s", line)
	}
	for want, o := range map[string]Options{
		"--window-size=1280,800": {Headless: true},
		"--window-size=640,480":  {Headless: true, Args: []string{"--window-size=640,480"}},
	} {
		for _, o.Headless = range []bool{true, false} {
			args, err := commandLine(o, false)
			if line := strings.Join(args, " "); err != nil || strings.Count(line, "--window-size=") != 1 || !strings.Contains(line, want+" ") {
				t.Errorf("%s is not the window's size alone: %s, %v", want, line, err)
			}
		}
	}
	args, err = commandLine(Options{Path: "/b", Profile: "/p"}, true)
	if line := strings.Join(args, " "); err != nil || strings.Contains(line, "--headless") || !strings.Contains(line, " --no-sandbox") {
		t.Errorf("with a window, as root: %s, %v", line, err)
	}
}

func TestFlagsThatAreThePluginsOwnAreRefused(t *testing.T) {
	for _, arg := range []string{"--user-data-dir=/x", "--remote-debugging-port=9222", "--remote-debugging-pipe", "https://example.com", "-x", "--", "", "--a\x00b"} {
		if args, err := commandLine(Options{Path: "/b", Profile: "/p", Args: []string{arg}}, false); err == nil {
			t.Errorf("%q was taken: %q", arg, args)
		}
	}
}

func TestCommandLinesAreReadAsTheKernelShowsThem(t *testing.T) {
	for _, tc := range []struct {
		command     string
		uses, child bool
	}{
		{"/b\x00--x\x00--user-data-dir=/a b\x00about:blank\x00", true, false},
		{"/b\x00--type=zygote\x00--user-data-dir=/a b\x00", true, true},
		{"/b --type=renderer --user-data-dir=/a b --x", true, true},
		{"/b --type=renderer --user-data-dir=/a b\x00\x00\x00", true, true},
		{"/b --type=renderer --x=--user-data-dir=/a b --user-data-dir=/a b", true, true},
		{"/b --type=renderer --user-data-dir=/a b c --x", false, false},
		{"/b --type=renderer --user-data-dir=/a bc", false, false},
		{"/b\x00--user-data-dir=/a\x00b\x00", false, false},
		{"/b\x00--user-data-dir=/a b/c\x00", false, false},
		{"pgrep\x00-f\x00user-data-dir=/a b\x00", false, false},
		{"sh\x00-c\x00/b --type=x --user-data-dir=/a b --y\x00", false, false},
		{"/b --user-data-dir=/a b --x", false, false},
		{"--user-data-dir=/a b\x00", false, false},
		{"", false, false},
	} {
		if uses, child := lookAt([]byte(tc.command), "/a b"); uses != tc.uses || child != tc.child {
			t.Errorf("%q: uses %t, child %t", tc.command, uses, child)
		}
	}
}
