package plugintest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"google.golang.org/grpc/status"

	"github.com/vant-run/vant/internal/wire"
	"github.com/vant-run/vant/proto/envelope"
	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
	"github.com/vant-run/vant/sdk"
	"github.com/vant-run/vant/sdk/internal/inprocess"
)

// Options say how a plugin is run inside a test. The zero value is ready for
// use.
type Options struct {
	// Config is the plugin's section of the configuration, as JSON; "" is {}.
	Config string
	// Answers stand in for other plugins' methods, by name: what sdk.Call gets.
	// A method that is not here is method_not_found.
	Answers map[string]func(ctx context.Context, params json.RawMessage) (any, error)
	// Dir is the folder below which the plugin's state, cache and data folders are;
	// "" is one of its own. A second run with the same one goes on where the first
	// one stopped.
	Dir string
	// LogLevel is trace, debug, info, warn or error; "" is info. Lines go to the
	// test's log.
	LogLevel string
}

// Event is one event that the plugin published.
type Event struct {
	Type string
	Data json.RawMessage
}

// Session is a plugin that runs inside the test. Its methods may be called
// concurrently.
type Session struct {
	t       testing.TB
	server  pluginv1.PluginServer
	end     func()
	methods map[string]*checked
	own     map[string]bool // error codes of the plugin's own
	link    *hostLink
	log     *logWriter

	mu      sync.Mutex // guards the fields that follow
	events  []Event
	linked  uint64        // number of the last event that came by Link
	changed chan struct{} // closed and replaced when events grows
	nextID  uint64
	stopped bool
}

// checked is a method with the checks that a host makes.
type checked struct {
	params, result *wire.Schema
	timeout        time.Duration
}

// New runs the plugin until the test ends, or [Session.Stop] is called. It
// fails the test when a host would not run the plugin.
func New(t testing.TB, p *sdk.Plugin, options ...Options) *Session {
	t.Helper()
	var o Options
	if len(options) > 0 {
		o = options[0]
	}
	s, err := start(t, p, o)
	if err != nil {
		t.Fatalf("plugintest: %v", err)
	}
	t.Cleanup(s.Stop)
	return s
}

// Start is New for tests about plugins that refuse to start: it returns the
// reason that an operator would see.
func Start(t testing.TB, p *sdk.Plugin, o Options) (*Session, error) {
	t.Helper()
	s, err := start(t, p, o)
	if err != nil {
		return nil, err
	}
	t.Cleanup(s.Stop)
	return s, nil
}

func start(t testing.TB, p *sdk.Plugin, o Options) (*Session, error) {
	level := hclog.LevelFromString(o.LogLevel)
	if level == hclog.NoLevel {
		level = hclog.Info
	}
	lines := &logWriter{t: t}
	log := hclog.New(&hclog.LoggerOptions{Name: p.Name(), Level: level, Output: lines, DisableTime: true})
	s := &Session{
		t: t, log: lines,
		methods: make(map[string]*checked), own: make(map[string]bool),
		changed: make(chan struct{}),
	}
	s.server, s.end = p.InProcess(inprocess.Open(), log)
	d, err := s.server.Describe(t.Context(), &pluginv1.DescribeRequest{HostVersion: "plugintest"})
	if err != nil {
		return nil, fmt.Errorf("describe: %w", err)
	}
	if err := s.learn(d); err != nil {
		return nil, err
	}
	if err := s.configure(d, o, level); err != nil {
		s.drain()
		s.end()
		lines.close()
		return nil, err
	}
	s.link = openLink(s.server, o.Answers, func(e *pluginv1.Event, number uint64) { s.record(number, e) })
	return s, nil
}

