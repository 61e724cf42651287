package envelope

import (
	"errors"
	"strconv"

	"github.com/vant-run/vant/internal/wire"
)

// Request is a decoded request line. Its byte slices alias the line and are
// valid as long as that is not modified.
type Request struct {
	// ID is the id as it came, raw JSON; `""` when it could not be read.
	ID []byte
	// Method is never empty when decoding succeeded.
	Method string
	// Params is a JSON object; `{}` when none came.
	Params []byte
	// Report is what the method's schema says of Params; zero when no schema
	// was given.
	Report wire.Report
}

// Lookup finds what a request line is decoded with. Name is the method's name
// as the caller keeps it, which saves a copy of it; "" makes Decode copy the
// bytes. Params is the schema of the parameters, nil for none. The bytes are
// valid during the call only.
type Lookup func(method []byte) (name string, params *wire.Schema)

var (
	noID     = []byte(`""`)
	noParams = []byte(`{}`)
)

// Decode reads a request line, with or without its newline. When it fails, the
// request still has the id if that stood before the fault. A part of a line
// that is too long may be given too, for its id.
func Decode(line []byte) (Request, *Error) { return DecodeChecked(line, nil) }

// DecodeChecked is Decode with a check of the parameters in the same pass when
// "method" stands before "params", else in a second one. Broken parameters are
// no error here: Request.Report has them. Lookup is called at most once.
func DecodeChecked(line []byte, lookup Lookup) (Request, *Error) {
	d := decoder{req: Request{ID: noID, Params: noParams}, lookup: lookup}
	err := wire.ScanObject(line, d.want, d.got)
	if err != nil {
		return d.req, syntaxError(line, err)
	}
	if e := d.finish(); e != nil {
		return d.req, e
	}
	return d.req, nil
}

// decoder gathers the members of one request.
type decoder struct {
	req     Request
	lookup  Lookup
	schema  *wire.Schema
	looked  bool // lookup was called
	checked bool // params were scanned with schema

	id, version, method, params member
}

// member says how a member of the envelope came.
type member struct {
	kind wire.Kind
	ok   bool // has the form that the protocol asks for
}

func (d *decoder) want(name []byte) *wire.Schema {
	if d.looked && d.schema != nil && string(name) == "params" {
		d.checked = true
		return d.schema
	}
	return nil
}

func (d *decoder) got(m wire.Member) error {
	switch string(m.Name) {
	case "version":
		d.version = member{m.Kind, m.Kind == wire.Number && isOne(m.Value)}
	case "id":
		d.id.kind = m.Kind
		if m.Kind == wire.Number && len(m.Value) <= MaxIDBytes ||
			m.Kind == wire.String && wire.UnquotedLen(m.Value) <= MaxIDBytes {
			d.id.ok = true
			d.req.ID = m.Value
		}
	case "method":
		d.method = member{m.Kind, m.Kind == wire.String && len(m.Value) > 2}
		if d.method.ok {
			d.find(m.Value)
		}
	case "params":
		d.params.kind = m.Kind
		if m.Kind == wire.Object {
			d.req.Params = m.Value
			d.req.Report = m.Report
		}
	}
	return nil
}

// find resolves the method of a raw string.
func (d *decoder) find(raw []byte) {
	d.looked = true
	inner := raw[1 : len(raw)-1]
	if !wire.Plain(raw) {
		s, _ := wire.Unquote(raw)
		inner = []byte(s)
	}
	if d.lookup != nil {
		d.req.Method, d.schema = d.lookup(inner)
	}
	if d.req.Method == "" {
		d.req.Method = string(inner)
	}
}

// finish checks what a well-formed line holds.
func (d *decoder) finish() *Error {
	switch {
	case d.id.kind == wire.Invalid:
		return invalid(`missing "id": a string or a number`)
	case !d.id.ok && (d.id.kind == wire.String || d.id.kind == wire.Number):
		return invalid(`"id" is longer than ` + strconv.Itoa(MaxIDBytes) + ` bytes`)
	case !d.id.ok:
		return invalid(`"id" must be a string or a number`)
	case d.version.kind == wire.Invalid:
		return invalid(`missing "version"; this host speaks version 1`)
	case !d.version.ok:
		return invalid(`"version" is not one that this host speaks; it speaks version 1`)
	case d.method.kind == wire.Invalid:
		return invalid(`missing "method": a string`)
	case !d.method.ok:
		return invalid(`"method" must be a string that is not empty`)
	}
	switch d.params.kind {
	case wire.Invalid, wire.Null, wire.Object:
	default:
		return invalid(`"params" must be an object`)
	}
	if d.schema != nil && (!d.checked || d.params.kind != wire.Object) {
		rep, err := d.schema.Check(d.req.Params)
		if err != nil {
			return syntaxError(nil, err)
		}
		d.req.Report = rep
	}
	return nil
}

// isOne says whether a JSON number is the integer 1.
func isOne(raw []byte) bool {
	return string(raw) == "1" || wire.CompareNumbers(raw, []byte("1")) == 0
}

func invalid(message string) *Error { return &Error{Code: InvalidRequest, Message: message} }

// syntaxError says what is wrong with a line that is no request at all.
func syntaxError(line []byte, err error) *Error {
	if blank(line) {
		return invalid("empty line: a request is one JSON object on one line")
	}
	if LooksLikeHTTP(line) {
		return ErrHTTP()
	}
	var syn *wire.SyntaxError
	if errors.As(err, &syn) {
		return invalid("not a request: " + syn.Error())
	}
	return invalid("not a request: " + err.Error())
}

func blank(line []byte) bool {
	for _, c := range line {
		switch c {
		case ' ', '\t', '\r', '\n':
		default:
			return false
		}
	}
	return true
}
