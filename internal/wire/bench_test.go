package wire

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// smallObjects is a list of about size bytes.
func smallObjects(size int) []byte {
	b := []byte("[")
	for i := 0; len(b) < size; i++ {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"id":%d,"name":"item %d","ok":true,"tags":["a","b"],"v":1.5}`, i, i)
	}
	return append(b, ']')
}

func oneString(size int) []byte {
	return []byte(`"` + strings.Repeat("x", size) + `"`)
}

var benchTexts = []struct {
	name string
	text []byte
}{
	{"String64K", oneString(64 << 10)},
	{"Objects64K", smallObjects(64 << 10)},
	{"Escapes64K", []byte(`"` + strings.Repeat(`<p class=\"x\">\n`, 4096) + `"`)},
	{"Greek64K", []byte(`"` + strings.Repeat("και τα ", 64<<10/12) + `"`)},
	{"Small", []byte(`{"tab_id":7,"uri":"https://example.org/","wait_ms":1000}`)},
}

func BenchmarkValid(b *testing.B) {
	for _, bt := range benchTexts {
		b.Run(bt.name, func(b *testing.B) {
			b.SetBytes(int64(len(bt.text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Valid(bt.text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCheck(b *testing.B) {
	for _, bt := range benchTexts {
		b.Run(bt.name, func(b *testing.B) {
			b.SetBytes(int64(len(bt.text)))
			b.ReportAllocs()
			for b.Loop() {
				if err := Check(bt.text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAppendCompact(b *testing.B) {
	text := bytes.ReplaceAll(smallObjects(64<<10), []byte(","), []byte(",\n  "))
	var dst []byte
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		dst = AppendCompact(dst[:0], text)
	}
}

func BenchmarkAppendString(b *testing.B) {
	s := strings.Repeat("plain text\n", 6000)
	var dst []byte
	b.SetBytes(int64(len(s)))
	b.ReportAllocs()
	for b.Loop() {
		dst = AppendString(dst[:0], s)
	}
}

func BenchmarkSchemaCheck(b *testing.B) {
	small, err := Compile([]byte(`{"type":"object","properties":{"tab_id":{"type":"integer","minimum":1},
		"uri":{"type":"string","minLength":1},"wait_ms":{"type":"integer","maximum":30000}},"required":["uri"]}`), nil)
	if err != nil {
		b.Fatal(err)
	}
	list, err := Compile([]byte(`{"type":"array","items":{"type":"object","required":["id"],"additionalProperties":false,
		"properties":{"id":{"type":"integer"},"name":{"type":"string"},"ok":{"type":"boolean"},
		"tags":{"type":"array","items":{"type":"string"}},"v":{"type":"number"}}}}`), nil)
	if err != nil {
		b.Fatal(err)
	}
	for _, bt := range []struct {
		name   string
		schema *Schema
		text   []byte
	}{{"Small", small, benchTexts[4].text}, {"Objects64K", list, benchTexts[1].text}} {
		b.Run(bt.name, func(b *testing.B) {
			b.SetBytes(int64(len(bt.text)))
			b.ReportAllocs()
			for b.Loop() {
				rep, err := bt.schema.Check(bt.text)
				if err != nil || rep.Violation != nil {
					b.Fatal(rep, err)
				}
			}
		})
	}
}
