package router

import (
	"context"
	"strings"
	"time"
)

// HostControl is what host.* works on.
type HostControl struct {
	// Stop begins to stop the host. It is called from a goroutine of its own
	// and may block. Drain is how long calls in flight may take to end;
	// negative: the host's own bound. Requests that have been answered must
	// still be written: the one that asked for the stop is among them.
	Stop func(drain time.Duration)
	// Reload reads the configuration again and answers when it is in force.
	Reload func(ctx context.Context) (Reloaded, error)
}

// Reloaded is the result of host.reload.
type Reloaded struct {
	Applied      []string `json:"applied"`       // keys
	NeedsRestart []string `json:"needs_restart"` // keys
	// Failed are the plugins that do not serve by it.
	Failed []RefusedFile `json:"failed"`
}

const (
	// reloadBound bounds host.reload.
	reloadBound = 60 * time.Second
	// maxDrain is the longest that host.stop lets calls run: `vant down` ends
	// within ten seconds.
	maxDrain = 5 * time.Second
)

const emptyResult = `{"const": true}`

func (r *Router) discoveryMethods() []definition {
	return []definition{{
		name: "status", summary: "Whether the host runs, since when, and how many plugins are ready.",
		result: `{"type":"object","required":["running","socket","pid","uptime_ms","connections","plugins"],"properties":{
			"running":{"const":true},"socket":{"type":"string"},"pid":{"type":"integer"},
			"uptime_ms":{"type":"integer"},"connections":{"type":"integer"},
			"plugins":{"type":"object","required":["ready","total"],
				"properties":{"ready":{"type":"integer"},"total":{"type":"integer"}}}}}`,
		returns: "object", readOnly: true, idempotent: true, run: r.statusOf,
	}, {
		name: "version", summary: "Versions of the protocol, the host and its plugins.",
		result: `{"type":"object","required":["protocol","vant","vantage","native","go","commit","plugins"],"properties":{
			"protocol":{"const":1},"vant":{"type":"string"},"vantage":{"type":"string"},"native":{"type":"string"},
			"go":{"type":"string"},"commit":{"type":"string"},
			"plugins":{"type":"object","additionalProperties":{"type":"string"}}}}`,
		returns: "object", readOnly: true, idempotent: true,
		run: func(_ context.Context, c *call) ([]byte, error) { return c.table.version, nil },
	}, {
		name: "capabilities", summary: "What can be called here: namespaces, features, limits and plugins.",
		result: `{"type":"object","required":["protocol","stability","namespaces","features","limits","plugins"],"properties":{
			"protocol":{"const":1},"stability":{"type":"string"},
			"namespaces":{"type":"array","items":{"type":"string"}},
			"features":{"type":"array","items":{"type":"string"}},
			"limits":{"type":"object","required":["request_bytes","result_bytes","operation_ms","connections"],"properties":{
				"request_bytes":{"type":"integer"},"result_bytes":{"type":"integer"},
				"operation_ms":{"type":"integer"},"connections":{"type":"integer"}}},
			"plugins":{"type":"array","items":{"type":"object","required":["name","version","state","namespaces"],"properties":{
				"name":{"type":"string"},"version":{"type":"string"},"state":{"type":"string"},
				"namespaces":{"type":"array","items":{"type":"string"}}}}}}}`,
		returns: "object", readOnly: true, idempotent: true,
		run: func(_ context.Context, c *call) ([]byte, error) { return c.table.capabilities, nil },
	}, {
		name: "describe", summary: "Every method with its schemas, bounds and plugin, or one of them.",
		params: "name:string?",
		schema: `"name":{"type":"string","description":"the method; empty for all"}`,
		result: `{"type":"object","additionalProperties":{"type":"object",
			"required":["summary","params","returns","params_schema","result_schema","errors","read_only","idempotent","timeout_ms","since","state","plugin"],
			"properties":{
				"summary":{"type":"string"},"params":{"type":"object"},"returns":{"type":"string"},
				"params_schema":{"type":["object","boolean"]},"result_schema":{"type":["object","boolean"]},
				"errors":{"type":"array","items":{"type":"string"}},
				"read_only":{"type":"boolean"},"idempotent":{"type":"boolean"},"timeout_ms":{"type":"integer"},
				"since":{"type":"string"},"deprecated":{"type":"string"},"state":{"type":"string"},
				"plugin":{"type":"object","required":["name","version","sha256","generation"],"properties":{
					"name":{"type":"string"},"version":{"type":"string"},
					"sha256":{"type":"string"},"generation":{"type":"integer"}}}}}}`,
		returns: "object", errors: "not_found", readOnly: true, idempotent: true, run: r.describe,
	}}
}

