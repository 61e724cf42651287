package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"
	"unicode/utf8"
)

func addTexts(f *testing.F) {
	for _, tt := range texts {
		if len(tt.text) < 200 {
			f.Add([]byte(tt.text))
		}
	}
}

// hasDuplicates is a second, plain search for names that stand twice in an
// object of a valid text. Unpaired surrogates all read as U+FFFD here, so that
// it also says yes where names differ in those only.
func hasDuplicates(t *testing.T, text []byte) (duplicates bool, depth int) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	type frame struct {
		names map[string]bool // nil in an array
		value bool            // a name was read
	}
	var open []frame
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return duplicates, depth
		}
		if err != nil {
			t.Fatal(err)
		}
		var in *frame
		if len(open) > 0 {
			in = &open[len(open)-1]
		}
		if name, ok := tok.(string); ok && in != nil && in.names != nil && !in.value {
			duplicates = duplicates || in.names[name]
			in.names[name] = true
			in.value = true
			continue
		}
		if in != nil {
			in.value = false
		}
		switch tok {
		case json.Delim('{'):
			open = append(open, frame{names: map[string]bool{}})
		case json.Delim('['):
			open = append(open, frame{})
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		}
		depth = max(depth, len(open))
	}
}

// FuzzCheck holds Check and Valid against encoding/json, which takes invalid
// UTF-8, deeper nesting and names that stand twice.
func FuzzCheck(f *testing.F) {
	addTexts(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		want := json.Valid(text)
		twice := false
		if want {
			var depth int
			twice, depth = hasDuplicates(t, text)
			want = depth <= MaxDepth && utf8.Valid(text)
		}
		compact, err := Valid(text)
		if (err == nil) != want {
			t.Fatalf("Valid: %v, encoding/json: %v", err, want)
		}
		err = Check(text)
		surrogates := bytes.Contains(bytes.ToLower(text), []byte(`\ud`)) || bytes.Contains(text, []byte("\ufffd"))
		switch {
		case !want || !twice:
			if (err == nil) != want {
				t.Fatalf("Check: %v, encoding/json: %v", err, want)
			}
		case !surrogates && err == nil:
			t.Fatal("Check takes a name twice")
		}
		var syn *SyntaxError
		if err != nil && (!errors.As(err, &syn) || syn.Offset < 0 || syn.Offset > len(text)) {
			t.Fatalf("error %v of type %T", err, err)
		}

		got := AppendCompact(nil, text)
		if !want {
			return
		}
		var b bytes.Buffer
		if err := json.Compact(&b, text); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, b.Bytes()) {
			t.Fatalf("AppendCompact: %q, json.Compact: %q", got, b.Bytes())
		}
		if compact != bytes.Equal(got, text) {
			t.Fatalf("compact is %v", compact)
		}
	})
}

// FuzzScanObject: the members are those that encoding/json reads, and their
// texts stand in the scanned text.
func FuzzScanObject(f *testing.F) {
	addTexts(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		members := map[string][]byte{}
		scanErr := ScanObject(text, nil, func(m Member) error {
			if Check(m.Value) != nil {
				t.Fatalf("value %q", m.Value)
			}
			members[string(m.Name)] = m.Value
			return nil
		})
		trimmed := bytes.TrimLeft(text, " \t\r\n")
		want := Check(text) == nil && trimmed[0] == '{'
		if (scanErr == nil) != want {
			t.Fatalf("%v", scanErr)
		}
		if !want || bytes.Contains(text, []byte(`\`)) {
			return
		}
		var std map[string]json.RawMessage
		if err := json.Unmarshal(text, &std); err != nil {
			t.Fatal(err)
		}
		if len(std) != len(members) {
			t.Fatalf("%d members, encoding/json has %d", len(members), len(std))
		}
		for name, v := range std {
			if !bytes.Equal(v, members[name]) {
				t.Fatalf("%q: %q, encoding/json has %q", name, members[name], v)
			}
		}
	})
}

// FuzzUnquote holds Unquote and UnquotedLen against encoding/json.
func FuzzUnquote(f *testing.F) {
	addTexts(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		var want string
		valid := json.Unmarshal(raw, &want) == nil && len(raw) > 0 && raw[0] == '"' && raw[len(raw)-1] == '"' && utf8.Valid(raw)
		got, ok := Unquote(raw)
		if ok != valid || ok && got != want {
			t.Fatalf("%q %v, encoding/json: %q %v", got, ok, want, valid)
		}
		if ok && UnquotedLen(raw) != len(want) {
			t.Fatalf("length %d, not %d", UnquotedLen(raw), len(want))
		}
		if ok {
			back := AppendString(nil, want)
			if again, ok := Unquote(back); !ok || again != want {
				t.Fatalf("%q", back)
			}
		}
	})
}
