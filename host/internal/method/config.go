package method

import (
	"errors"
	"strings"

	"github.com/vant-run/vant/internal/wire"
)

// CheckConfig checks a plugin's section of the configuration against the
// schema that the plugin gave. Unlike a parameter, a key that the schema does
// not know is a fault: nobody else would find the slip of the pen. Place says
// where what a JSON Pointer leads to stands in the file, "" when there is none.
func CheckConfig(schemaText, config []byte, place func(pointer string) string) error {
	s, err := compileSchema(schemaText, false)
	if err != nil {
		return err
	}
	report, err := s.compiled.Check(config)
	if err != nil {
		return err
	}
	at := func(pointer, fault string) string {
		fault = strings.ReplaceAll(fault, "unknown parameter", "unknown key")
		if p := place(pointer); p != "" {
			return p + ": " + fault
		}
		return fault
	}
	if v := report.Violation; v != nil {
		pointer := v.Pointer
		if v.Unknown != "" {
			pointer += wire.Pointer(v.Unknown)
		}
		return errors.New(at(pointer, v.Error()))
	}
	if len(report.Warnings) == 0 {
		return nil
	}
	faults := make([]string, len(report.Warnings))
	for i, w := range report.Warnings {
		faults[i] = at(report.Unknown[i], w)
	}
	return errors.New(strings.Join(faults, "; "))
}