func (r *Router) eventMethods() []definition {
	return []definition{{
		name: "events.since", summary: "Events after a sequence number; waits for one when asked to.",
		params: "after:integer? limit:integer? wait_ms:integer? types:string[]?",
		schema: `"after":{"type":"integer","minimum":0,"default":0,"description":"the last sequence number that is known"},
			"limit":{"type":"integer","default":256,"x-vant-clamp":[1,1024]},
			"wait_ms":{"type":"integer","default":0,"x-vant-clamp":[0,25000],"description":"how long to wait when there is no event yet"},
			"types":{"type":"array","maxItems":64,"items":{"type":"string","minLength":1,"maxLength":128},"description":"prefixes of types: tab stands for tab.created and the like"}`,
		result: `{"type":"object","required":["latest","dropped","epoch","events"],"properties":{
			"latest":{"type":"integer"},"dropped":{"type":"integer"},"epoch":{"type":"string"},
			"events":{"type":"array","items":{"type":"object","required":["sequence","type","time","data"],"properties":{
				"sequence":{"type":"integer"},"type":{"type":"string"},"time":{"type":"string","format":"date-time"},
				"data":{"type":"object"}}}}}}`,
		returns: "object", readOnly: true, idempotent: true, bound: maxPoll + 5*time.Second, run: r.eventsSince,
	}, {
		name: "events.clear", summary: "Forgets all events and the count of dropped ones; sequence numbers go on.",
		result: emptyResult, returns: "boolean", idempotent: true, run: r.eventsClear,
	}}
}

func (r *Router) hostMethods() []definition {
	var defs []definition
	if r.opt.Host.Reload != nil {
		defs = append(defs, definition{
			name: "host.reload", summary: "Reads the configuration again and applies what can be applied live.",
			result: `{"type":"object","required":["applied","needs_restart","failed"],"properties":{
				"applied":{"type":"array","items":{"type":"string"}},
				"needs_restart":{"type":"array","items":{"type":"string"}},
				"failed":{"type":"array","items":{"type":"object","required":["file","reason"],"properties":{
					"name":{"type":"string"},"file":{"type":"string"},"reason":{"type":"string"}}}}}}`,
			returns: "object", errors: "invalid_params", idempotent: true, bound: reloadBound, run: r.reload,
		})
	}
	if r.opt.Host.Stop != nil {
		defs = append(defs, definition{
			name: "host.stop", summary: "Answers, then stops the host and its plugins.",
			params: "drain_ms:integer?",
			schema: `"drain_ms":{"type":"integer","x-vant-clamp":[0,5000],"description":"how long calls in flight may take to end"}`,
			result: emptyResult, returns: "boolean", idempotent: true, run: r.stop,
		})
	}
	return defs
}

// reload answers host.reload.
func (r *Router) reload(ctx context.Context, _ *call) ([]byte, error) {
	out, err := r.opt.Host.Reload(ctx)
	if err != nil {
		return nil, refused(ctx, err)
	}
	out.Applied, out.NeedsRestart, out.Failed = present(out.Applied), present(out.NeedsRestart), present(out.Failed)
	return encode(out)
}

// stop answers host.stop.
func (r *Router) stop(_ context.Context, c *call) ([]byte, error) {
	drain := time.Duration(-1)
	if err := readArgs(c.params, func(name string, v arg) {
		if name == "drain_ms" {
			drain = v.millis(maxDrain)
		}
	}); err != nil {
		return nil, err
	}
	r.log.Info("asked to stop", "caller", c.from())
	// Not in this goroutine: stopping waits for the requests in flight, and
	// this is one.
	go r.opt.Host.Stop(drain)
	return yes, nil
}

// namespace gives the first part of a dotted name.
func namespace(name string) (string, bool) {
	ns, _, dotted := strings.Cut(name, ".")
	return ns, dotted
}
