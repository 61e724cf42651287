package page

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
	"math/bits"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEveryCharacterOfARefIsToldFromEveryOther(t *testing.T) {
	const least = 3 // dots
	for c, g := range glyphs {
		for _, row := range g {
			if row >= 1<<wide {
				t.Errorf("%q is wider than %d dots", c, wide)
			}
		}
		for other, h := range glyphs {
			different := 0
			for row := range g {
				different += bits.OnesCount8(g[row] ^ h[row])
			}
			if c != other && different < least {
				t.Errorf("%q and %q differ in %d dots", c, other, different)
			}
		}
	}
	for _, c := range "@e_0123456789" {
		if glyphs[c] == [high]uint8{} {
			t.Errorf("%q has no shape", c)
		}
	}
}

// read gives the ref that is written on a label.
func read(canvas *image.RGBA, label image.Rectangle) string {
	var text []rune
	for x := label.Min.X + pad; x+wide*dot <= label.Max.X-pad; x += (wide + 1) * dot {
		var g [high]uint8
		for row := range high {
			for column := range wide {
				if canvas.RGBAAt(x+column*dot, label.Min.Y+pad+row*dot) == paper {
					g[row] |= 1 << (wide - 1 - column)
				}
			}
		}
		for c, shape := range glyphs {
			if shape == g {
				text = append(text, c)
			}
		}
	}
	return string(text)
}

func blank(width, height int) *image.RGBA {
	canvas := image.NewRGBA(image.Rect(0, 0, width, height))
	fill(canvas, canvas.Bounds(), paper)
	return canvas
}

func TestABoxAndItsWholeRefAreDrawnInsideThePicture(t *testing.T) {
	for _, r := range []image.Rectangle{
		image.Rect(10, 10, 290, 50), image.Rect(-50, -50, 500, 500), image.Rect(295, 195, 296, 196), image.Rect(0, 0, 4, 4), image.Rect(-5, 100, 20, 110),
	} {
		canvas := blank(300, 200)
		notes := []note{{ref: "@e12_70", box: r}}
		drawNotes(canvas, notes)
		if got := read(canvas, notes[0].label); got != "@e12_70" || !notes[0].label.In(canvas.Bounds()) {
			t.Errorf("%v: the label at %v reads %q", r, notes[0].label, got)
		}
	}
	for _, r := range []image.Rectangle{image.Rect(400, 400, 500, 500), {}} {
		canvas := blank(300, 200)
		drawNotes(canvas, []note{{ref: "@e1_1", box: r}})
		if !bytes.Equal(canvas.Pix, blank(300, 200).Pix) {
			t.Errorf("%v: something is drawn", r)
		}
	}
	drawNotes(blank(10, 10), []note{{ref: "@e1_1", box: image.Rect(2, 2, 8, 8)}}) // has no room
	canvas := blank(300, 200)
	drawNotes(canvas, []note{{ref: "@e1_1", box: image.Rect(10, 10, 290, 150)}})
	if canvas.RGBAAt(289, 149) != ink || canvas.RGBAAt(50, 40) != paper {
		t.Errorf("corner %v, middle %v", canvas.RGBAAt(289, 149), canvas.RGBAAt(50, 40))
	}
}

func TestALabelCoversLeast(t *testing.T) {
	canvas := blank(400, 200)
	text := func(r image.Rectangle) image.Rectangle {
		for x := r.Min.X; x < r.Max.X; x += 2 {
			for y := r.Min.Y; y < r.Max.Y; y += 3 {
				canvas.SetRGBA(x, y, color.RGBA{0, 0, 0, 255})
			}
		}
		return r
	}
	said := []image.Rectangle{
		text(image.Rect(20, 20, 90, 35)),   // a caption above the first field
		text(image.Rect(25, 45, 120, 60)),  // what it holds
		text(image.Rect(25, 105, 75, 115)), // a button that is full of its name
		text(image.Rect(100, 100, 200, 120)),
	}
	notes := []note{
		{ref: "@e1_1", box: image.Rect(20, 40, 300, 64)},
		{ref: "@e1_2", box: image.Rect(20, 100, 80, 120)},
		{ref: "@e1_3", box: image.Rect(20, 124, 80, 144)},
		{ref: "@e1_4", box: image.Rect(10, 10, 350, 190)}, // around them all
	}
	drawNotes(canvas, notes)
	for i, n := range notes {
		for _, r := range said {
			if n.label.Overlaps(r) {
				t.Errorf("%s at %v covers the text at %v", n.ref, n.label, r)
			}
		}
		for j, other := range notes {
			if i != j && (n.label.Overlaps(other.label) || j != 3 && n.label.Overlaps(other.box)) {
				t.Errorf("%s at %v covers %s", n.ref, n.label, other.ref)
			}
		}
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