func (s *Session) learn(d *pluginv1.DescribeResponse) error {
	for _, c := range d.GetErrorCodes() {
		s.own[c] = true
	}
	for _, m := range d.GetMethods() {
		c := &checked{timeout: time.Duration(m.GetTimeoutMs()) * time.Millisecond}
		if c.timeout == 0 {
			c.timeout = envelope.DefaultTimeout
		}
		var err error
		if c.params, err = compile(m.GetParamsSchema()); err != nil {
			return fmt.Errorf("%s: parameter schema: %w", m.GetName(), err)
		}
		if c.result, err = compile(m.GetResultSchema()); err != nil {
			return fmt.Errorf("%s: result schema: %w", m.GetName(), err)
		}
		for i, e := range m.GetExamples() {
			r, err := c.params.Check(e)
			if err != nil {
				return fmt.Errorf("%s: example %d: %w", m.GetName(), i+1, err)
			}
			if r.Violation != nil {
				return fmt.Errorf("%s: example %d: %w", m.GetName(), i+1, r.Violation)
			}
		}
		s.methods[m.GetName()] = c
	}
	return nil
}

func (s *Session) configure(d *pluginv1.DescribeResponse, o Options, level hclog.Level) error {
	config := []byte(o.Config)
	if len(config) == 0 {
		config = []byte("{}")
	}
	schema, err := compile(d.GetConfigSchema())
	if err != nil {
		return fmt.Errorf("config schema: %w", err)
	}
	r, err := schema.Check(config)
	if err != nil {
		return fmt.Errorf("config: %w", err)
	}
	if r.Violation != nil {
		return fmt.Errorf("config: %w", r.Violation)
	}
	if o.Dir == "" {
		o.Dir = s.t.TempDir()
	}
	folders := make([]string, 3)
	for i, name := range []string{"state", "cache", "data"} {
		folders[i] = filepath.Join(o.Dir, name)
		if err := os.MkdirAll(folders[i], 0o700); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), 5*time.Second)
	defer cancel()
	_, err = s.server.Configure(ctx, &pluginv1.ConfigureRequest{
		Config: config, LogLevel: level.String(), Generation: 1,
		StateDir: folders[0], CacheDir: folders[1], DataDir: folders[2],
	})
	if err != nil {
		return errors.New(status.Convert(err).Message())
	}
	return nil
}

// compile makes a checker as the host does.
func compile(schema []byte) (*wire.Schema, error) {
	if len(schema) == 0 {
		schema = []byte("true")
	}
	return wire.Compile(schema, full)
}

// full checks with a library what the one-pass checker does not know.
func full(schema []byte) (func([]byte) *wire.Violation, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{}) // loads nothing from anywhere
	if err := c.AddResource("vant:schema", doc); err != nil {
		return nil, err
	}
	compiled, err := c.Compile("vant:schema")
	if err != nil {
		return nil, err
	}
	return func(value []byte) *wire.Violation {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
		if err == nil {
			err = compiled.Validate(v)
		}
		if err != nil {
			return &wire.Violation{Message: "does not match the schema"}
		}
		return nil
	}, nil
}

// Call runs a method as a client would: parameters are checked first, the
// method's bound holds, the result is checked against its schema and decoded
// into result unless that is nil. A failure is an *sdk.Error. params is a value
// with the JSON form of an object, a json.RawMessage, or nil for {}.
func (s *Session) Call(ctx context.Context, method string, params, result any) error {
	text, err := marshal(params)
	if err != nil {
		return fmt.Errorf("plugintest: parameters of %s: %w", method, err)
	}
	out, err := s.CallRaw(ctx, method, text)
	if err != nil || result == nil {
		return err
	}
	r := json.NewDecoder(bytes.NewReader(out))
	r.UseNumber()
	if err := r.Decode(result); err != nil {
		return fmt.Errorf("plugintest: result of %s: %w", method, err)
	}
	return nil
}

