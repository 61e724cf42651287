package urlpolicy

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// outcome puts an answer into one word for tables: a URL, "rule: RULE",
// "external: SCHEME" or "denied: LIST".
func outcome(t *testing.T, s string, err error) string {
	t.Helper()
	var rejected *Rejected
	var external *External
	var denied *Denied
	switch {
	case err == nil:
		return s
	case s != "":
		t.Errorf("a refusal came with %q", s)
	case errors.As(err, &rejected):
		return "rule: " + string(rejected.Rule)
	case errors.As(err, &external):
		return "external: " + external.Scheme
	case errors.As(err, &denied):
		return "denied: " + denied.Rule
	}
	t.Errorf("an error without a type: %v", err)
	return ""
}

func navigation(t *testing.T, c Config, folders ...string) *Navigation {
	t.Helper()
	p, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	n, err := NewNavigation(p, folders)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestTypedAddresses(t *testing.T) {
	tests := []struct{ in, want string }{
		// What is opened as it is.
		{"http://example.com/", "http://example.com/"},
		{"https://example.com/a?b#c", "https://example.com/a?b#c"},
		{"https://example.com", "https://example.com/"},
		{"https://example.com?q", "https://example.com/?q"},
		{"https:example.com/x", "https://example.com/x"},
		{"https:/example.com/x", "https://example.com/x"},
		{"https:////example.com/x", "https://example.com/x"},
		{"about:blank", "about:blank"},
		{"ABOUT:Blank", "about:blank"},
		{"about:blank#x", "about:blank"},
		{"vantage:new", "about:blank"},
		{" vantage:new ", "about:blank"},

		// What no tab shows.
		{"file:///etc/passwd", "rule: file"},
		{"file:", "rule: file"},
		{"FILE:///etc/passwd", "rule: file"},
		{"fi\tle:///etc/passwd", "rule: file"},
		{"javascript:alert(1)", "rule: scheme"},
		{"JavaScript:alert(1)", "rule: scheme"},
		{"java\nscript:alert(1)", "rule: scheme"},
		{"\x01javascript:alert(1)", "rule: scheme"},
		{"javascript:1", "rule: scheme"},
		{"vbscript:x", "rule: scheme"},
		{"data:text/html,x", "rule: scheme"},
		{"data:1", "rule: scheme"},
		{"chrome://version", "rule: scheme"},
		{"chrome:80", "rule: scheme"},
		{"chrome-extension://abc/x.html", "rule: scheme"},
		{"view-source:https://example.com", "rule: scheme"},
		{"blob:https://example.com/0", "rule: scheme"},
		{"filesystem:https://example.com/temporary/x", "rule: scheme"},
		{"devtools://devtools/bundled/inspector.html", "rule: scheme"},
		{"ftp://example.com/", "rule: scheme"},
		{"ws://example.com/", "rule: scheme"},
		{"unheard-of:thing", "rule: scheme"},
		{"c:\\x", "rule: scheme"},
		{"hello: world", "rule: scheme"},
		{"about:", "rule: scheme"},
		{"about:config", "rule: scheme"},
		{"about:srcdoc", "rule: scheme"},
		{"about:blanket", "rule: scheme"},
		{"about:80", "rule: scheme"},
		{"vantage:settings", "rule: scheme"},

		// What belongs to others.
		{"mailto:ann@example.com", "external: mailto"},
		{"MAILTO:ann@example.com", "external: mailto"},
		{"tel:+123", "external: tel"},
		{"tel:123", "external: tel"},
		{"sms:123", "external: sms"},
		{"magnet:?xt=urn:btih:0", "external: magnet"},
		{"facetime:ann", "external: facetime"},
		{"skype:ann?call", "external: skype"},
		{"slack://open", "external: slack"},
		{"zoommtg://zoom.us/join", "external: zoommtg"},
		{"spotify:track:0", "external: spotify"},
		{"steam://run/440", "external: steam"},
		{"vscode://file/x", "external: vscode"},
		{"webcal://example.com/c.ics", "external: webcal"},
		{"xmpp:ann@example.com", "external: xmpp"},
		{"irc://irc.example.com/go", "external: irc"},
		{"geo:1,2", "external: geo"},
		{"market://details?id=x", "external: market"},
		{"intent://x#Intent;end", "external: intent"},
		{"bitcoin:1", "external: bitcoin"},
		{"ms-settings:display", "external: ms-settings"},
		{"web+music:x", "external: web+music"},

		// What misses its scheme.
		{"example.com", "https://example.com/"},
		{"example.com/x", "https://example.com/x"},
		{"Example.COM/X", "https://example.com/X"},
		{"example.com?q", "https://example.com/?q"},
		{"example.com#f", "https://example.com/#f"},
		{"example.com.", "https://example.com./"},
		{"example.com:", "https://example.com/"},
		{"example.com:8080/x", "https://example.com:8080/x"},
		{"example.com:443", "https://example.com/"},
		{"example.com:80", "http://example.com/"},
		{"example.com\\x", "https://example.com/x"},
		{"  example.com/a b  ", "https://example.com/a%20b"},
		{"bücher.example", "https://xn--bcher-kva.example/"},
		{"例え。テスト", "https://xn--r8jz45g.xn--zckzah/"},
		{"localhost", "http://localhost/"},
		{"LOCALHOST:3000", "http://localhost:3000/"},
		{"localhost:3000/x?y", "http://localhost:3000/x?y"},
		{"localhost:443", "https://localhost/"},
		{"localhost:80", "http://localhost/"},
		{"app.localhost:3000", "http://app.localhost:3000/"},
		{"localhost./x", "http://localhost./x"},
		{"127.0.0.1:8080/x", "http://127.0.0.1:8080/x"},
		{"192.168.1.1", "http://192.168.1.1/"},
		{"0.0.0.0:80", "http://0.0.0.0/"},
		{"[::1]:3000", "http://[::1]:3000/"},
		{"[::1]", "http://[::1]/"},
		{"::1", "http://[::1]/"},
		{"fe80::1", "http://[fe80::1]/"},
		{"2130706433", "http://127.0.0.1/"},
		{"0x7f.1", "http://127.0.0.1/"},
		{"intranet:8080", "http://intranet:8080/"},
		{"bücher:8080/x", "http://xn--bcher-kva:8080/x"},

		// What is no address.
		{"", "rule: address"},
		{"   ", "rule: address"},
		{"\t\n", "rule: address"},
		{"hello", "rule: address"},
		{"hello world", "rule: address"},
		{"hello world.com", "rule: address"},
		{"hello/world", "rule: address"},
		{"hello.", "rule: address"},
		{".hidden", "rule: address"},
		{"a..b", "rule: address"},
		{"...", "rule: address"},
		{"what is 2+2?", "rule: address"},
		{"42", "rule: address"},
		{"1.2.3.4.5", "rule: address"},
		{"256.1.1.1", "rule: address"},
		{"/etc/passwd", "rule: address"},
		{"./x.html", "rule: address"},
		{"//example.com/x", "rule: address"},
		{"\\\\server\\share", "rule: address"},
		{"?q", "rule: address"},
		{"#f", "rule: address"},
		{"@e1_2", "rule: address"},
		{"ann@example.com", "rule: address"},
		{":80", "rule: address"},
		{"[::1", "rule: address"},
		{"hello:", "rule: scheme"},
		{"\u00a0", "rule: address"},

		// Ports.
		{"http://example.com:80/", "http://example.com/"},
		{"https://example.com:443/", "https://example.com/"},
		{"http://example.com:443/", "http://example.com:443/"},
		{"http://example.com:/", "http://example.com/"},
		{"http://example.com:00081/", "http://example.com:81/"},
		{"http://example.com:65535/", "http://example.com:65535/"},
		{"http://example.com:0/", "rule: port"},
		{"http://example.com:65536/", "rule: port"},
		{"http://example.com:99999/", "rule: port"},
		{"http://example.com:99999999999999999999/", "rule: port"},
		{"http://example.com:8a/", "rule: port"},
		{"http://example.com:-1/", "rule: port"},
		{"http://example.com:+80/", "rule: port"},
		{"http://example.com:８０/", "rule: port"},
		{"localhost:0", "rule: port"},
		{"localhost:99999", "rule: port"},

		// Hosts.
		{"HTTP://EXAMPLE.com/", "http://example.com/"},
		{"http://", "rule: host"},
		{"http:", "rule: host"},
		{"http:///", "rule: host"},
		{"http://:80/", "rule: host"},
		{"http://hello/", "http://hello/"},
		{"http://faß.de/", "http://xn--fa-hia.de/"},
		{"http://XN--BCHER-KVA.example/", "http://xn--bcher-kva.example/"},
		{"http://xn--a/", "rule: host"},
		{"http://xn--bcheæ-kva.example/", "rule: host"},
		{"http://%65xample.com/", "http://example.com/"},
		{"http://b%C3%BCcher.example/", "http://xn--bcher-kva.example/"},
		{"http://ｅｘａｍｐｌｅ.com/", "http://example.com/"},
		{"http://example。com/", "http://example.com/"},
		{"http://a\u00adb.com/", "http://ab.com/"},
		{"http://\u00ad/", "rule: host"},
		{"http://example.com../", "rule: host"},
		{"http://a..b/", "rule: host"},
		{"http://.a/", "rule: host"},
		{"http://./", "rule: host"},
		{"http://a_b.example/", "http://a_b.example/"},
		{"http://ab--cd.example/", "http://ab--cd.example/"},
		{"http://a%00b/", "rule: host"},
		{"http://a%2Fb/", "rule: host"},
		{"http://a%20b/", "rule: host"},
		{"http://a%zz/", "rule: host"},
		{"http://％４１.com/", "rule: host"},
		{"http://a b/", "rule: host"},
		{"http://a<b/", "rule: host"},
		{"http://a|b/", "rule: host"},
		{"http://*.com/", "rule: host"},
		{"http://\xff.com/", "rule: host"},
		{"http://0x7f.1/", "http://127.0.0.1/"},
		{"http://0X7F.0.0.1/", "http://127.0.0.1/"},
		{"http://017700000001/", "http://127.0.0.1/"},
		{"http://127.1/", "http://127.0.0.1/"},
		{"http://2130706433/", "http://127.0.0.1/"},
		{"http://42/", "http://0.0.0.42/"},
		{"http://0x/", "http://0.0.0.0/"},
		{"http://１２７.0.0.1/", "http://127.0.0.1/"},
		{"http://127.0.0.1./", "http://127.0.0.1/"},
		{"http://%31%32%37.0.0.1/", "http://127.0.0.1/"},
		{"http://4294967296/", "rule: host"},
		{"http://1.2.3.4.5/", "rule: host"},
		{"http://256.0.0.1/", "rule: host"},
		{"http://1..2/", "rule: host"},
		{"http://09.1/", "rule: host"},
		{"http://foo.0x4/", "rule: host"},
		{"http://foo.0x4g/", "http://foo.0x4g/"},
		{"http://[::1]/", "http://[::1]/"},
		{"http://[0:0:0:0:0:0:0:1]:80/", "http://[::1]/"},
		{"http://[1:2:0:0:5:0:0:0]/", "http://[1:2:0:0:5::]/"},
		{"http://[::FFFF:127.0.0.1]/", "http://[::ffff:7f00:1]/"},
		{"http://[::1%25lo]/", "rule: host"},
		{"http://[::1%lo]/", "rule: host"},
		{"http://[127.0.0.1]/", "rule: host"},
		{"http://[::1/", "rule: host"},
		{"http://[::1]x/", "rule: host"},
		{"http://[]/", "rule: host"},

		// Credentials.
		{"http://u:p@example.com/", "http://u:p@example.com/"},
		{"http://u@example.com/", "http://u@example.com/"},
		{"http://:@example.com/", "http://example.com/"},
		{"http://@example.com/", "http://example.com/"},
		{"http://a@b@example.com/", "http://a%40b@example.com/"},
		{"http://u:p:q@example.com/", "http://u:p%3Aq@example.com/"},
		{"http://ü:{}@example.com/", "http://%C3%BC:%7B%7D@example.com/"},
		{"http://u:p@/", "rule: host"},
		{"http://example.com\\@evil.example/", "http://example.com/@evil.example/"},
		{"http://example.com#@evil.example/", "http://example.com/#@evil.example/"},
		{"user:pass@example.com", "rule: scheme"},

		// Paths and what follows.
		{"http:\\\\example.com\\a\\..\\b", "http://example.com/b"},
		{"http://example.com/a/../../b/./c", "http://example.com/b/c"},
		{"http://example.com/a/%2e%2E/b/%2e", "http://example.com/b/"},
		{"http://example.com/a/..", "http://example.com/"},
		{"http://example.com//a//../b", "http://example.com//a/b"},
		{"http://example.com/a b\"<>`{}^", "http://example.com/a%20b%22%3C%3E%60%7B%7D%5E"},
		{"http://example.com/ü/%zz/%", "http://example.com/%C3%BC/%zz/%"},
		{"http://exa\tmple.com/a\r\nb", "http://example.com/ab"},
		{"http://example.com/\x01\x7f", "http://example.com/%01%7F"},
		{"http://example.com/?a b'\"<>#c d`", "http://example.com/?a%20b%27%22%3C%3E#c%20d%60"},
		{"http://example.com/a?b?c#d#e", "http://example.com/a?b?c#d#e"},
		{"http://example.com/?", "http://example.com/?"},
		{"http://example.com/\xff", "http://example.com/%EF%BF%BD"},
	}
	n := navigation(t, Config{})
	for _, tt := range tests {
		got, err := n.Check(tt.in, Typed)
		if got := outcome(t, got, err); got != tt.want {
			t.Errorf("Check(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestPagesURLs(t *testing.T) {
	tests := []struct{ in, want string }{
		{"https://example.com/x", "https://example.com/x"},
		{"http://localhost:3000/", "http://localhost:3000/"},
		{"about:blank", "about:blank"},
		{"about:srcdoc", "rule: scheme"},
		{"example.com", "rule: address"},
		{"/x", "rule: address"},
		{"", "rule: address"},
		{"localhost:3000", "rule: scheme"},
		{"::1", "rule: address"},
		{"vantage:new", "rule: scheme"},
		{"file:///etc/passwd", "rule: file"},
		{"javascript:alert(1)", "rule: scheme"},
		{"data:text/html,x", "rule: scheme"},
		{"chrome://settings", "rule: scheme"},
		{"view-source:https://example.com/", "rule: scheme"},
		{"filesystem:https://example.com/x", "rule: scheme"},
		{"mailto:ann@example.com", "external: mailto"},
		{"blob:https://example.com/0-1", "rule: scheme"},
		{"https://evil.example/", "denied: deny_hosts"},
	}
	n := navigation(t, Config{DenyHosts: []string{"evil.example"}})
	for _, tt := range tests {
		got, err := n.Check(tt.in, Page)
		if got := outcome(t, got, err); got != tt.want {
			t.Errorf("Check(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

// Every way to write a host is judged as the host that is dialled.
func TestHostsAreJudgedAsTheyAreDialled(t *testing.T) {
	deny := navigation(t, Config{DenyHosts: []string{"*.evil.example", "xn--bcher-kva.example", "127.0.0.0/8", "::1"}})
	for _, in := range []string{
		"https://evil.example/", "https://EVIL.example./", "https://a.b.evil.example/", "evil.example", "evil.example:8080",
		"https://good.example@evil.example/", "https://good.example:80@evil.example", "https://%65vil.example/", "https://ｅvil.example/",
		"https://evil。example/", "https://ev\til.example/", "https:evil.example", "https:\\\\evil.example\\@good.example", "https://evi\u00adl.example",
		"https://bücher.example/", "bücher.example", "https://BÜCHER.example/", "https://bu\u0308cher.example/",
		"http://127.0.0.1/", "http://0x7f.1/", "http://2130706433/", "2130706433", "http://017700000001", "http://127.1:8080", "127.0.0.1:80",
		"http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/", "http://[::1]/", "http://[0:0::0:1]:3000", "::1", "http://１２７.0.0.1/", "http://127.0.0.1./",
	} {
		got, err := deny.Check(in, Typed)
		if got := outcome(t, got, err); got != "denied: deny_hosts" {
			t.Errorf("Check(%q) = %q", in, got)
		}
	}
	allow := navigation(t, Config{AllowHosts: []string{"good.example"}})
	for in, want := range map[string]string{
		"https://good.example/":               "https://good.example/",
		"https://evil.example@good.example/":  "https://evil.example@good.example/",
		"https://good.example@evil.example/":  "denied: allow_hosts",
		"https://good.example.evil.example/":  "denied: allow_hosts",
		"https://good.example\\.evil.example": "https://good.example/.evil.example",
		"about:blank":                         "about:blank",
	} {
		got, err := allow.Check(in, Typed)
		if got := outcome(t, got, err); got != want {
			t.Errorf("Check(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestLength(t *testing.T) {
	n := navigation(t, Config{})
	const start = "https://example.com/"
	fits := start + strings.Repeat("a", MaxURL-len(start))
	for name, tt := range map[string]struct{ in, want string }{
		"just fits":             {fits, fits},
		"one more":              {fits + "a", "rule: length"},
		"grows when normalised": {start + strings.Repeat("ü", MaxURL/4), "rule: length"},
		"slashes":               {start + strings.Repeat("/", MaxURL/2), start + strings.Repeat("/", MaxURL/2)},
		"dots":                  {start + strings.Repeat("../", MaxURL/4), start},
		"a host":                {"https://" + strings.Repeat("ü.", MaxURL/4) + "com/", "rule: host"},
	} {
		got, err := n.Check(tt.in, Typed)
		if got := outcome(t, got, err); got != tt.want {
			t.Errorf("%s: %.60q, want %.60q", name, got, tt.want)
		}
	}
}

func TestRefusalsShowNothingOfTheAddress(t *testing.T) {
	n := navigation(t, Config{DenyHosts: []string{"evil.example"}})
	for _, in := range []string{
		"https://ann:hunter2@evil.example/", "https://ann:hunter2@a b/", "https://ann:hunter2@example.com:0/", "ann:hunter2@example.com",
		"hunter2", "data:hunter2", "file:///hunter2", "mailto:hunter2@example.com", "about:hunter2", "https://hunter2 x/",
	} {
		if _, err := n.Check(in, Typed); err == nil || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "ann") {
			t.Errorf("Check(%q): %v", in, err)
		}
	}
}

func TestLocalFiles(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in, out, link := filepath.Join(root, "in"), filepath.Join(root, "inside-not"), filepath.Join(root, "link")
	write := func(path string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	symlink := func(to, path string) {
		t.Helper()
		if err := os.Symlink(to, path); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a.html", "sub/b c.html", "ü#?%.html", `back\slash.html`} {
		write(filepath.Join(in, name))
	}
	write(filepath.Join(out, "secret.html"))
	symlink(out, filepath.Join(in, "away"))
	symlink(filepath.Join(out, "secret.html"), filepath.Join(in, "secret.html"))
	symlink("a.html", filepath.Join(in, "same.html"))
	symlink("loop", filepath.Join(in, "loop"))
	symlink(in, link)
	if err := syscall.Mkfifo(filepath.Join(in, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	base := "file://" + in
	tests := []struct{ in, want string }{
		{base + "/a.html", base + "/a.html"},
		{base + "/a.html?x=1#y", base + "/a.html?x=1#y"},
		{"FILE:" + in + "/a.html", base + "/a.html"},
		{"file://localhost" + in + "/a.html", base + "/a.html"},
		{"file://LOCAL%68ost" + in + "/a.html", base + "/a.html"},
		{"file:\\\\" + in + "\\a.html", base + "/a.html"},
		{base + "/sub/b c.html", base + "/sub/b%20c.html"},
		{base + "/sub/../a.html", base + "/a.html"},
		{base + "/sub/%2e%2E/a.html", base + "/a.html"},
		{base + "/%C3%BC%23%3F%25.html", base + "/%C3%BC%23%3F%25.html"},
		{base + "/same.html", base + "/a.html"},
		{base, base},
		{base + "/sub/", base + "/sub"},
		{"file://" + link + "/a.html", base + "/a.html"},
		{base + "/missing.html", "rule: file"},
		{base + "/loop", "rule: file"},
		{base + "/pipe", "rule: file"},
		{base + `/back%5Cslash.html`, "rule: file"},
		{base + "/sub%2f..%2f..%2finside-not/secret.html", "rule: file"},
		{base + "/a.html%00", "rule: file"},
		{base + "/../inside-not/secret.html", "rule: file"},
		{base + "/%2e%2e/inside-not/secret.html", "rule: file"},
		{"file://" + out + "/secret.html", "rule: file"},
		{base + "/away/secret.html", "rule: file"},
		{base + "/secret.html", "rule: file"},
		{"file:///etc/passwd", "rule: file"},
		{"file://host" + in + "/a.html", "rule: file"},
		{"file://127.0.0.1" + in + "/a.html", "rule: file"},
		{"file://u@localhost" + in + "/a.html", "rule: file"},
		{"file:", "rule: file"},
		{in + "/a.html", "rule: address"},
		{"view-source:" + base + "/a.html", "rule: scheme"},
	}
	for _, folders := range [][]string{{in}, {"/nowhere", link + "/sub/.."}} {
		n := navigation(t, Config{}, folders...)
		for _, tt := range tests {
			for _, from := range []Source{Typed, Page} {
				got, err := n.Check(tt.in, from)
				if got := outcome(t, got, err); got != tt.want {
					t.Errorf("%q: Check(%q, %v) = %q, want %q", folders, tt.in, from, got, tt.want)
				}
			}
		}
	}
}

// A refusal outside of the folders must not tell what there is.
func TestRefusedFilesAreNotToldFromMissingOnes(t *testing.T) {
	n := navigation(t, Config{}, t.TempDir())
	_, there := n.Check("file:///etc/passwd", Typed)
	_, missing := n.Check("file:///etc/no-such-file", Typed)
	if there == nil || missing == nil || there.Error() != missing.Error() {
		t.Errorf("%v; %v", there, missing)
	}
}

func TestFoldersMustBeAbsolute(t *testing.T) {
	for _, f := range []string{"", ".", "x/y", "~/x"} {
		if _, err := NewNavigation(nil, []string{f}); err == nil || !strings.Contains(err.Error(), "allow_file") {
			t.Errorf("NewNavigation took %q: %v", f, err)
		}
	}
}

func TestNoPolicyAllowsEveryHost(t *testing.T) {
	n, err := NewNavigation(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := n.Check("127.0.0.1", Typed); err != nil || got != "http://127.0.0.1/" {
		t.Error(got, err)
	}
	if _, err := new(Navigation).Check("file:///etc/passwd", Typed); err == nil {
		t.Error("the zero value opens files")
	}
}

func FuzzNavigation(f *testing.F) {
	for _, s := range []string{
		"", "hello world", "example.com/x", "localhost:3000", "[::1]:3000", "::1", "vantage:new", "about:blank#x", "mailto:a@b", "blob:https://example.com/0",
		"http://u:p@EXAMPLE.com:080/a/../b?c d#e", "http:\\\\evil.example\\@good.example", "http://0x7f.1/", "http://2130706433/", "http://[::ffff:127.0.0.1]/",
		"https://bücher.example:443/ü", "https://xn--bcheæ-kva.ex", "https://ev\til.example", "http://％４１.com/", "http://a\u00adb。c/", "http://%31.1/%zz/%2e%2e/",
		"file:///tmp/../etc/passwd", "file://localhost/", "javascript:1", "evil.example:80", "http://evil.example../", "http://１２７.0.0.1", "http:a@[::1", "http://xn--/",
	} {
		f.Add(s, false)
		f.Add(s, true)
	}
	policy, err := New(Config{DenyHosts: []string{"*.evil.example", "127.0.0.0/8"}})
	if err != nil {
		f.Fatal(err)
	}
	n, err := NewNavigation(policy, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, in string, page bool) {
		from := Typed
		if page {
			from = Page
		}
		got, err := n.Check(in, from)
		if outcome(t, got, err) != got || got == "about:blank" {
			return
		}
		if again, err := n.Check(got, from); err != nil || again != got {
			t.Fatalf("%q gives %q, which gives %q, %v", in, got, again, err)
		}
		if strings.IndexFunc(got, func(r rune) bool { return r <= ' ' || r > '~' }) >= 0 {
			t.Fatalf("%q gives %q, which is not printable ASCII", in, got)
		}
		// The path may have escapes that net/url refuses; a browser keeps them.
		scheme, rest, _ := strings.Cut(got, "://")
		authority, _, _ := strings.Cut(rest, "/")
		if i := strings.LastIndexByte(authority, '@'); i >= 0 {
			authority = authority[i+1:]
		}
		u, err := url.Parse(scheme + "://" + authority + "/")
		if err != nil {
			t.Fatalf("%q gives %q: %v", in, got, err)
		}
		if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			t.Fatalf("%q gives %q", in, got)
		}
		if err := policy.CheckHost(u.Hostname()); err != nil {
			t.Fatalf("%q gives %q, whose host is refused: %v", in, got, err)
		}
	})
}
