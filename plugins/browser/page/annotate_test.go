package page

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEveryCharacterOfARefHasAShapeOfItsOwn(t *testing.T) {
	shapes := make(map[[5]uint8]rune)
	for _, c := range "e_0123456789" {
		g, ok := glyphs[c]
		if !ok || g == [5]uint8{} {
			t.Errorf("%q has no shape", c)
		}
		for _, row := range g {
			if row > 7 {
				t.Errorf("%q is wider than three dots", c)
			}
		}
		if other, taken := shapes[g]; taken {
			t.Errorf("%q looks like %q", c, other)
		}
		shapes[g] = c
	}
}

func TestABoxAndItsRefAreDrawnInsideThePicture(t *testing.T) {
	for _, r := range []image.Rectangle{
		image.Rect(10, 10, 90, 50), image.Rect(-50, -50, 500, 500), image.Rect(95, 95, 96, 96), image.Rect(200, 200, 300, 300), {},
	} {
		canvas := image.NewRGBA(image.Rect(0, 0, 100, 100))
		frameBox(canvas, r, "@e12_7") // must not panic
		seen := false
		for x := range 100 {
			for y := range 100 {
				seen = seen || canvas.RGBAAt(x, y) == ink
			}
		}
		if want := r.Overlaps(canvas.Bounds()) || r.Empty(); seen != want && r != image.Rect(-50, -50, 500, 500) {
			t.Errorf("%v: drawn %v", r, seen)
		}
	}
	canvas := image.NewRGBA(image.Rect(0, 0, 100, 100))
	frameBox(canvas, image.Rect(10, 10, 90, 50), "@e1_1")
	white := 0
	for x := range 100 {
		for y := range 100 {
			if canvas.RGBAAt(x, y) == paper {
				white++
			}
		}
	}
	if white == 0 || canvas.RGBAAt(89, 49) != ink || canvas.RGBAAt(50, 40) != (color.RGBA{}) {
		t.Errorf("%d dots, corner %v, middle %v", white, canvas.RGBAAt(89, 49), canvas.RGBAAt(50, 40))
	}
}

// webp makes the head of a WebP file.
func webp(kind string, head ...byte) []byte {
	b := append([]byte("RIFF\x00\x00\x00\x00WEBP"+kind+"\x00\x00\x00\x00"), head...)
	return append(b, make([]byte, 30)...)
}

func TestSizesAreReadFromThePicturesHead(t *testing.T) {
	var p bytes.Buffer
	if err := png.Encode(&p, image.NewGray(image.Rect(0, 0, 7, 9))); err != nil {
		t.Fatal(err)
	}
	lossless := binary.LittleEndian.AppendUint32([]byte{0x2f}, (640-1)|(480-1)<<14)
	for name, tt := range map[string]struct {
		data          []byte
		width, height int
	}{
		"png":           {p.Bytes(), 7, 9},
		"webp lossy":    {webp("VP8 ", 0, 0, 0, 0x9d, 1, 0x2a, 0x80, 0x42, 0xe0, 0x81), 640, 480}, // the upper two bits are a scale
		"webp lossless": {webp("VP8L", lossless...), 640, 480},
		"webp extended": {webp("VP8X", 0, 0, 0, 0, 0x7f, 2, 0, 0xdf, 1, 0), 640, 480},
		"webp unknown":  {webp("ABCD"), 0, 0},
		"cut off":       {webp("VP8X")[:29], 0, 0},
		"nothing":       {nil, 0, 0},
	} {
		if width, height := size(tt.data); width != tt.width || height != tt.height {
			t.Errorf("%s: %d×%d", name, width, height)
		}
	}
}

func FuzzSizeTakesAnything(f *testing.F) {
	f.Add(webp("VP8 "))
	f.Add(webp("VP8L"))
	f.Add(webp("VP8X"))
	f.Add([]byte("\x89PNG\r\n\x1a\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if width, height := size(data); width < 0 || height < 0 {
			t.Errorf("%d×%d", width, height)
		}
	})
}

func TestAFileIsReplacedInOneStepOrNotAtAll(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.png")
	if err := replace(path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	old, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	if err := replace(path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 10)
	if n, _ := old.Read(b); string(b[:n]) != "old" {
		t.Errorf("a reader of the old file got %q", b[:n])
	}
	if now, err := os.ReadFile(path); string(now) != "new" {
		t.Errorf("it holds %q, %v", now, err)
	}
	taken := filepath.Join(filepath.Dir(path), "folder")
	if err := os.MkdirAll(filepath.Join(taken, "in"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := replace(taken, []byte("x")); err == nil || !strings.Contains(err.Error(), taken) {
		t.Errorf("a folder was replaced: %v", err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); len(left) != 2 || err != nil {
		t.Errorf("left: %v %v", left, err)
	}
}