// CallRaw is Call with JSON texts.
func (s *Session) CallRaw(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	m := s.methods[method]
	if m == nil {
		return nil, sdk.Errorf(string(envelope.MethodNotFound), "the plugin has no method %s", method)
	}
	r, err := m.params.Check(params)
	if err != nil {
		return nil, sdk.Errorf(string(envelope.InvalidRequest), "%w", err)
	}
	if v := r.Violation; v != nil {
		code := envelope.InvalidParams
		if v.Type {
			code = envelope.InvalidParamType
		}
		return nil, sdk.Errorf(string(code), "%w", v).From(sdk.Caller)
	}
	ctx, cancel := context.WithTimeout(ctx, m.timeout)
	defer cancel()
	s.mu.Lock()
	s.nextID++
	id := s.nextID
	s.mu.Unlock()
	out, err := s.server.Invoke(ctx, &pluginv1.InvokeRequest{
		Method: method, Params: params,
		Context: &pluginv1.CallContext{CallId: id, RequestId: fmt.Sprintf(`"t%d"`, id), Caller: "agent:test"},
	})
	if err != nil {
		return nil, sdk.Errorf(string(envelope.PluginUnavailable), "%w", err)
	}
	s.await(ctx, out.GetLinkEvents())
	s.record(0, out.GetEvents()...)
	if e := out.GetError(); e != nil {
		return nil, asError(e)
	}
	if r, err = m.result.Check(out.GetResult()); err != nil {
		return nil, sdk.Errorf(string(envelope.InternalError), "the result of %s is not JSON: %w", method, err)
	}
	if r.Violation != nil {
		s.t.Errorf("plugintest: the result of %s does not match its schema: %v", method, r.Violation)
	}
	return out.GetResult(), nil
}

// Events lists what the plugin has published so far.
func (s *Session) Events() []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Event(nil), s.events...)
}

// WaitEvent waits for an event of the type, past ones included.
func (s *Session) WaitEvent(ctx context.Context, typ string) (Event, error) {
	for from := 0; ; {
		s.mu.Lock()
		list, changed := s.events, s.changed
		s.mu.Unlock()
		for ; from < len(list); from++ {
			if list[from].Type == typ {
				return list[from], nil
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Event{}, fmt.Errorf("no event %s: %w", typ, ctx.Err())
		}
	}
}

// await waits for the event of that number on Link, as a host does.
func (s *Session) await(ctx context.Context, number uint64) {
	for {
		s.mu.Lock()
		linked, changed := s.linked, s.changed
		s.mu.Unlock()
		if number <= linked {
			return
		}
		select {
		case <-changed:
		case <-s.link.done:
			return
		case <-ctx.Done():
			return
		}
	}
}

// record notes events; number is that of one which came by Link, else 0.
func (s *Session) record(number uint64, events ...*pluginv1.Event) {
	if len(events) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.linked = max(s.linked, number)
	for _, e := range events {
		data := json.RawMessage(e.GetData())
		if len(data) == 0 {
			data = json.RawMessage("{}")
		}
		s.events = append(s.events, Event{Type: e.GetType(), Data: data})
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// Log gives what the plugin has logged so far.
func (s *Session) Log() string { return s.log.text() }

// Stop drains the plugin as a host does: running calls end, stop hooks run.
func (s *Session) Stop() {
	s.mu.Lock()
	stopped := s.stopped
	s.stopped = true
	s.mu.Unlock()
	if stopped {
		return
	}
	s.drain()
	s.end()
	s.link.close()
	s.log.close()
}

func (s *Session) drain() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if _, err := s.server.Drain(ctx, &pluginv1.DrainRequest{TimeoutMs: 5000}); err != nil {
		s.t.Errorf("plugintest: drain: %v", err)
	}
}

func asError(e *pluginv1.Error) *sdk.Error {
	out := &sdk.Error{Code: e.GetCode(), Message: e.GetMessage()}
	if len(e.GetData()) > 0 {
		out.Data = json.RawMessage(e.GetData())
	}
	switch e.GetSource() {
	case pluginv1.Source_SOURCE_CALLER:
		out.Source = sdk.Caller
	case pluginv1.Source_SOURCE_PLUGIN:
		out.Source = sdk.Fault
	case pluginv1.Source_SOURCE_DOWNSTREAM:
		out.Source = sdk.Downstream
	}
	return out
}

func marshal(params any) (json.RawMessage, error) {
	switch p := params.(type) {
	case nil:
		return json.RawMessage("{}"), nil
	case json.RawMessage:
		return p, nil
	}
	return json.Marshal(params)
}
