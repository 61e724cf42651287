package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// document is a Markdown file, split into what stands in fences and what does
// not.
type document struct {
	path   string // from the repository's root
	prose  []line
	blocks []block
}

type line struct {
	number int
	text   string
}

// block is a fenced block.
type block struct {
	info  string // what follows the opening fence
	line  int    // of the opening fence
	lines []line
}

func (b block) text() string {
	var s strings.Builder
	for _, l := range b.lines {
		s.WriteString(l.text + "\n")
	}
	return s.String()
}

// documents reads README.md, CONTRIBUTING.md and everything in docs.
func documents(t *testing.T) []document {
	t.Helper()
	files := []string{"README.md", "CONTRIBUTING.md"}
	for _, pattern := range []string{"docs/*.md", "docs/*/*.md"} {
		found, err := filepath.Glob(filepath.Join("..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			files = append(files, filepath.ToSlash(strings.TrimPrefix(f, "../")))
		}
	}
	var out []document
	for _, f := range files {
		out = append(out, read(t, f))
	}
	if len(out) < 12 {
		t.Fatalf("only %d documents were found", len(out))
	}
	return out
}

func read(t *testing.T, path string) document {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", path))
	if err != nil {
		t.Fatal(err)
	}
	d := document{path: path}
	open := false
	number := 0
	for l := range strings.Lines(string(text)) {
		number++
		l = strings.TrimRight(l, "\n")
		info, fence := strings.CutPrefix(l, "```")
		switch {
		case fence && !open:
			d.blocks = append(d.blocks, block{info: info, line: number})
			open = true
		case fence:
			if info != "" {
				t.Fatalf("%s:%d: a fence begins within a fence", path, number)
			}
			open = false
		case open:
			b := &d.blocks[len(d.blocks)-1]
			b.lines = append(b.lines, line{number, l})
		default:
			d.prose = append(d.prose, line{number, l})
		}
	}
	if open {
		t.Fatalf("%s: the last fence is not closed", path)
	}
	return d
}

// withInfo gives the blocks whose fence has exactly this info; at least one.
func (d document) withInfo(t *testing.T, info string) []block {
	t.Helper()
	var out []block
	for _, b := range d.blocks {
		if b.info == info {
			out = append(out, b)
		}
	}
	if len(out) == 0 {
		t.Fatalf("%s has no block fenced as %q", d.path, info)
	}
	return out
}

// table gives the cells of the table between <!-- name --> and <!-- /name -->,
// without its head.
func (d document) table(t *testing.T, name string) [][]string {
	t.Helper()
	var rows [][]string
	inside := false
	for _, l := range d.prose {
		switch {
		case l.text == "<!-- "+name+" -->":
			inside = true
		case l.text == "<!-- /"+name+" -->":
			inside = false
		case inside && strings.HasPrefix(l.text, "|"):
			rows = append(rows, cells(l.text))
		}
	}
	if len(rows) < 3 {
		t.Fatalf("%s has no table %q", d.path, name)
	}
	return rows[2:]
}

// section gives the rows of all tables below a heading, up to the next one,
// heads left out.
func (d document) section(t *testing.T, heading string) [][]string {
	t.Helper()
	var rows [][]string
	inside := false
	for _, l := range d.prose {
		switch {
		case strings.HasPrefix(l.text, "#"):
			inside = l.text == heading
		case inside && strings.HasPrefix(l.text, "|---"):
			rows = rows[:len(rows)-1]
		case inside && strings.HasPrefix(l.text, "|"):
			rows = append(rows, cells(l.text))
		}
	}
	if len(rows) == 0 {
		t.Fatalf("%s has no table below %q", d.path, heading)
	}
	return rows
}

// cells splits a table's row; \| is a bar within a cell.
func cells(row string) []string {
	row = strings.ReplaceAll(strings.Trim(row, "| "), `\|`, "\x00")
	out := strings.Split(row, "|")
	for i := range out {
		out[i] = strings.ReplaceAll(strings.TrimSpace(out[i]), "\x00", "|")
	}
	return out
}

var (
	codeSpan = regexp.MustCompile("`([^`]+)`")
	link     = regexp.MustCompile(`\[[^\]]*\]\(([^)\s]+)\)`)
	notSlug  = regexp.MustCompile(`[^a-z0-9 _-]`)
)

// spans gives the code spans of a text.
func spans(text string) []string {
	var out []string
	for _, m := range codeSpan.FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}

// links gives the targets of a line's links, without those in code.
func links(text string) []string {
	var out []string
	for _, m := range link.FindAllStringSubmatch(codeSpan.ReplaceAllString(text, "x"), -1) {
		out = append(out, m[1])
	}
	return out
}

// anchors are what links to parts of a document may name.
func (d document) anchors() []string {
	var out []string
	for _, l := range d.prose {
		title := strings.TrimLeft(l.text, "#")
		if title == l.text || !strings.HasPrefix(title, " ") {
			continue
		}
		slug := notSlug.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), "")
		out = append(out, strings.ReplaceAll(slug, " ", "-"))
	}
	return out
}

func TestLinksLeadSomewhere(t *testing.T) {
	seen := 0
	for _, d := range documents(t) {
		for _, l := range d.prose {
			for _, target := range links(l.text) {
				if strings.Contains(target, "://") {
					continue
				}
				seen++
				path, anchor, _ := strings.Cut(target, "#")
				to := d.path
				if path != "" {
					to = filepath.Join(filepath.Dir(d.path), path)
				}
				if _, err := os.Stat(filepath.Join("..", to)); err != nil {
					t.Errorf("%s:%d: link to %s: there is no %s", d.path, l.number, target, to)
					continue
				}
				if anchor != "" && !slices.Contains(read(t, to).anchors(), anchor) {
					t.Errorf("%s:%d: link to %s: %s has no such heading", d.path, l.number, target, to)
				}
			}
		}
	}
	if seen < 20 {
		t.Errorf("only %d links were looked at", seen)
	}
}

func TestEveryDocumentIsReachedFromTheReadme(t *testing.T) {
	reached := map[string]bool{}
	todo := []string{"README.md"}
	for len(todo) > 0 {
		path := todo[0]
		todo = todo[1:]
		if reached[path] {
			continue
		}
		reached[path] = true
		for _, l := range read(t, path).prose {
			for _, target := range links(l.text) {
				to, _, _ := strings.Cut(target, "#")
				if strings.HasSuffix(to, ".md") && !strings.Contains(to, "://") {
					todo = append(todo, filepath.Join(filepath.Dir(path), to))
				}
			}
		}
	}
	for _, d := range documents(t) {
		if !reached[d.path] {
			t.Errorf("no link leads from README.md to %s", d.path)
		}
	}
}
