package page

import (
	"errors"
	"strings"
	"testing"
)

func TestChords(t *testing.T) {
	for _, tt := range []struct{ text, more, mods, key, code, writes string }{
		{"a", "", "", "a", "KeyA", "a"},
		{"A", "", "Shift", "A", "KeyA", "A"},
		{"Shift+a", "", "Shift", "A", "KeyA", "A"},
		{"Shift+1", "", "Shift", "!", "Digit1", "!"},
		{"Shift+0", "", "Shift", ")", "Digit0", ")"},
		{"Shift+/", "", "Shift", "?", "Slash", "?"},
		{"?", "", "Shift", "?", "Slash", "?"},
		{"ctrl+shift+k", "", "Control,Shift", "K", "KeyK", "K"},
		{"Control+Control+a", "control", "Control", "a", "KeyA", "a"},
		{"a", "Shift", "Shift", "A", "KeyA", "A"},
		{"+", "", "Shift", "+", "Equal", "+"},
		{"Control++", "", "Control,Shift", "+", "Equal", "+"},
		{"plus", "", "Shift", "+", "Equal", "+"},
		{"enter", "", "", "Enter", "Enter", "\r"},
		{"Return", "", "", "Enter", "Enter", "\r"},
		{"Shift+Tab", "", "Shift", "Tab", "Tab", ""},
		{"Shift+\t", "", "Shift", "Tab", "Tab", ""},
		{"space", "", "", " ", "Space", " "},
		{" ", "", "", " ", "Space", " "},
		{"Shift+space", "", "Shift", " ", "Space", " "},
		{"cmd+Left", "", "Meta", "ArrowLeft", "ArrowLeft", ""},
		{"f12", "", "", "F12", "F12", ""},
		{"Control", "", "", "Control", "ControlLeft", ""},
		{"é", "", "", "é", "", "é"},
		{"Shift+é", "", "Shift", "é", "", "é"},
	} {
		var more []string
		if tt.more != "" {
			more = []string{tt.more}
		}
		mods, k, err := chord(tt.text, more...)
		if err != nil || strings.Join(mods, ",") != tt.mods || k.Key != tt.key || k.Code != tt.code || k.Text != tt.writes {
			t.Errorf("%q: %v %+v %v; want %+v", tt.text, mods, k, err, tt)
		}
	}
	for _, bad := range []string{"", "Control+", "+a", "a+b", "Hyper+a", "F13", "NoKey", "ab", "Control+ab", "++a", "\xff", "Shift+Shift+"} {
		var p *ParamError
		if mods, k, err := chord(bad); !errors.As(err, &p) {
			t.Errorf("%q gave %v %+v %v", bad, mods, k, err)
		}
	}
}

func TestEveryASCIICharacterHasAKeyThatWritesIt(t *testing.T) {
	for r := rune(' '); r < 127; r++ {
		k, shifted, ok := typed(r)
		if !ok || k.Text != string(r) || k.Code == "" || k.KeyCode == 0 {
			t.Errorf("%q: %+v %v", r, k, ok)
		}
		if plain := k; !shifted && plain.shifted().Text == "" {
			t.Errorf("%q writes nothing with Shift", r)
		}
	}
	if k, _, ok := typed('é'); ok {
		t.Errorf("é is on %+v", k)
	}
}
