package output

import (
	"strings"
	"unicode/utf8"
)

// Table writes rows below a heading in columns of equal width. Cells are shown
// on one line; trailing blanks are left out.
func (s Stream) Table(heading []string, rows [][]string) error {
	all := append([][]string{heading}, rows...)
	width := make([]int, len(heading))
	for _, row := range all {
		for i, cell := range row {
			if i < len(width) {
				width[i] = max(width[i], utf8.RuneCountInString(OneLine(cell)))
			}
		}
	}
	var b strings.Builder
	for _, row := range all {
		var line strings.Builder
		for i, cell := range row {
			cell = OneLine(cell)
			line.WriteString(cell)
			if i < len(width) {
				line.WriteString(strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell)+2))
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " "))
		b.WriteByte('\n')
	}
	_, err := s.W.Write([]byte(b.String()))
	return err
}
