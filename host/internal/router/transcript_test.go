package router

import (
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the replies of transcripts anew")

// Transcripts hold request lines, marked with "> ", and the exact reply lines,
// marked with "< ". What differs from run to run has a name in capitals.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			synctest.Test(t, func(t *testing.T) {
				opt := options()
				r := newDemo(t, opt)
				names := strings.NewReplacer(opt.Events.Epoch(), "EPOCH", `"pid":`+strconv.Itoa(os.Getpid()), `"pid":PID`)
				for line := range strings.Lines(string(text)) {
					line = strings.TrimSuffix(line, "\n")
					if strings.HasPrefix(line, "<") {
						continue
					}
					got.WriteString(line + "\n")
					if request, ok := strings.CutPrefix(line, "> "); ok {
						got.WriteString("< " + names.Replace(serve(t, r, request)) + "\n")
					}
				}
			})
			if *update {
				if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(text), got.String()); diff != "" {
				t.Errorf("transcript differs (-file +now):\n%s", diff)
			}
		})
	}
}
