package router

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/vant-run/vant/host/internal/observe"
	"github.com/vant-run/vant/host/internal/supervise"
	"github.com/vant-run/vant/proto/envelope"
)

// Logs are the plugins' log lines.
type Logs interface {
	// Read gives the lines after a sequence number, at most limit; with none
	// there it waits for one. False: nobody has logged under this name.
	Read(ctx context.Context, plugin string, after uint64, limit int, wait time.Duration) (lines []observe.Line, dropped uint64, ok bool)
}

const (
	// restartBound bounds plugins.restart: every step of a start, and the
	// drain of what an exclusive plugin runs before it.
	restartBound = 60 * time.Second
	maxLogLimit  = 1000 // what a plugin's ring holds
	// noLogPause is how long plugins.logs waits for a plugin's very first line.
	noLogPause = time.Second
)

const (
	nameParam = `"name":{"type":"string","minLength":1,"description":"the plugin, as plugins.list names it"}`
	// rowResult is what a row of plugins.list and plugins.info have in common.
	rowResult = `"name":{"type":"string"},"version":{"type":"string"},
		"state":{"enum":["starting","ready","draining","backoff","quarantined","failed","refused","stopped"]},
		"reason":{"type":"string"},"file":{"type":"string"},"sha256":{"type":"string"},"pid":{"type":"integer"},
		"generation":{"type":"integer"},"uptime_ms":{"type":"integer"},"in_flight":{"type":"integer"},
		"calls":{"type":"integer"},"errors":{"type":"integer"},"p50_us":{"type":"integer"},"p99_us":{"type":"integer"},
		"restarts":{"type":"integer"}`
)

func (r *Router) pluginMethods() []definition {
	defs := []definition{{
		name: "plugins.list", summary: "The plugins with state, counts and why one does not run.",
		params:  "all:boolean?",
		schema:  `"all":{"type":"boolean","default":false,"description":"refused files too"}`,
		result:  `{"type":"array","items":{"type":"object","properties":{` + rowResult + `,"methods":{"type":"integer"}}}}`,
		returns: "object[]", readOnly: true, idempotent: true, run: r.pluginsList,
	}, {
		name: "plugins.info", summary: "All that the host knows of one plugin.",
		params: "name:string", schema: nameParam,
		result: `{"type":"object","properties":{` + rowResult + `,"limits":{"type":"object","properties":{
			"max_in_flight":{"type":"integer"},"max_queue":{"type":"integer"},
			"memory_max":{"type":"integer"},"memory_by":{"enum":["cgroup","sampling",""]},
			"cpu_weight":{"type":"integer"},"cpu_by":{"enum":["cgroup","nice",""]},
			"nofile":{"type":"integer"},"rss_bytes":{"type":"integer"}}}}}`,
		returns: "object", errors: "not_found", readOnly: true, idempotent: true, run: r.pluginsInfo,
	}, {
		name: "plugins.restart", summary: "Starts a new generation of a plugin and answers when it serves.",
		params:  "name:string now:boolean?",
		schema:  nameParam + `,"now":{"type":"boolean","default":false,"description":"do not wait for the calls of the old generation"}`,
		result:  `{"type":"object","required":["generation"],"properties":{"generation":{"type":"integer"}}}`,
		returns: "object", errors: "not_found plugin_unavailable", bound: restartBound, run: r.pluginsRestart,
	}, {
		name: "plugins.reset", summary: "Takes a plugin out of quarantine or failure and starts it again.",
		params: "name:string", schema: nameParam,
		result: emptyResult, returns: "boolean", errors: "not_found", idempotent: true,
		bound: envelope.DefaultTimeout, run: r.pluginsReset,
	}}
	if r.opt.Logs == nil {
		return defs
	}
	return append(defs, definition{
		name: "plugins.logs", summary: "A plugin's log lines after a sequence number; waits for one when asked to.",
		params: "name:string after:integer? limit:integer? wait_ms:integer?",
		schema: nameParam + `,"after":{"type":"integer","minimum":0,"default":0,"description":"the last seq that is known"},
			"limit":{"type":"integer","default":256,"x-vant-clamp":[1,1000]},
			"wait_ms":{"type":"integer","default":0,"x-vant-clamp":[0,25000],"description":"how long to wait when there is no line yet"}`,
		result: `{"type":"object","required":["lines","dropped"],"properties":{
			"lines":{"type":"array","items":{"type":"object","required":["seq","time","level","text"],"properties":{
				"seq":{"type":"integer"},"time":{"type":"string","format":"date-time"},
				"level":{"type":"string"},"text":{"type":"string"}}}},
			"dropped":{"type":"integer"}}}`,
		returns: "object", errors: "not_found", readOnly: true, idempotent: true,
		bound: maxPoll + 5*time.Second, run: r.pluginsLogs,
	})
}

