package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"
)

// Redacted gives the configuration in force as indented JSON for people. The
// values of variables and of the plugins' own sections are hidden.
func (c *Config) Redacted() []byte {
	out, err := json.MarshalIndent(map[string]any{
		"file": c.File, "log": tagged(c.Log),
		"plugins": c.redactedPlugins(), "supervise": tagged(c.Supervise),
	}, "", "  ")
	if err != nil {
		return []byte(hidden) // better nothing than a part
	}
	return out
}

// Format writes the redacted form for every verb, so that no way of printing a
// Config shows a secret.
func (c Config) Format(f fmt.State, _ rune) {
	// What cannot be written to f is f's to report.
	_, _ = f.Write(c.Redacted())
}

func (c *Config) redactedPlugins() map[string]any {
	out := tagged(c.Plugins)
	for name, s := range c.Plugins.Sections {
		section := map[string]any{}
		if own, err := s.Config.MarshalJSON(); err == nil {
			// Hidden already; a fault leaves the section out.
			_ = json.Unmarshal(own, &section)
		}
		section["host"] = tagged(s.Host)
		out[name] = section
	}
	return out
}

// tagged gives a struct's set fields by their keys.
func tagged(v any) map[string]any {
	out := map[string]any{}
	rv := reflect.ValueOf(v)
	for key, f := range fieldsOf(rv.Type()).byKey {
		field := rv.FieldByIndex(f.Index)
		switch x := field.Interface().(type) {
		case time.Duration:
			if x != 0 {
				out[key] = x.String()
			}
		case Limits:
			out[key] = tagged(x)
		default:
			if !field.IsZero() {
				out[key] = x
			}
		}
	}
	return out
}
