package method

import (
	"errors"
	"strings"
)

// CheckConfig checks a plugin's section of the configuration against the
// schema that the plugin gave. Unlike a parameter, a key that the schema does
// not know is a fault: nobody else would find the slip of the pen.
func CheckConfig(schemaText, config []byte) error {
	s, err := compileSchema(schemaText, false)
	if err != nil {
		return err
	}
	report, err := s.compiled.Check(config)
	switch {
	case err != nil:
		return err
	case report.Violation != nil:
		return report.Violation
	case len(report.Warnings) > 0:
		return errors.New(strings.ReplaceAll(strings.Join(report.Warnings, "; "), "unknown parameter", "unknown key"))
	}
	return nil
}
