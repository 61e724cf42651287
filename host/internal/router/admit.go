package router

import (
	"bytes"
	"context"
	"strconv"

	"github.com/vant-run/vant/internal/wire"
	"github.com/vant-run/vant/proto/envelope"
)

// admit checks what the envelope's decoder has checked for Serve.
func (r *Router) admit(ctx context.Context, c *call, params []byte) (result, theme []byte, failed *envelope.Error) {
	if c.method == "" {
		return nil, nil, invalid("the method is missing")
	}
	if !validID(c.id) {
		return nil, nil, invalid("the id must be a JSON string or number of at most " + strconv.Itoa(envelope.MaxIDBytes) + " bytes")
	}
	if c.depth > MaxCallDepth {
		return nil, nil, tooDeep()
	}
	if !traceParent(c.trace) {
		c.trace = "" // the standard's rule for one that cannot be read
	}
	if len(params) > r.opt.Limits.RequestBytes {
		return nil, nil, envelope.ErrTooLarge()
	}
	if params = bytes.TrimSpace(params); len(params) > 0 && string(params) != "null" {
		if params[0] != '{' {
			return nil, nil, invalid("params must be an object")
		}
		c.params = params
	}
	c.entry = c.table.entries[c.method]
	if c.entry == nil { // the check with a schema, which covers this, may never come
		if err := wire.Check(c.params); err != nil {
			return nil, nil, invalid("params: " + err.Error())
		}
	}
	return r.answer(ctx, c)
}

// validID says whether a caller's id is what the envelope takes, or none.
func validID(id []byte) bool {
	if len(id) == 0 {
		return true
	}
	if len(id) > 6*envelope.MaxIDBytes+2 { // each byte may be written as \u0041
		return false
	}
	if compact, err := wire.Valid(id); err != nil || !compact {
		return false
	}
	if id[0] == '"' {
		return wire.UnquotedLen(id) <= envelope.MaxIDBytes
	}
	return len(id) <= envelope.MaxIDBytes && (id[0] == '-' || id[0] >= '0' && id[0] <= '9')
}

// traceParent says whether s has the form of a W3C traceparent, or is none:
// version, trace id, parent id and flags, and of a later version maybe more.
func traceParent(s string) bool {
	const length = 55
	if s == "" {
		return true
	}
	if len(s) < length || len(s) > 2*length || len(s) > length && (s[length] != '-' || s[:2] == "00") || s[:2] == "ff" {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case i == 2 || i == 35 || i == 52:
			if c != '-' {
				return false
			}
		case i >= length:
			if c <= ' ' || c > '~' {
				return false
			}
		case (c < '0' || c > '9') && (c < 'a' || c > 'f'):
			return false
		}
	}
	return true
}
