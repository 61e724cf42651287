package agent

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/vant-run/vant/internal/wire"
)

// Options are the flags that every command knows.
type Options struct {
	Socket  string
	Timeout time.Duration // 0: the client's own bound
	JSON    bool
	Strict  bool
}

// Invocation is what the arguments ask for.
type Invocation struct {
	Options
	Command string
	Method  string
	Params  []byte // a JSON object
	Follow  bool
}

// UsageError says that the arguments are wrong; the exit status is 2.
type UsageError struct {
	Command string // "" when none was recognised
	Message string
	Hint    string
}

func (e *UsageError) Error() string { return e.Message }

// HelpError says that help was asked for.
type HelpError struct{ Command string }

func (*HelpError) Error() string { return "help was asked for" }

// Input is what arguments may refer to.
type Input struct {
	Stdin    io.Reader
	ReadFile func(name string) (io.ReadCloser, error)
}

// Parse reads the arguments after "vant agent". Flags may stand before the
// command and before its first argument; from there on everything is taken as
// it is.
func Parse(args []string, in Input) (*Invocation, error) {
	inv := &Invocation{}
	b := &builder{in: in}
	common := map[string]flag{
		"json":    {toggle: &inv.JSON},
		"strict":  {toggle: &inv.Strict},
		"socket":  {value: func(v string) error { inv.Socket = v; return notEmpty(v) }},
		"timeout": {value: func(v string) (err error) { inv.Timeout, err = duration(v); return err }},
	}
	args, err := scanFlags(args, common, false)
	if err != nil {
		return nil, usage(Command{}, err)
	}
	if len(args) == 0 {
		return nil, usage(Command{}, errors.New("a command is missing"))
	}
	cmd, ok := Find(args[0])
	if !ok {
		return nil, unknown(args[0])
	}
	if cmd.Script {
		common["file"] = flag{value: func(v string) error { b.file = v; return notEmpty(v) }}
		common["tab"] = flag{value: func(v string) (err error) { b.tab, err = tab(v); return err }}
	}
	args, err = scanFlags(args[1:], common, true)
	switch {
	case err != nil:
		return nil, usage(cmd, err)
	case len(args) < cmd.min:
		return nil, usage(cmd, fmt.Errorf("%s is missing", strings.Fields(cmd.Args)[len(args)]))
	case len(args) > cmd.max:
		return nil, usage(cmd, fmt.Errorf("too many arguments: %d, at most %d are known", len(args), cmd.max))
	}
	inv.Command, inv.Follow = cmd.Name, cmd.Follow
	if inv.Method, inv.Params, err = cmd.build(b, args); err != nil {
		return nil, usage(cmd, err)
	}
	return inv, nil
}

// flag is either a toggle or takes a value.
type flag struct {
	toggle *bool
	value  func(string) error
}

var errHelp = errors.New("help")

// scanFlags takes the flags from the front of args and gives the rest. What
// begins like a negative number is an argument where numbers may be one.
func scanFlags(args []string, known map[string]flag, numbers bool) ([]string, error) {
	for len(args) > 0 {
		arg := args[0]
		switch {
		case len(arg) < 2 || arg[0] != '-':
			return args, nil
		case arg == "--":
			return args[1:], nil
		case numbers && (arg[1] >= '0' && arg[1] <= '9' || arg[1] == '.'):
			return args, nil
		case arg == "-h" || arg == "--help":
			return nil, errHelp
		}
		args = args[1:]
		name, value, given := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		f, ok := known[name]
		if !ok || !strings.HasPrefix(arg, "--") {
			return nil, fmt.Errorf("unknown flag %s: write -- before an argument that begins with a dash", strconv.Quote(arg))
		}
		if f.toggle != nil {
			on := true
			if given {
				var err error
				if on, err = strconv.ParseBool(value); err != nil {
					return nil, fmt.Errorf("--%s is on or off: give true, false or nothing", name)
				}
			}
			*f.toggle = on
			continue
		}
		if !given {
			if len(args) == 0 {
				return nil, fmt.Errorf("--%s needs a value", name)
			}
			value, args = args[0], args[1:]
		}
		if err := f.value(value); err != nil {
			return nil, fmt.Errorf("--%s: %w", name, err)
		}
	}
	return args, nil
}

func notEmpty(v string) error {
	if v == "" {
		return errors.New("the value is empty")
	}
	return nil
}

func duration(v string) (time.Duration, error) {
	d, err := time.ParseDuration(v)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%s is no positive duration: write 500ms, 30s or 2m", strconv.Quote(v))
	}
	return d, nil
}

// tab gives TAB, a positive integer.
func tab(v string) (string, error) {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n <= 0 || v[0] == '+' {
		return "", fmt.Errorf("TAB must be a positive integer, not %s", strconv.Quote(v))
	}
	return strconv.FormatInt(n, 10), nil
}

func usage(cmd Command, err error) error {
	if errors.Is(err, errHelp) {
		return &HelpError{Command: cmd.Name}
	}
	e := &UsageError{Command: cmd.Name, Message: err.Error(), Hint: "usage: vant agent [--json] COMMAND [ARGUMENT]...\nsee \"vant agent --help\""}
	if cmd.Name != "" {
		e.Message = cmd.Name + ": " + e.Message
		e.Hint = strings.TrimRight("usage: vant agent "+cmd.Name+" "+cmd.Args, " ")
	}
	return e
}

func unknown(name string) error {
	e := &UsageError{
		Message: "unknown command " + strconv.Quote(name),
		Hint:    "see \"vant agent --help\"; a method's name has a dot in it, and \"vant agent call METHOD\" calls any",
	}
	var known []string
	for _, c := range commands {
		known = append(known, c.Name)
	}
	if near := wire.Nearest(name, known); near != "" {
		e.Hint = "did you mean \"vant agent " + near + "\"?"
	}
	return e
}
