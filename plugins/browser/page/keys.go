package page

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// key is one key of a US keyboard.
type key struct {
	Key      string // DOM's name
	Code     string // its place
	KeyCode  int
	Text     string // what it writes, "" when nothing
	Location int
}

// Modifiers, as the protocol counts them.
const (
	alt     = 1
	control = 2
	meta    = 4
	shift   = 8
)

var modifierKeys = map[string]struct {
	bit int
	key key
}{
	"Alt":     {alt, key{Key: "Alt", Code: "AltLeft", KeyCode: 18, Location: 1}},
	"Control": {control, key{Key: "Control", Code: "ControlLeft", KeyCode: 17, Location: 1}},
	"Meta":    {meta, key{Key: "Meta", Code: "MetaLeft", KeyCode: 91, Location: 1}},
	"Shift":   {shift, key{Key: "Shift", Code: "ShiftLeft", KeyCode: 16, Location: 1}},
}

// aliases are other names of keys that people write.
var aliases = map[string]string{
	"ctrl": "Control", "cmd": "Meta", "command": "Meta", "option": "Alt", "return": "Enter", "esc": "Escape",
	"del": "Delete", "ins": "Insert", "up": "ArrowUp", "down": "ArrowDown", "left": "ArrowLeft", "right": "ArrowRight",
	"pgup": "PageUp", "pgdn": "PageDown", "space": " ", "spacebar": " ", "plus": "+",
}

var named = func() map[string]key {
	keys := map[string]key{
		"Enter": {Key: "Enter", Code: "Enter", KeyCode: 13, Text: "\r"}, "Tab": {Key: "Tab", Code: "Tab", KeyCode: 9},
		"Backspace": {Key: "Backspace", Code: "Backspace", KeyCode: 8}, "Delete": {Key: "Delete", Code: "Delete", KeyCode: 46},
		"Escape": {Key: "Escape", Code: "Escape", KeyCode: 27}, "Insert": {Key: "Insert", Code: "Insert", KeyCode: 45},
		"ArrowLeft": {Key: "ArrowLeft", Code: "ArrowLeft", KeyCode: 37}, "ArrowUp": {Key: "ArrowUp", Code: "ArrowUp", KeyCode: 38},
		"ArrowRight": {Key: "ArrowRight", Code: "ArrowRight", KeyCode: 39}, "ArrowDown": {Key: "ArrowDown", Code: "ArrowDown", KeyCode: 40},
		"PageUp": {Key: "PageUp", Code: "PageUp", KeyCode: 33}, "PageDown": {Key: "PageDown", Code: "PageDown", KeyCode: 34},
		"End": {Key: "End", Code: "End", KeyCode: 35}, "Home": {Key: "Home", Code: "Home", KeyCode: 36},
		"ContextMenu": {Key: "ContextMenu", Code: "ContextMenu", KeyCode: 93}, "CapsLock": {Key: "CapsLock", Code: "CapsLock", KeyCode: 20},
	}
	for i := range 12 {
		name := "F" + strings.TrimLeft(string([]byte{'0' + byte((i+1)/10), '0' + byte((i+1)%10)}), "0")
		keys[name] = key{Key: name, Code: name, KeyCode: 112 + i}
	}
	for name, m := range modifierKeys {
		keys[name] = m.key
	}
	return keys
}()

// rows are the printing keys: place, code, and what they write without and with
// Shift.
var rows = []struct {
	code          string
	keyCode       int
	plain, shifts string
}{
	{"Space", 32, " ", " "}, {"Backquote", 192, "`", "~"}, {"Minus", 189, "-", "_"}, {"Equal", 187, "=", "+"},
	{"BracketLeft", 219, "[", "{"}, {"BracketRight", 221, "]", "}"}, {"Backslash", 220, `\`, "|"},
	{"Semicolon", 186, ";", ":"}, {"Quote", 222, "'", `"`}, {"Comma", 188, ",", "<"}, {"Period", 190, ".", ">"}, {"Slash", 191, "/", "?"},
}

// digitShifts are what the digits write with Shift, from 0.
const digitShifts = ")!@#$%^&*("

// typed finds the key that writes a character; ok is false for one that no key
// writes. shifted says that it is written with Shift.
func typed(r rune) (k key, shifted, ok bool) {
	text := string(r)
	switch {
	case r >= 'a' && r <= 'z':
		return key{Key: text, Code: "Key" + strings.ToUpper(text), KeyCode: int(r - 'a' + 'A'), Text: text}, false, true
	case r >= 'A' && r <= 'Z':
		return key{Key: text, Code: "Key" + text, KeyCode: int(r), Text: text}, true, true
	case r >= '0' && r <= '9':
		return key{Key: text, Code: "Digit" + text, KeyCode: int(r), Text: text}, false, true
	case r == '\n' || r == '\r':
		return named["Enter"], false, true
	case r == '\t':
		return named["Tab"], false, true
	}
	if i := strings.IndexRune(digitShifts, r); i >= 0 {
		digit := string(rune('0' + i))
		return key{Key: text, Code: "Digit" + digit, KeyCode: '0' + i, Text: text}, true, true
	}
	for _, row := range rows {
		if text == row.plain || text == row.shifts {
			return key{Key: text, Code: row.code, KeyCode: row.keyCode, Text: text}, text != row.plain, true
		}
	}
	return key{}, false, false
}

// chord takes "Control+Shift+a" apart. The last part is a key's name or one
// character; "+" itself may be it. more are modifiers besides.
func chord(text string, more ...string) (mods []string, k key, err error) {
	parts := strings.Split(text, "+")
	if n := len(parts); n >= 2 && parts[n-1] == "" && parts[n-2] == "" { // the key is "+"
		parts = append(parts[:n-2], "+")
	}
	last := parts[len(parts)-1]
	for _, p := range append(parts[:len(parts)-1], more...) {
		name := canonical(p)
		if _, ok := modifierKeys[name]; !ok {
			return nil, key{}, &ParamError{"value", clip(p, 40) + " is no modifier: use Control, Shift, Alt or Meta"}
		}
		if !slices.Contains(mods, name) {
			mods = append(mods, name)
		}
	}
	if k, ok := named[canonical(last)]; ok {
		return mods, k, nil
	}
	if full, ok := aliases[strings.ToLower(last)]; ok {
		last = full
	}
	r, size := utf8.DecodeRuneInString(last)
	if size != len(last) || size == 0 || r == utf8.RuneError {
		return nil, key{}, &ParamError{"value", "there is no key " + clip(last, 40) + "; names are as in KeyboardEvent.key: Enter, ArrowDown, a"}
	}
	k, shifted, ok := typed(r)
	switch shift := slices.Contains(mods, "Shift"); {
	case !ok:
		return mods, key{Key: last, Text: last}, nil
	case shifted && !shift:
		mods = append(mods, "Shift")
	case shift && !shifted:
		k = k.shifted()
	}
	return mods, k, nil
}

// shifted is what a printing key writes while Shift is held.
func (k key) shifted() key {
	if len(k.Key) != 1 {
		return k
	}
	k.Text = strings.ToUpper(k.Text)
	if i := k.KeyCode - '0'; i >= 0 && i <= 9 {
		k.Text = digitShifts[i : i+1]
	}
	for _, row := range rows {
		if row.code == k.Code {
			k.Text = row.shifts
		}
	}
	k.Key = k.Text
	return k
}

func canonical(name string) string {
	if full, ok := aliases[strings.ToLower(name)]; ok {
		return full
	}
	for known := range named {
		if strings.EqualFold(known, name) {
			return known
		}
	}
	return name
}
