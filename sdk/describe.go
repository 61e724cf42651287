package sdk

import (
	"encoding/json"
	"time"

	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

// describe gives the declaration as it travels.
func (p *Plugin) describe() *pluginv1.DescribeResponse {
	d := &pluginv1.DescribeResponse{
		Name: p.name, Version: clip(p.version), Summary: clip(p.summary),
		Namespaces: p.namespaces, Features: p.features,
		ConfigSchema: p.configSchema, Exclusive: p.exclusive,
		MaxInFlight: p.maxInFlight, ErrorCodes: p.errorCodes,
	}
	for _, m := range p.methods {
		d.Methods = append(d.Methods, &pluginv1.Method{
			Name: m.name, Summary: clip(m.summary),
			ParamsSchema: m.paramsSchema, ResultSchema: m.resultSchema,
			Examples: m.examples, Errors: m.errors,
			ReadOnly: m.readOnly, Idempotent: m.idempotent,
			TimeoutMs: uint32(m.timeout / time.Millisecond),
			Since:     clip(m.since), Deprecated: clip(m.deprecated),
		})
	}
	return d
}

// catalogue is what --describe prints.
type catalogue struct {
	Name         string            `json:"name"`
	Version      string            `json:"version"`
	Summary      string            `json:"summary"`
	Methods      []catalogueMethod `json:"methods"`
	Namespaces   []string          `json:"namespaces,omitempty"`
	Features     []string          `json:"features,omitempty"`
	ErrorCodes   []string          `json:"error_codes,omitempty"`
	Exclusive    bool              `json:"exclusive,omitempty"`
	MaxInFlight  uint32            `json:"max_in_flight,omitempty"`
	ConfigSchema json.RawMessage   `json:"config_schema,omitempty"`
}

type catalogueMethod struct {
	Name         string            `json:"name"`
	Summary      string            `json:"summary"`
	ParamsSchema json.RawMessage   `json:"params_schema,omitempty"`
	ResultSchema json.RawMessage   `json:"result_schema,omitempty"`
	Examples     []json.RawMessage `json:"examples,omitempty"`
	Errors       []string          `json:"errors,omitempty"`
	ReadOnly     bool              `json:"read_only,omitempty"`
	Idempotent   bool              `json:"idempotent,omitempty"`
	TimeoutMS    uint32            `json:"timeout_ms,omitempty"`
	Since        string            `json:"since,omitempty"`
	Deprecated   string            `json:"deprecated,omitempty"`
}

// catalogueJSON gives the declaration for people and scripts.
func (p *Plugin) catalogueJSON() ([]byte, error) {
	d := p.describe()
	c := catalogue{
		Name: d.Name, Version: d.Version, Summary: d.Summary,
		Methods:    make([]catalogueMethod, 0, len(d.Methods)),
		Namespaces: d.Namespaces, Features: d.Features, ErrorCodes: d.ErrorCodes,
		Exclusive: d.Exclusive, MaxInFlight: d.MaxInFlight, ConfigSchema: d.ConfigSchema,
	}
	for _, m := range d.Methods {
		x := catalogueMethod{
			Name: m.Name, Summary: m.Summary,
			ParamsSchema: m.ParamsSchema, ResultSchema: m.ResultSchema,
			Errors: m.Errors, ReadOnly: m.ReadOnly, Idempotent: m.Idempotent,
			TimeoutMS: m.TimeoutMs, Since: m.Since, Deprecated: m.Deprecated,
		}
		for _, e := range m.Examples {
			x.Examples = append(x.Examples, e)
		}
		c.Methods = append(c.Methods, x)
	}
	return json.MarshalIndent(c, "", "  ")
}
