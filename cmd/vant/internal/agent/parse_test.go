package agent

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"
)

// FuzzParse: whatever the arguments are, they are either refused with a text,
// or make one method and one JSON object that holds values as they were given.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"status", "--json\x00status", "open\x00https://h/\x001", "fill\x00@e1_2\x00-5", "fill\x00@e1\x00--json",
		"fill\x00--\x00--json\x00-h", "fetch\x00u\x00{\"url\":1,\"a\":[1e5]}", "call\x00a.b\x00{\"x\":\"\\ud83d\"}", "call\x00a.b\x00-",
		"call\x00a.b\x00@file", "page.inspect\x00{}", "describe", "js\x00--tab\x002\x00--file=-", "js\x00-5", "--timeout=5s\x00watch",
		"--socket\x00", "-h", "js\x00--help", "snapshot\x00\xff", "\x00", "--strict=maybe\x00tabs",
	} {
		f.Add(seed, "{\"from\":\"stdin\"}")
	}
	f.Fuzz(func(t *testing.T, line, stdin string) {
		args := strings.Split(line, "\x00")
		inv, err := Parse(args, Input{
			Stdin:    strings.NewReader(stdin),
			ReadFile: func(string) (io.ReadCloser, error) { return nil, fs.ErrNotExist },
		})
		if err != nil {
			var wrong *UsageError
			var help *HelpError
			if !errors.As(err, &wrong) && !errors.As(err, &help) {
				t.Fatalf("%q: error of type %T", args, err)
			}
			if wrong != nil && (wrong.Message == "" || wrong.Hint == "") {
				t.Fatalf("%q: no message or no hint: %+v", args, wrong)
			}
			return
		}
		if inv.Method == "" {
			t.Fatalf("%q: no method", args)
		}
		var params map[string]json.RawMessage
		if err := json.Unmarshal(inv.Params, &params); err != nil || params == nil {
			t.Fatalf("%q: params %s: %v", args, inv.Params, err)
		}
		if inv.Command == "fill" {
			var value string
			if err := json.Unmarshal(params["value"], &value); err != nil {
				t.Fatal(err)
			}
			found := false
			for _, a := range args {
				found = found || a == value
			}
			if !found {
				t.Fatalf("%q: value %q is none of the arguments", args, value)
			}
		}
	})
}

func TestUnknownCommandSuggestsNearOnesOnly(t *testing.T) {
	for name, want := range map[string]string{
		"snapshto": "snapshot", "tab": "tabs", "statsu": "status", "Status": "status", "fetchh": "fetch", "descibe": "describe", "snap": "snapshot",
		"nope": "", "oepn": "open", "x": "", "up": "", "list": "", "plugins": "", "down": "", "run": "",
	} {
		_, err := Parse([]string{name}, Input{})
		var wrong *UsageError
		if !errors.As(err, &wrong) {
			t.Fatalf("%s: %v", name, err)
		}
		got := ""
		if rest, ok := strings.CutPrefix(wrong.Hint, `did you mean "vant agent `); ok {
			got = strings.TrimSuffix(rest, `"?`)
		}
		if got != want {
			t.Errorf("%s: suggests %q, want %q", name, got, want)
		}
	}
}

// What a hint shows must suit every method.
func TestHintsOnWrongJSONNameNoParameterOfOneMethod(t *testing.T) {
	for _, args := range [][]string{{"net.fetch", "{"}, {"net.fetch", "[]"}, {"page.text", "1"}, {"call", "a.b", "x"}, {"fetch", "u", "7"}} {
		_, err := Parse(args, Input{})
		var wrong *UsageError
		if !errors.As(err, &wrong) || strings.Contains(wrong.Message, "tab_id") || !strings.Contains(wrong.Message, "one object") {
			t.Errorf("%q: %v", args, err)
		}
	}
}

func TestInputThatIsTooLargeIsRefused(t *testing.T) {
	for name, args := range map[string][]string{"call": {"call", "a.b", "-"}, "js": {"js"}} {
		_, err := Parse(args, Input{Stdin: io.LimitReader(zeros{}, maxInput+1)})
		if err == nil || !strings.Contains(err.Error(), "more than") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = '0'
	}
	return len(b), nil
}

func TestParametersInThePlaceOfATabAreShownTheirPlace(t *testing.T) {
	for _, name := range []string{"snapshot", "diagnostics"} {
		_, err := Parse([]string{name, `{"secret":"s3cret"}`}, Input{})
		var wrong *UsageError
		if !errors.As(err, &wrong) || !strings.Contains(wrong.Message, "vant agent page."+name+" '{") || strings.Contains(wrong.Message, "s3cret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
