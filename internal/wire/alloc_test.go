//go:build !race

// The race detector empties pools at random, so that nothing can be counted.

package wire

import "testing"

func TestHotPathsMakeNoGarbage(t *testing.T) {
	list, small := smallObjects(8<<10), []byte(`{"tab_id":7,"\u0075ri":"x\ty","a":{"b":[1,2]}}`)
	spaced := []byte(`[1, {"a" : 2}]`)
	schema := mustCompile(t, `{"type":"object","properties":{"tab_id":{"type":"integer","enum":[7,8]},
		"uri":{"type":"string","minLength":2},"a":{"anyOf":[{"type":"string"},{"type":"object","additionalProperties":true}]}},
		"required":["uri"]}`)
	within := []byte(`{"p":{"uri":"xy"}}`)
	dst := make([]byte, 0, 1<<10)
	for name, f := range map[string]func(){
		"Valid":          func() { _, _ = Valid(list) },
		"Check list":     func() { _ = Check(list) },
		"Check small":    func() { _ = Check(small) },
		"Schema.Check":   func() { _, _ = schema.Check(small) },
		"AppendCompact":  func() { dst = AppendCompact(dst[:0], spaced) },
		"AppendString":   func() { dst = AppendString(dst[:0], "a\n€\"") },
		"UnquotedLen":    func() { UnquotedLen([]byte(`"\u00e9"`)) },
		"CompareNumbers": func() { CompareNumbers([]byte("1.50"), []byte("15e-1")) },
		"ScanObject":     func() { _ = ScanObject(small, nil, func(Member) error { return nil }) },
		"ScanObject with": func() {
			_ = ScanObject(within, func([]byte) *Schema { return schema }, func(Member) error { return nil })
		},
	} {
		if n := testing.AllocsPerRun(200, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
