package inject_test

import (
	"os"
	"testing"

	"github.com/vant-run/vant/plugins/browser/browsertest"
)

func TestMain(m *testing.M) { os.Exit(browsertest.Main(m)) }
