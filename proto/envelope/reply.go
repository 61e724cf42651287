package envelope

import (
	"encoding/json"
	"errors"

	"github.com/vant-run/vant/internal/wire"
)

// Reply is a decoded reply line. Its byte slices alias the line.
type Reply struct {
	ID       []byte // raw JSON
	OK       bool
	Result   json.RawMessage // when OK
	Error    *Error          // when not OK
	Warnings []string
}

// ParseReply reads a reply line, with or without its newline. Members that it
// does not know are ignored.
func ParseReply(line []byte) (Reply, error) {
	r := Reply{ID: noID}
	var ok, failure, version member
	err := wire.ScanObject(line, nil, func(m wire.Member) error {
		switch string(m.Name) {
		case "version":
			version = member{m.Kind, m.Kind == wire.Number && isOne(m.Value)}
		case "id":
			r.ID = m.Value
		case "ok":
			ok.kind = m.Kind
			r.OK = string(m.Value) == "true"
		case "result":
			r.Result = m.Value
		case "error":
			failure.kind = m.Kind
			if m.Kind == wire.Object {
				var e error
				r.Error, e = parseError(m.Value)
				return e
			}
		case "warnings":
			if m.Kind == wire.Array {
				// A warning of another type than text is no reason to lose the
				// result.
				_ = json.Unmarshal(m.Value, &r.Warnings)
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return Reply{}, errors.New("not a reply: " + err.Error())
	case version.kind != wire.Invalid && !version.ok:
		return Reply{}, errors.New("the reply has another protocol version than 1")
	case ok.kind != wire.Bool:
		return Reply{}, errors.New(`not a reply: "ok" is missing or no boolean`)
	case r.OK && r.Result == nil:
		r.Result = json.RawMessage("null")
	case !r.OK && r.Error == nil:
		return Reply{}, errors.New(`not a reply: "ok" is false and there is no "error" object`)
	}
	if r.OK {
		r.Error = nil
	} else {
		r.Result = nil
	}
	return r, nil
}

func parseError(raw []byte) (*Error, error) {
	e := &Error{}
	err := wire.ScanObject(raw, nil, func(m wire.Member) error {
		switch string(m.Name) {
		case "code":
			s, _ := wire.Unquote(m.Value)
			e.Code = Code(s)
		case "message":
			e.Message, _ = wire.Unquote(m.Value)
		case "data":
			e.Data = m.Value
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if e.Code == "" {
		return nil, errors.New(`the error has no "code"`)
	}
	return e, nil
}
