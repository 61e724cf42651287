package plugintest

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// Build compiles a plugin's main package ("." is the test's own folder) as
// vant-plugin-<name> and gives the file, which goes away with the test.
func Build(t testing.TB, pkg, name string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "vant-plugin-"+name)
	cmd := exec.Command("go", "build", "-o", file, pkg)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("plugintest: build %s: %v\n%s", pkg, err, out)
	}
	return file
}