// pluginsList answers plugins.list.
func (r *Router) pluginsList(_ context.Context, c *call) ([]byte, error) {
	var all bool
	if err := readArgs(c.params, func(name string, v arg) {
		if name == "all" {
			all = v.truth()
		}
	}); err != nil {
		return nil, err
	}
	rows := r.opt.Plugins.List(all)
	if rows == nil {
		rows = []supervise.Status{}
	}
	return encode(rows)
}

// pluginsInfo answers plugins.info.
func (r *Router) pluginsInfo(_ context.Context, c *call) ([]byte, error) {
	name, err := nameOf(c)
	if err != nil {
		return nil, err
	}
	info, ok := r.opt.Plugins.Info(name)
	if !ok {
		return nil, r.noPlugin(name)
	}
	info.MethodNames = present(info.MethodNames)
	if info.Failures == nil {
		info.Failures = map[string]uint64{}
	}
	info.Latency, info.Exits = present(info.Latency), present(info.Exits)
	return encode(info)
}

// pluginsRestart answers plugins.restart.
func (r *Router) pluginsRestart(ctx context.Context, c *call) ([]byte, error) {
	var name string
	var now bool
	if err := readArgs(c.params, func(member string, v arg) {
		switch member {
		case "name":
			name = v.text()
		case "now":
			now = v.truth()
		}
	}); err != nil {
		return nil, err
	}
	r.log.Info("asked to restart a plugin", "plugin", clipTo(name, 64), "now", now, "caller", c.from())
	generation, err := r.opt.Plugins.Restart(ctx, name, now)
	if err != nil {
		return nil, err
	}
	c.buf = append(c.buf[:0], `{"generation":`...)
	c.buf = strconv.AppendUint(c.buf, generation, 10)
	c.buf = append(c.buf, '}')
	return c.buf, nil
}

// pluginsReset answers plugins.reset.
func (r *Router) pluginsReset(ctx context.Context, c *call) ([]byte, error) {
	name, err := nameOf(c)
	if err != nil {
		return nil, err
	}
	r.log.Info("asked to reset a plugin", "plugin", clipTo(name, 64), "caller", c.from())
	if err := r.opt.Plugins.Reset(ctx, name); err != nil {
		return nil, err
	}
	return yes, nil
}

// pluginsLogs answers plugins.logs.
func (r *Router) pluginsLogs(ctx context.Context, c *call) ([]byte, error) {
	var (
		name  string
		after uint64
		limit = uint64(defaultLimit)
		wait  time.Duration
	)
	if err := readArgs(c.params, func(member string, v arg) {
		switch member {
		case "name":
			name = v.text()
		case "after":
			after = v.number()
		case "limit":
			limit = v.clamped(1, maxLogLimit)
		case "wait_ms":
			wait = v.millis(maxPoll)
		}
	}); err != nil {
		return nil, err
	}
	polling, end := r.poll(ctx)
	defer end()
	lines, dropped, ok := r.opt.Logs.Read(polling, name, after, int(limit), wait)
	if !ok {
		// A plugin that has not logged yet is no unknown one.
		if _, known := r.opt.Plugins.Info(name); !known {
			return nil, r.noPlugin(name)
		}
		// Nothing there can be waited on, and a follower that got an empty
		// page at once would come back at once.
		pause := time.NewTimer(min(wait, noLogPause))
		select {
		case <-pause.C:
		case <-polling.Done():
		}
		pause.Stop()
		lines, dropped, _ = r.opt.Logs.Read(polling, name, after, int(limit), 0)
	}
	if len(lines) == 0 && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if lines == nil {
		lines = []observe.Line{}
	}
	return encode(struct {
		Lines   []observe.Line `json:"lines"`
		Dropped uint64         `json:"dropped"`
	}{lines, dropped})
}

// noPlugin says that there is no such plugin, in the supervisor's words.
func (r *Router) noPlugin(name string) error {
	var names []string
	for _, s := range r.opt.Plugins.List(true) {
		names = append(names, s.Name)
	}
	return supervise.NotFound(name, names)
}

// nameOf reads the one parameter of a method that takes a name.
func nameOf(c *call) (name string, err error) {
	err = readArgs(c.params, func(member string, v arg) {
		if member == "name" {
			name = v.text()
		}
	})
	return name, err
}

// encode gives the compact JSON of a value for people and programs: < and > as
// they are.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
