package page

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/vant-run/vant/plugins/browser/target"
)

// ScriptError is an exception that a script has thrown, or a value that has no
// JSON form.
type ScriptError struct {
	Message string `json:"message"`
	Stack   string `json:"stack,omitzero"`
	Line    int    `json:"line,omitzero"`   // from 1, in the script
	Column  int    `json:"column,omitzero"` // from 1
}

// Error implements error.
func (s *ScriptError) Error() string { return s.Message }

// told is what is said of a failed script.
func told(err error, above int) error {
	var thrown *target.Exception
	if errors.As(err, &thrown) {
		return scriptError(thrown, above)
	}
	return err
}

var (
	// position is a place in the script, in a line of a stack.
	position = regexp.MustCompile(`([ (])script:(\d+):(\d+)`)
	// unnamed is a line of a stack that is of our code.
	unnamed = regexp.MustCompile(`^    at (?:.* \()?(?:eval at .*, )?<anonymous>:\d+:\d+\)?$|^    at async <anonymous>:\d+:\d+$`)
)

// thrownAt takes the place in the script that the browser names, if it does.
func (s *ScriptError) thrownAt(e *target.Exception, above int) {
	for _, f := range e.Stack.Frames {
		if f.URL == sourceName {
			s.at(f.Line, f.Column, above)
			return
		}
	}
}

func (s *ScriptError) at(line, column, above int) { s.Line, s.Column = max(line+1-above, 1), column+1 }

// scriptError tells of an exception in the words and the lines of the script, above
// whose first there are some of ours.
func scriptError(e *target.Exception, above int) *ScriptError {
	s := &ScriptError{}
	if e.Exception.Description == "" {
		s.Message = clip(e.Error(), maxMessage)
		s.thrownAt(e, above)
		return s
	}
	var stack []string
	for line := range strings.Lines(e.Exception.Description) {
		line = strings.TrimSuffix(line, "\n")
		if unnamed.MatchString(line) {
			continue
		}
		if strings.HasPrefix(line, "    at ") {
			line = position.ReplaceAllStringFunc(line, func(at string) string {
				m := position.FindStringSubmatch(at)
				n, _ := strconv.Atoi(m[2])
				n = max(n-above, 1)
				if s.Line == 0 {
					s.Line = n
					s.Column, _ = strconv.Atoi(m[3])
				}
				return fmt.Sprintf("%s<anonymous>:%d:%s", m[1], n, m[3])
			})
		}
		stack = append(stack, line)
	}
	if s.Line == 0 && strings.HasPrefix(e.Exception.Description, "SyntaxError: ") && (e.Line > 0 || e.Column > 0) {
		s.at(e.Line, e.Column, above)
	}
	if s.Line == 0 {
		s.thrownAt(e, above)
	}
	s.Stack = clip(strings.Join(stack, "\n"), maxStack)
	s.Message = clip(firstLine(e.Exception.Description)+e.Exception.Preview.String(), maxMessage)
	return s
}
