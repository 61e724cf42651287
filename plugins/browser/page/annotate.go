package page

import (
	"image"
	"image/color"
	"image/draw"
	"strings"
)

// glyphs are what refs are written with: five rows of three dots each.
var glyphs = map[rune][5]uint8{
	'0': {7, 5, 5, 5, 7}, '1': {2, 6, 2, 2, 7}, '2': {7, 1, 7, 4, 7}, '3': {7, 1, 7, 1, 7}, '4': {5, 5, 7, 1, 1},
	'5': {7, 4, 7, 1, 7}, '6': {7, 4, 7, 5, 7}, '7': {7, 1, 2, 2, 2}, '8': {7, 5, 7, 5, 7}, '9': {7, 5, 7, 1, 7},
	'e': {0, 7, 7, 4, 7}, '_': {0, 0, 0, 0, 7},
}

const dot = 2 // pixels of a dot

var ink, paper = color.RGBA{200, 0, 60, 255}, color.RGBA{255, 255, 255, 255}

// frameBox draws a box and, on its upper left corner, the ref without its @.
func frameBox(canvas draw.Image, r image.Rectangle, ref string) {
	for _, side := range []image.Rectangle{
		image.Rect(r.Min.X, r.Min.Y, r.Max.X, r.Min.Y+2), image.Rect(r.Min.X, r.Max.Y-2, r.Max.X, r.Max.Y),
		image.Rect(r.Min.X, r.Min.Y, r.Min.X+2, r.Max.Y), image.Rect(r.Max.X-2, r.Min.Y, r.Max.X, r.Max.Y),
	} {
		draw.Draw(canvas, side, image.NewUniform(ink), image.Point{}, draw.Src)
	}
	text := strings.TrimPrefix(ref, "@")
	label := image.Rect(r.Min.X, r.Min.Y, r.Min.X+len(text)*4*dot+dot, r.Min.Y+7*dot)
	draw.Draw(canvas, label, image.NewUniform(ink), image.Point{}, draw.Src)
	x := r.Min.X + dot
	for _, c := range text {
		for row, bits := range glyphs[c] {
			for column := range 3 {
				if bits>>(2-column)&1 == 1 {
					at := image.Rect(x+column*dot, r.Min.Y+(row+1)*dot, x+(column+1)*dot, r.Min.Y+(row+2)*dot)
					draw.Draw(canvas, at, image.NewUniform(paper), image.Point{}, draw.Src)
				}
			}
		}
		x += 4 * dot
	}
}
