package sdk

import (
	stdjson "encoding/json"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// encodeOptions are encoding/json's rules but for three: nil slices are [],
// nil maps are {}, and <, > and & stay as they are.
var encodeOptions = json.JoinOptions(
	jsonv1.DefaultOptionsV1(),
	json.FormatNilSliceAsNull(false),
	json.FormatNilMapAsNull(false),
	jsontext.EscapeForHTML(false),
	jsontext.EscapeForJS(false),
	json.WithMarshalers(json.MarshalToFunc(writeNumber)),
)

// writeNumber: the library knows its own Number type only and would write this
// one as a string.
func writeNumber(e *jsontext.Encoder, n stdjson.Number) error {
	if n == "" {
		n = "0"
	}
	return e.WriteValue(jsontext.Value(n))
}

// encode gives v as compact JSON.
func encode(v any) ([]byte, error) {
	switch v := v.(type) {
	case stdjson.RawMessage:
		if len(v) == 0 {
			return []byte("null"), nil
		}
		if !stdjson.Valid(v) {
			return nil, errNotJSON
		}
		return v, nil
	case nil:
		return []byte("null"), nil
	}
	return json.Marshal(v, encodeOptions)
}
