package supervise

import (
	"bytes"
	"encoding/json"
	"regexp"
)

// secretName matches names whose values are not for eyes.
var secretName = regexp.MustCompile(`(?i)(secret|token|passw|passphrase|credential|cookie|auth|bearer|private|api_?key|(^|_)key$)`)

const hidden = "***"

// redact gives a plugin's config with its secrets hidden: everything below a
// name that sounds like one, and what the plugin's schema marks as writeOnly
// or with the format password. A config that cannot be read is hidden whole.
func redact(config, schema []byte) json.RawMessage {
	if len(bytes.TrimSpace(config)) == 0 {
		return json.RawMessage("{}")
	}
	dec := json.NewDecoder(bytes.NewReader(config))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return json.RawMessage(`"` + hidden + `"`)
	}
	var sch any
	if json.Unmarshal(schema, &sch) != nil {
		sch = nil
	}
	out, err := json.Marshal(hide(value, sch))
	if err != nil {
		return json.RawMessage(`"` + hidden + `"`)
	}
	return out
}

func hide(value, schema any) any {
	rules, _ := schema.(map[string]any)
	if rules["writeOnly"] == true || rules["format"] == "password" {
		return hidden
	}
	switch v := value.(type) {
	case map[string]any:
		props, _ := rules["properties"].(map[string]any)
		for name, member := range v {
			sub, known := props[name]
			if !known {
				sub = rules["additionalProperties"]
			}
			if _, flag := member.(bool); !flag && secretName.MatchString(name) {
				v[name] = hidden
			} else {
				v[name] = hide(member, sub)
			}
		}
	case []any:
		for i := range v {
			v[i] = hide(v[i], rules["items"])
		}
	}
	return value
}
