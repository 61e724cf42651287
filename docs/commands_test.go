package docs

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// command is a documented command of vant: the words after its name.
type command struct {
	path  string
	line  int
	words []string
}

// commands gives the vant commands in the shell blocks of a document.
func commands(t *testing.T, d document) []command {
	t.Helper()
	var out []command
	for _, b := range d.blocks {
		for _, l := range shellLines(b) {
			for _, words := range simple(t, d.path, l) {
				if words[0] == "vant" {
					out = append(out, command{path: d.path, line: l.number, words: words[1:]})
				}
			}
		}
	}
	for i := range out {
		c := &out[i]
		// A usage line: what is optional may be left out.
		c.words = slices.DeleteFunc(c.words, func(w string) bool {
			return strings.HasPrefix(w, "[") && strings.HasSuffix(w, "]")
		})
		for j, w := range c.words {
			if w == "METHOD" {
				c.words[j] = "net.fetch"
			}
		}
	}
	return out
}

// shellLines gives the lines of a block that are typed into a shell.
func shellLines(b block) []line {
	var out []line
	for _, l := range b.lines {
		switch b.info {
		case "sh", "sh run", "sh walk", "sh site":
			out = append(out, l)
		case "console", "console walk", "console hold", "console tour", "console site":
			if text, typed := strings.CutPrefix(l.text, "$ "); typed {
				out = append(out, line{l.number, text})
			}
		}
	}
	return out
}

// simple splits a line of shell into its simple commands: words without quotes,
// without assignments before them and redirections behind. It knows what the
// documents use, and refuses what it does not know.
func simple(t *testing.T, path string, l line) [][]string {
	t.Helper()
	var out [][]string
	var words []string
	var word strings.Builder
	open := false // a word has begun, maybe an empty one
	finish := func() {
		if open {
			words = append(words, word.String())
		}
		word.Reset()
		open = false
	}
	end := func() {
		finish()
		for len(words) > 0 && assignment.MatchString(words[0]) {
			words = words[1:]
		}
		if len(words) > 0 {
			out = append(out, words)
		}
		words = nil
	}
	s := l.text
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case ' ', '\t':
			finish()
		case '\'', '"':
			n := strings.IndexByte(s[i+1:], c)
			if n < 0 {
				t.Fatalf("%s:%d: a quote is not closed", path, l.number)
			}
			word.WriteString(s[i+1 : i+1+n])
			open = true
			i += n + 1
		case '|', '&', ';':
			end()
		case '#':
			if !open {
				end()
				return out
			}
			word.WriteByte(c)
		case '>': // and the file, which is no word of the command
			finish()
			i += len(s[i:]) - len(strings.TrimLeft(s[i:], "> "))
			for i < len(s) && s[i] != ' ' {
				i++
			}
		case '<', '`', '\\':
			t.Fatalf("%s:%d: %q is more shell than this test reads: %s", path, l.number, c, s)
		default:
			word.WriteByte(c)
			open = true
		}
	}
	end()
	return out
}

var assignment = regexp.MustCompile(`^[A-Za-z_]+=`)

// scene is a folder in which commands run without a host.
type scene struct{ dir string }

func newScene(t *testing.T) scene {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"request.json": `{"url":"http://127.0.0.1:1/"}`, "vant.yaml": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return scene{dir}
}

