package page

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/cdproto/page"
)

func TestAPictureIsAsLargeAsCanBeDrawn(t *testing.T) {
	for name, tt := range map[string]struct {
		shown         box
		density       float64
		drawn         bool
		width, height float64 // of what is shown
		truncated     bool
	}{
		"a page":                       {box{0, 0, 1280, 3000}, 1, false, 1280, 3000, false},
		"the longest":                  {box{0, 0, 1280, maxSide}, 1, false, 1280, maxSide, false},
		"too long":                     {box{0, 0, 1280, 50000}, 1, false, 1280, maxSide, true},
		"too wide":                     {box{0, 0, 50000, 100}, 1, true, maxSide, 100, true},
		"too long for its density":     {box{0, 0, 1000, 10000}, 2, false, 1000, maxSide / 2, true},
		"of no size":                   {box{0, 0, 0, 0}, 1, false, 1, 1, false},
		"long, to be drawn on":         {box{0, 0, 1280, maxSide}, 1, true, 1280, maxSide, false},
		"huge, to be drawn on":         {box{0, 0, 50000, 50000}, 1, true, maxSide, maxSide, true},
		"dense, to be drawn on":        {box{0, 0, 4000, 4000}, 3, true, 4000, 4000, false},
		"huge, and not to be drawn on": {box{0, 0, 16000, 16000}, 1, false, 16000, 16000, false},
		"long, and not to be drawn on": {box{0, 0, 1900, maxSide}, 1, false, 1900, maxSide, false},
	} {
		a := fit(tt.shown, tt.density, tt.drawn)
		if a.clip.Width != tt.width || a.clip.Height != tt.height || a.truncated != tt.truncated {
			t.Errorf("%s: %+v", name, a)
		}
		scale := tt.density * a.clip.Scale
		pixels := a.clip.Width * a.clip.Height * scale * scale
		most := map[bool]float64{true: maxDrawn, false: maxTaken}[tt.drawn]
		if pixels > most*1.001 || a.clip.Scale > 1 || a.clip.Scale < 1 && pixels < most*0.99 {
			t.Errorf("%s: %g pixels at scale %g", name, pixels, a.clip.Scale)
		}
	}
}

func TestBoxesAreInTheOrderOfTheirList(t *testing.T) {
	const snapshot = `{"elements":[{"ref":"1","frame":"b","bounds":{"x":1}},{"ref":"2","bounds":{"x":2}},{"ref":"3","frame":"c"},
		{"ref":"4","frame":"a","bounds":{"x":4}},{"ref":"5","frame":"b","bounds":{"x":5}},{"ref":"6","frame":"c","bounds":{"x":6}}]}`
	got, err := boxesIn([]byte(snapshot))
	want := []framed{
		{"b", []string{"1", "5"}, []box{{X: 1}, {X: 5}}}, {"", []string{"2"}, []box{{X: 2}}},
		{"a", []string{"4"}, []box{{X: 4}}}, {"c", []string{"6"}, []box{{X: 6}}},
	}
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("they are %v, %v; want %v", got, err, want)
	}
}

// ofSize is the head of a PNG picture of a size, and no more.
func ofSize(t *testing.T, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestAPictureThatIsTooLargeIsNotDecoded(t *testing.T) {
	data := ofSize(t, 8000, 8000)
	s := Shot{Format: "png"}
	if _, err := s.annotate(data, area{clip: page.Viewport{Width: 8000}}); err == nil || !strings.Contains(err.Error(), "8000×8000") {
		t.Errorf("it gave %v", err)
	}
	if out, err := s.annotate(ofSize(t, 80, 60), area{clip: page.Viewport{Width: 40}, boxes: []marked{{"@e1_1", box{5, 5, 20, 20}}}}); err != nil || len(out) == 0 {
		t.Errorf("a small one gave %v", err)
	}
}

func TestOnlyAFileIsReplaced(t *testing.T) {
	t.Chdir(t.TempDir()) // a socket's path is short
	for name, make := range map[string]func(string) error{
		"pipe":          func(at string) error { return syscall.Mkfifo(at, 0o600) },
		"folder":        func(at string) error { return os.Mkdir(at, 0o700) },
		"symbolic link": func(at string) error { return os.Symlink("nowhere", at) },
		"socket": func(at string) error {
			l, err := net.Listen("unix", at)
			if err == nil {
				t.Cleanup(func() { l.Close() })
			}
			return err
		},
	} {
		if err := make(name); err != nil {
			t.Fatal(err)
		}
		before, _ := os.Lstat(name)
		if err := replace(name, []byte("x")); err == nil || !strings.Contains(err.Error(), "is a "+name) || !strings.Contains(err.Error(), "give the path") {
			t.Errorf("a %s: %v", name, err)
		}
		if after, err := os.Lstat(name); err != nil || !os.SameFile(before, after) {
			t.Errorf("the %s was replaced: %v", name, err)
		}
	}
	for range 2 {
		if err := replace("file", []byte("x")); err != nil {
			t.Error(err)
		}
	}
	if left, _ := filepath.Glob(".vant-*"); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}
