package page

import (
	"image"
	"image/color"
	"image/draw"
)

// glyphs are what refs are written with: rows of five dots each.
var glyphs = map[rune][high]uint8{
	'@': {0b01110, 0b10001, 0b10111, 0b10101, 0b10111, 0b10000, 0b01110},
	'e': {0b00000, 0b00000, 0b01110, 0b10001, 0b11111, 0b10000, 0b01110},
	'_': {0b00000, 0b00000, 0b00000, 0b00000, 0b00000, 0b00000, 0b11111},
	'0': {0b01110, 0b10001, 0b10011, 0b10101, 0b11001, 0b10001, 0b01110},
	'1': {0b00100, 0b01100, 0b00100, 0b00100, 0b00100, 0b00100, 0b01110},
	'2': {0b01110, 0b10001, 0b00001, 0b00010, 0b00100, 0b01000, 0b11111},
	'3': {0b11111, 0b00010, 0b00100, 0b00010, 0b00001, 0b10001, 0b01110},
	'4': {0b00010, 0b00110, 0b01010, 0b10010, 0b11111, 0b00010, 0b00010},
	'5': {0b11111, 0b10000, 0b11110, 0b00001, 0b00001, 0b10001, 0b01110},
	'6': {0b00110, 0b01000, 0b10000, 0b11110, 0b10001, 0b10001, 0b01110},
	'7': {0b11111, 0b00001, 0b00010, 0b00100, 0b01000, 0b01000, 0b01000},
	'8': {0b01110, 0b10001, 0b10001, 0b01110, 0b10001, 0b10001, 0b01110},
	'9': {0b01110, 0b10001, 0b10001, 0b01111, 0b00001, 0b00010, 0b01100},
}

const (
	high, wide = 7, 5
	dot        = 2 // pixels of a dot
	pad        = 2 // pixels around a label's text
	line       = 2 // pixels of a box's sides
)

var ink, paper = color.RGBA{200, 0, 60, 255}, color.RGBA{255, 255, 255, 255}

// note is a ref and what it is drawn around.
type note struct {
	ref   string
	box   image.Rectangle
	label image.Rectangle // empty: not placed yet, or the box is not in the picture
}

// drawNotes draws boxes with their refs. Where each label goes is chosen before
// anything is drawn.
func drawNotes(canvas *image.RGBA, notes []note) {
	for i := range notes {
		notes[i].label = spot(canvas, notes, i)
	}
	for _, n := range notes {
		for _, side := range []image.Rectangle{
			image.Rect(n.box.Min.X, n.box.Min.Y, n.box.Max.X, n.box.Min.Y+line), image.Rect(n.box.Min.X, n.box.Max.Y-line, n.box.Max.X, n.box.Max.Y),
			image.Rect(n.box.Min.X, n.box.Min.Y, n.box.Min.X+line, n.box.Max.Y), image.Rect(n.box.Max.X-line, n.box.Min.Y, n.box.Max.X, n.box.Max.Y),
		} {
			fill(canvas, side, ink)
		}
	}
	for _, n := range notes {
		n.write(canvas)
	}
}

func fill(canvas *image.RGBA, r image.Rectangle, c color.RGBA) {
	draw.Draw(canvas, r, image.NewUniform(c), image.Point{}, draw.Src)
}

// spot is where the label of a note covers least: what the picture shows, and the
// boxes and labels of others. Inside of its box, beside, above or below it.
func spot(canvas *image.RGBA, notes []note, i int) image.Rectangle {
	n, all := notes[i], canvas.Bounds()
	b := n.box.Intersect(all)
	if b.Empty() {
		return image.Rectangle{}
	}
	w, h := len(n.ref)*(wide+1)*dot-dot+2*pad, high*dot+2*pad
	in, middle := b.Inset(line), b.Min.Y+(b.Dy()-h)/2
	var best image.Rectangle
	least := -1
	for _, at := range []image.Point{
		{in.Max.X - w, middle}, {in.Min.X, middle}, {in.Max.X - w, in.Min.Y}, {in.Max.X - w, in.Max.Y - h}, {in.Min.X, in.Min.Y}, {in.Min.X, in.Max.Y - h},
		{b.Max.X, middle}, {b.Min.X - w, middle}, {b.Min.X, b.Min.Y - h}, {b.Max.X - w, b.Min.Y - h}, {b.Min.X, b.Max.Y}, {b.Max.X - w, b.Max.Y},
	} {
		r := image.Rectangle{at, at.Add(image.Pt(w, h))}
		if !r.In(all) {
			continue
		}
		cost := detail(canvas, r)
		for j, other := range notes {
			if j != i && !n.box.In(other.box) { // else it is around this one
				cost += pixels(r.Intersect(other.box))
			}
			cost += 4 * pixels(r.Intersect(other.label))
		}
		if least < 0 || cost < least {
			best, least = r, cost
		}
	}
	if least < 0 { // a picture that is hardly larger than the label
		at := image.Pt(max(all.Min.X, min(b.Min.X, all.Max.X-w)), max(all.Min.Y, min(b.Min.Y, all.Max.Y-h)))
		best = image.Rectangle{at, at.Add(image.Pt(w, h))}
	}
	return best
}

func pixels(r image.Rectangle) int { return r.Dx() * r.Dy() }

// detail counts the dots that differ from those beside or above them.
func detail(canvas *image.RGBA, r image.Rectangle) int {
	n := 0
	for y := r.Min.Y + 1; y < r.Max.Y; y++ {
		for x := r.Min.X + 1; x < r.Max.X; x++ {
			if c := canvas.RGBAAt(x, y); c != canvas.RGBAAt(x-1, y) || c != canvas.RGBAAt(x, y-1) {
				n++
			}
		}
	}
	return n
}

// write writes the ref on its label.
func (n note) write(canvas *image.RGBA) {
	fill(canvas, n.label, ink)
	if n.label.Empty() {
		return
	}
	x, y := n.label.Min.X+pad, n.label.Min.Y+pad
	for _, c := range n.ref {
		for row, bits := range glyphs[c] {
			for column := range wide {
				if bits>>(wide-1-column)&1 == 1 {
					at := image.Pt(x+column*dot, y+row*dot)
					fill(canvas, image.Rectangle{at, at.Add(image.Pt(dot, dot))}, paper)
				}
			}
		}
		x += (wide + 1) * dot
	}
}
