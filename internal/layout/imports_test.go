package layout

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write cmd/vant's dependency list anew")

const module = "github.com/vant-run/vant/"

type listed struct {
	ImportPath string
	Imports    []string
	Deps       []string
	Standard   bool
}

func list(t *testing.T, args ...string) []listed {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Imports,Deps,Standard"}, args...)...)
	cmd.Dir = filepath.Join("..", "..")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.Bytes())
	}
	var packages []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

// under tells whether path is one of the folders or below one.
func under(path string, folders ...string) bool {
	for _, f := range folders {
		if path == module+f || strings.HasPrefix(path, module+f+"/") {
			return true
		}
	}
	return false
}

// ownFolder is plugins/<name> of a package below it.
func ownFolder(path string) string {
	parts := strings.SplitN(strings.TrimPrefix(path, module), "/", 3)
	return strings.Join(parts[:min(len(parts), 2)], "/")
}

func TestImportsGoOneWay(t *testing.T) {
	rules := []struct {
		who   string
		of    func(path string) bool
		never func(path, imported string) bool
	}{
		{
			"the host imports neither the SDK nor plugins",
			func(p string) bool { return under(p, "host") },
			func(_, i string) bool { return under(i, "sdk", "plugins", "cmd") },
		},
		{
			"the SDK does not import the host",
			func(p string) bool { return under(p, "sdk") },
			func(_, i string) bool { return under(i, "host", "plugins", "cmd") },
		},
		{
			"plugins import neither the host nor each other",
			func(p string) bool { return under(p, "plugins") },
			func(p, i string) bool {
				return under(i, "host", "cmd") || under(i, "plugins") && !under(i, "plugins/internal", ownFolder(p))
			},
		},
		{
			"protocols import nothing of ours but the scanner and each other",
			func(p string) bool { return under(p, "proto") },
			func(_, i string) bool { return strings.HasPrefix(i, module) && !under(i, "proto", "internal/wire") },
		},
		{
			"only the launcher and the SDK know go-plugin",
			func(p string) bool {
				return !under(p, "host/internal/launch", "sdk", "plugins/internal/faulty", "tools")
			},
			func(_, i string) bool { return strings.HasPrefix(i, "github.com/hashicorp/go-plugin") },
		},
		{
			"only the browser plugin knows CDP",
			func(p string) bool { return !under(p, "plugins/browser") },
			func(_, i string) bool { return strings.HasPrefix(i, "github.com/chromedp/") },
		},
		{
			"the browser's process knows neither CDP nor the plugin above it",
			func(p string) bool { return under(p, "plugins/browser/chromium") },
			func(p, i string) bool {
				return strings.HasPrefix(i, "github.com/chromedp/") || under(i, "plugins/browser") && i != p
			},
		},
		{
			"the client stands on the standard library and the envelope",
			func(p string) bool { return under(p, "sdk/client") },
			func(_, i string) bool {
				return strings.Contains(strings.Split(i, "/")[0], ".") && !under(i, "proto/envelope", "internal/wire")
			},
		},
		{
			"shared packages import nothing above them",
			func(p string) bool { return under(p, "internal") },
			func(_, i string) bool { return under(i, "host", "sdk", "plugins", "cmd", "proto") },
		},
	}
	packages := list(t, "./...")
	for _, r := range rules {
		t.Run(r.who, func(t *testing.T) {
			seen := 0
			for _, p := range packages {
				if !r.of(p.ImportPath) {
					continue
				}
				seen++
				for _, i := range p.Imports {
					if r.never(p.ImportPath, i) {
						t.Errorf("%s imports %s", p.ImportPath, i)
					}
				}
			}
			if seen == 0 {
				t.Error("the rule looks at no package")
			}
		})
	}
}

func TestCommandLinksNoFramework(t *testing.T) {
	var got []string
	for _, p := range list(t, "./cmd/vant") {
		for _, d := range p.Deps {
			for _, heavy := range []string{"google.golang.org/grpc", "github.com/hashicorp/go-plugin", "net/http", "google.golang.org/protobuf"} {
				if d == heavy {
					t.Errorf("cmd/vant links %s", d)
				}
			}
			if strings.Contains(strings.Split(d, "/")[0], ".") && !strings.HasPrefix(d, "vendor/") {
				got = append(got, d)
			}
		}
	}
	slices.Sort(got)
	text := strings.Join(got, "\n") + "\n"
	file := filepath.Join("..", "..", "cmd", "vant", "deps.txt")
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("cmd/vant's dependencies are not those of deps.txt; when the change is meant, go test ./internal/layout -update (-want +got):\n%s", diff)
	}
}
