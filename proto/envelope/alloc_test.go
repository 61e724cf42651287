//go:build !race

// The race detector empties pools at random, so that nothing can be counted.

package envelope

import (
	"testing"

	"github.com/vant-run/vant/internal/wire"
)

func TestDecodeMakesNoGarbage(t *testing.T) {
	schema := schemaOf(t, `{"type":"object","properties":{"n":{"type":"integer"}}}`)
	line := []byte(`{"version":1,"id":"req-42","method":"browser.tabs","params":{"n":1}}`)
	lookup := func([]byte) (string, *wire.Schema) { return "browser.tabs", schema }
	if n := testing.AllocsPerRun(200, func() {
		if _, err := DecodeChecked(line, lookup); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	dst := make([]byte, 0, 256)
	if n := testing.AllocsPerRun(200, func() { dst = AppendResult(dst[:0], line[18:24], line[60:67], nil) }); n != 0 {
		t.Errorf("AppendResult: %v allocations", n)
	}
}
