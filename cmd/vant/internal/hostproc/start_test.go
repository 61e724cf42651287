package hostproc

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEnvironmentOfTheHost(t *testing.T) {
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	got := hostEnv([]string{
		"PATH=/bin", "VANT_CONFIG=c.yaml", "VANT_PLUGIN_PATH=a:/b:", "VANT_HOST=1f", "VANT_INSTANCE=9.agent.3", "VANT_SOCKET=", "EMPTY=",
	})
	want := []string{
		"PATH=/bin", "VANT_CONFIG=" + filepath.Join(wd, "c.yaml"), "VANT_PLUGIN_PATH=" + filepath.Join(wd, "a") + ":/b:", "VANT_SOCKET=", "EMPTY=",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
