package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

// maxInput bounds what is read from standard input or a file. It lies well
// above what a request may have, so that it is the host that says so.
const maxInput = 16 << 20

// builder makes a method's parameters from a command's arguments.
type builder struct {
	in   Input
	file string // --file
	tab  string // --tab, decimal
}

type build = func(b *builder, args []string) (string, []byte, error)

func plain(method string) build { return fixed(method, "{}") }

func fixed(method, params string) build {
	return func(*builder, []string) (string, []byte, error) { return method, []byte(params), nil }
}

// calls passes on an object of parameters.
func calls(method string) build {
	return func(b *builder, args []string) (string, []byte, error) {
		return b.call(append([]string{method}, args...))
	}
}

// tabOnly is for methods with more parameters than the command has: example is
// how they are given.
func tabOnly(method, example string) build {
	return func(_ *builder, args []string) (string, []byte, error) {
		if len(args) > 0 && strings.HasPrefix(strings.TrimSpace(args[0]), "{") {
			return "", nil, errors.New("TAB must be a positive integer; other parameters go to the method: " + example)
		}
		var o object
		return o.done(method, o.tab(args, 0))
	}
}

func (*builder) open(args []string) (string, []byte, error) {
	var o object
	return o.done("browser.navigate", o.text("uri", args[0]), o.tab(args, 1))
}

func (*builder) click(args []string) (string, []byte, error) {
	var o object
	return o.done("page.interact", o.element(args[0]), o.text("action", "click"), o.tab(args, 1))
}

func (*builder) fill(args []string) (string, []byte, error) {
	var o object
	return o.done("page.interact", o.element(args[0]), o.text("action", "fill"), o.text("value", args[1]), o.tab(args, 2))
}

func (*builder) fetch(args []string) (string, []byte, error) {
	var o object
	err := o.text("url", args[0])
	if err == nil && len(args) > 1 {
		err = o.members([]byte(args[1]), "url")
	}
	return o.done("net.fetch", err)
}

func (b *builder) call(args []string) (string, []byte, error) {
	method := args[0]
	if method == "" {
		return "", nil, errors.New("METHOD is empty")
	}
	if !utf8.ValidString(method) {
		return "", nil, errors.New("METHOD is not valid UTF-8")
	}
	if len(args) < 2 {
		return method, []byte("{}"), nil
	}
	raw, err := b.argument(args[1])
	if err != nil {
		return "", nil, err
	}
	if err := checkObject(raw); err != nil {
		return "", nil, err
	}
	return method, raw, nil
}

func (b *builder) js(args []string) (string, []byte, error) {
	script, err := b.script(args)
	if err != nil {
		return "", nil, err
	}
	if strings.TrimSpace(script) == "" {
		return "", nil, errors.New("the script is empty")
	}
	var o object
	if err := o.text("script", script); err != nil {
		return "", nil, err
	}
	if b.tab != "" {
		o.raw("tab_id", b.tab)
	}
	return o.done("page.javascript")
}

func (b *builder) script(args []string) (string, error) {
	switch {
	case b.file != "" && len(args) > 0:
		return "", errors.New("give a script or --file, not both")
	case b.file != "" && b.file != "-":
		raw, err := b.read(b.file)
		return string(raw), err
	case b.file == "" && len(args) > 0 && args[0] != "-":
		return args[0], nil
	}
	raw, err := b.stdin()
	return string(raw), err
}

// argument gives the JSON that an argument stands for.
func (b *builder) argument(arg string) ([]byte, error) {
	switch {
	case arg == "-":
		return b.stdin()
	case strings.HasPrefix(arg, "@"):
		return b.read(arg[1:])
	}
	return []byte(arg), nil
}

func (b *builder) stdin() ([]byte, error) { return bounded(b.in.Stdin, "standard input") }

func (b *builder) read(name string) ([]byte, error) {
	f, err := b.in.ReadFile(name)
	if err != nil {
		var path *os.PathError
		if errors.As(err, &path) {
			err = path.Err
		}
		return nil, fmt.Errorf("cannot read %q: %w", name, err)
	}
	defer f.Close()
	return bounded(f, fmt.Sprintf("%q", name))
}

func bounded(r io.Reader, what string) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", what, err)
	}
	if len(raw) > maxInput {
		return nil, fmt.Errorf("%s has more than %d bytes", what, maxInput)
	}
	return raw, nil
}

// oneObject fits every method.
const oneObject = "parameters are one object, such as '{}' or '{\"name\":\"value\"}'"

// checkObject says whether raw is one JSON object. No message shows what it
// is: it may hold a secret.
func checkObject(raw []byte) error {
	trimmed := bytes.TrimLeft(raw, " \t\r\n")
	if !json.Valid(raw) {
		return errors.New("the JSON is not valid: " + oneObject)
	}
	if trimmed[0] != '{' {
		return errors.New("the JSON is no object: " + oneObject)
	}
	return nil
}

// object is a JSON object in the making.
type object struct{ b []byte }

func (o *object) raw(name, value string) {
	if o.b == nil {
		o.b = append(make([]byte, 0, 64+len(value)), '{')
	} else {
		o.b = append(o.b, ',')
	}
	o.b = append(appendString(o.b, name), ':')
	o.b = append(o.b, value...)
}

func (o *object) text(name, value string) error {
	if !utf8.ValidString(value) {
		return fmt.Errorf("%s is not valid UTF-8", strings.ToUpper(name))
	}
	o.raw(name, string(appendString(nil, value)))
	return nil
}

func (o *object) element(ref string) error {
	if strings.HasPrefix(ref, "@") {
		return o.text("ref", ref)
	}
	return o.text("selector", ref)
}

func (o *object) tab(args []string, at int) error {
	if at >= len(args) {
		return nil
	}
	id, err := tab(args[at])
	if err != nil {
		return err
	}
	o.raw("tab_id", id)
	return nil
}

// members adds the members of a JSON object, without those called but.
func (o *object) members(raw []byte, but string) error {
	if err := checkObject(raw); err != nil {
		return fmt.Errorf("OPTIONS_JSON: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		if name != but {
			o.raw(name.(string), string(value))
		}
	}
	return nil
}

// done gives the object, or the first error.
func (o *object) done(method string, errs ...error) (string, []byte, error) {
	for _, err := range errs {
		if err != nil {
			return "", nil, err
		}
	}
	if o.b == nil {
		return method, []byte("{}"), nil
	}
	return method, append(o.b, '}'), nil
}

// appendString appends s, which is valid UTF-8, as a JSON string.
func appendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0
	for i := range len(s) {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\r':
			dst = append(dst, '\\', 'r')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(append(dst, s[from:]...), '"')
}
