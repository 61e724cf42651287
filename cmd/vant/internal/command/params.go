package command

import "encoding/json"

// object holds a method's parameters.
type object map[string]any

// raw gives the JSON of an object; the values that commands put in always have
// one.
func (o object) raw() json.RawMessage {
	if len(o) == 0 {
		return nil
	}
	raw, err := json.Marshal(o)
	if err != nil {
		panic("parameters without a JSON form: " + err.Error())
	}
	return raw
}
