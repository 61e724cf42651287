package host

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/vant-run/vant/host/internal/supervise"
)

func TestLevelOfTheCommandLineOutlivesAReload(t *testing.T) {
	for level, want := range map[string]hclog.Level{"": hclog.Debug, "error": hclog.Error} {
		t.Run(level, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "vant.yaml")
			write := func(text string) {
				t.Helper()
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write("log:\n  level: warn\n")
			home := t.TempDir()
			h, err := New(Options{Config: file, LogLevel: level, LogOutput: io.Discard, Getenv: func(name string) string {
				return map[string]string{"HOME": home}[name]
			}})
			if err != nil {
				t.Fatal(err)
			}
			h.supervisor = supervise.New(supervise.Options{})
			defer h.supervisor.Stop(t.Context())
			write("log:\n  level: debug\n")
			if _, _, err := h.readConfig(); err != nil {
				t.Fatal(err)
			}
			if got := h.log.GetLevel(); got != want {
				t.Errorf("the level is %v, want %v", got, want)
			}
		})
	}
}