// vant runs the command and gives its exit status and output.
func (s scene) vant(t *testing.T, words ...string) (status int, output string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "vant"), words...)
	cmd.Dir = s.dir
	cmd.Env = []string{"HOME=" + s.dir, "VANT_SOCKET=" + filepath.Join(s.dir, "none.sock")}
	cmd.Stdin = strings.NewReader("{}")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("vant %q: %v", words, err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

func TestDocumentedCommandsAreTheCommands(t *testing.T) {
	s := newScene(t)
	tree := s.tree(t)
	helped := map[string]bool{}
	seen := 0
	for _, d := range documents(t) {
		for _, c := range commands(t, d) {
			seen++
			path, ok := tree.find(c.words)
			if !ok {
				t.Errorf("%s:%d: vant has no command %q", c.path, c.line, c.words)
				continue
			}
			if name := strings.Join(path, " "); !helped[name] {
				helped[name] = true
				if status, out := s.vant(t, append(slices.Clone(path), "--help")...); status != 0 {
					t.Errorf("%s:%d: vant %s --help ends with %d: %s", c.path, c.line, name, status, out)
				}
			}
		}
		text := d.prose
		for _, b := range d.blocks {
			if b.info == "markdown" { // to be copied into another document
				text = append(slices.Clone(text), b.lines...)
			}
		}
		for _, l := range text {
			for _, span := range spans(l.text) {
				if words := strings.Fields(span); len(words) > 1 && words[0] == "vant" && !strings.HasSuffix(words[1], ":") {
					seen++
					if _, ok := tree.find(words[1:]); !ok {
						t.Errorf("%s:%d: vant has no command %q", d.path, l.number, span)
					}
				}
			}
		}
	}
	if seen < 60 {
		t.Errorf("only %d commands were looked at", seen)
	}
}

// Without a host every command that is used rightly ends with 0 or 1; 2 says
// that flags or arguments are wrong.
func TestDocumentedCommandsAreUsedRightly(t *testing.T) {
	s := newScene(t)
	for _, d := range documents(t) {
		for _, c := range commands(t, d) {
			words := slices.Clone(c.words)
			if words[0] == "up" {
				words = append(words, "--help") // it would start a host
			}
			if status, out := s.vant(t, words...); status > 1 {
				t.Errorf("%s:%d: vant %q ends with %d: %s", c.path, c.line, c.words, status, out)
			}
		}
	}
}

// tree is the real tree of commands: name to those below it.
type tree map[string]tree

// tree reads the helps.
func (s scene) tree(t *testing.T, path ...string) tree {
	t.Helper()
	status, out := s.vant(t, append(path, "--help")...)
	if status != 0 {
		t.Fatalf("vant %q --help ends with %d: %s", path, status, out)
	}
	below := tree{}
	_, list, found := strings.Cut(out, "\nCommands:\n")
	if !found {
		return below
	}
	list, _, _ = strings.Cut(list, "\n\n")
	for l := range strings.Lines(list) {
		if words := strings.Fields(l); len(words) > 0 {
			below[words[0]] = s.tree(t, append(slices.Clone(path), words[0])...)
		}
	}
	if len(below) == 0 {
		t.Fatalf("no commands were found in the help of vant %q", path)
	}
	return below
}

var (
	dotted      = regexp.MustCompile(`^[a-z_]+(\.[a-z_]+)+$`)
	placeholder = regexp.MustCompile(`^([A-Z_]+|…)$`)
)

// find gives the command that words begin with.
func (tr tree) find(words []string) (path []string, ok bool) {
	for i, w := range words {
		switch {
		case strings.HasPrefix(w, "-"):
			continue
		case len(tr) == 0:
			return path, true
		case len(path) == 1 && path[0] == "agent" && (w == "describe" || dotted.MatchString(w)):
			return append(path, w), true
		case i > 0 && placeholder.MatchString(w):
			return path, true
		}
		below, known := tr[w]
		if !known {
			return nil, false
		}
		path, tr = append(path, w), below
	}
	return path, len(tr) == 0 || slices.Contains(words, "--help") || len(path) <= 1
}

func TestDocumentedMakeTargetsExist(t *testing.T) {
	text, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]bool{}
	for l := range bytes.Lines(text) {
		if name, _, ok := bytes.Cut(l, []byte(":")); ok {
			targets[string(name)] = true
		}
	}
	named := map[string]string{}
	for _, d := range documents(t) {
		note := func(words []string) {
			if len(words) > 1 && words[0] == "make" {
				named[words[1]] = d.path
			}
		}
		for _, l := range d.prose {
			for _, span := range spans(l.text) {
				note(strings.Fields(span))
			}
		}
		for _, b := range d.blocks {
			for _, l := range shellLines(b) {
				for _, words := range simple(t, d.path, l) {
					note(words)
				}
			}
		}
	}
	for _, want := range []string{"demo", "test", "install"} {
		if named[want] == "" {
			t.Errorf("no document names make %s", want)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		if !targets[name] {
			t.Errorf("%s: the Makefile has no target %s", named[name], name)
		}
	}
}
