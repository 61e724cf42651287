package method

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/vant-run/vant/internal/wire"
)

// maxConfigFaults bounds how many mistakes of one section are told.
const maxConfigFaults = 8

// ConfigFaults are the mistakes of a section, each with its place.
type ConfigFaults []string

func (f ConfigFaults) Error() string { return strings.Join(f, "; ") }

// CheckConfig checks a plugin's section of the configuration against the
// schema that the plugin gave. Unlike a parameter, a key that the schema does
// not know is a fault: nobody else would find the slip of the pen. Place says
// where what a JSON Pointer leads to stands in the file, "" when there is none.
// What is wrong with the section is a ConfigFaults.
func CheckConfig(schemaText, config []byte, place func(pointer string) string) error {
	s, err := compileSchema(schemaText, false)
	if err != nil {
		return err
	}
	var faults ConfigFaults
	note := func(pointer, fault string) {
		fault = strings.ReplaceAll(fault, "unknown parameter", "unknown key")
		if p := place(pointer); p != "" {
			fault = p + ": " + fault
		}
		faults = append(faults, fault)
	}
	// A check ends at the first violation: the next one goes without it.
	var left []string
	for {
		report, err := s.compiled.Check(config)
		if err != nil {
			return err
		}
		v := report.Violation
		if v == nil {
			for i, w := range report.Warnings {
				note(report.Unknown[i], w)
			}
			break
		}
		pointer := v.Pointer
		if v.Unknown != "" {
			pointer += wire.Pointer(v.Unknown)
		}
		if slices.ContainsFunc(left, func(l string) bool { return made(v, l) }) {
			break
		}
		note(pointer, v.Error())
		smaller, gone, ok := without(config, pointer)
		if !ok || len(faults) == maxConfigFaults {
			break
		}
		config, left = smaller, append(left, gone)
	}
	if len(faults) == 0 {
		return nil
	}
	return faults[:min(len(faults), maxConfigFaults)]
}

// made says whether leaving out what a pointer leads to may be why there is a
// violation.
func made(v *wire.Violation, leaving string) bool {
	if v.Type || v.Unknown != "" {
		return false
	}
	below, is := strings.CutPrefix(leaving, v.Pointer+"/")
	if other, missing := strings.CutPrefix(v.Message, "missing required "); missing {
		return is && slices.Equal(wire.PointerSteps("/"+below), []string{strings.Trim(other, `"`)})
	}
	return is
}

// without gives the JSON of an object without what the pointer leads to. An
// element of an array goes with the whole array, so that all other pointers stay
// right. Gone is the pointer of what was left out.
func without(text []byte, pointer string) (smaller []byte, gone string, ok bool) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var root map[string]any
	if d.Decode(&root) != nil {
		return nil, "", false
	}
	steps := wire.PointerSteps(pointer)
	in, last := root, -1 // the innermost object on the way that no array holds
	for i, step := range steps {
		value, has := in[step]
		if !has {
			return nil, "", false
		}
		last = i
		inner, isObject := value.(map[string]any)
		if !isObject || i == len(steps)-1 {
			break
		}
		in = inner
	}
	if last < 0 {
		return nil, "", false
	}
	delete(in, steps[last])
	smaller, err := json.Marshal(root)
	return smaller, wire.Pointer(steps[:last+1]...), err == nil
}
