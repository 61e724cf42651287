package method

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/vant-run/vant/internal/wire"
	"github.com/vant-run/vant/proto/envelope"
	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

// Limits of a description.
const (
	MaxMethods      = 512
	MaxNameBytes    = 128     // of a method's name
	MaxDescription  = 8 << 20 // bytes of the whole description
	maxVersionBytes = 64
	maxTextBytes    = 2048 // of a summary
	maxWordBytes    = 256  // of since and deprecated
	maxNamespaces   = 64
	maxFeatures     = 128
	maxCodes        = 128
	maxExamples     = 16
	maxExampleBytes = 64 << 10
	maxInFlight     = 4096
)

var (
	pluginName    = onUse(`^[a-z][a-z0-9-]{0,31}$`)
	methodName    = onUse(`^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$`)
	namespaceName = onUse(`^[a-z][a-z0-9_]{0,63}$`)
	featureName   = onUse(`^[a-z0-9][a-z0-9._-]{0,63}$`)
	codeName      = onUse(`^[a-z][a-z0-9_]{1,63}$`)
)

// pattern is a regular expression that is compiled when it is first used, so
// that the start of a host does not wait for it.
type pattern func() *regexp.Regexp

func onUse(text string) pattern {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// MatchString and String are those of the expression.
func (p pattern) MatchString(s string) bool { return p().MatchString(s) }
func (p pattern) String() string            { return p().String() }

// builtins are the names that the host itself answers; so does it everything
// in its namespaces.
var (
	builtins         = []string{"status", "version", "capabilities", "describe"}
	hostedNamespaces = []string{"events", "host", "plugins"}
)

// Builtin says whether a method's name is the host's own.
func Builtin(name string) bool {
	first, _, dotted := strings.Cut(name, ".")
	return slices.Contains(builtins, name) || dotted && slices.Contains(hostedNamespaces, first)
}

func parse(d *pluginv1.DescribeResponse) (*Set, error) {
	if d == nil {
		return nil, errors.New("the description is missing")
	}
	if n := proto.Size(d); n > MaxDescription {
		return nil, fmt.Errorf("the description has %d bytes; %d are allowed", n, MaxDescription)
	}
	s := &Set{
		Name: d.GetName(), Version: d.GetVersion(), Summary: d.GetSummary(),
		Exclusive: d.GetExclusive(), MaxInFlight: int(d.GetMaxInFlight()),
	}
	if !pluginName.MatchString(s.Name) {
		return nil, fmt.Errorf("name %s does not match %s", wire.Quote(s.Name), pluginName)
	}
	if err := errors.Join(
		text("version", s.Version, maxVersionBytes),
		text("summary", s.Summary, maxTextBytes),
	); err != nil {
		return nil, err
	}
	if s.Version == "" {
		return nil, errors.New("version is empty")
	}
	if d.GetMaxInFlight() > maxInFlight {
		return nil, fmt.Errorf("max_in_flight is %d; at most %d are allowed", d.GetMaxInFlight(), maxInFlight)
	}
	var err error
	if s.ErrorCodes, err = errorCodes(d.GetErrorCodes()); err != nil {
		return nil, err
	}
	if s.Features, err = words("features", d.GetFeatures(), featureName, maxFeatures); err != nil {
		return nil, err
	}
	if len(d.GetConfigSchema()) > 0 {
		c, err := compileSchema(d.GetConfigSchema(), true)
		if err != nil {
			return nil, fmt.Errorf("config_schema: %w", err)
		}
		s.ConfigSchema = c.text
	}
	if s.Methods, err = methods(d.GetMethods(), s.ErrorCodes); err != nil {
		return nil, err
	}
	if s.Namespaces, err = namespaces(d.GetNamespaces(), s.Methods); err != nil {
		return nil, err
	}
	return s, nil
}

// text checks what people read.
func text(field, s string, limit int) error {
	if len(s) > limit {
		return fmt.Errorf("%s has %d bytes; %d are allowed", field, len(s), limit)
	}
	if !utf8.ValidString(s) {
		return fmt.Errorf("%s is not valid UTF-8", field)
	}
	if strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
		return fmt.Errorf("%s has control characters", field)
	}
	return nil
}

// words checks a list of names and gives it sorted, each once.
func words(field string, list []string, form pattern, limit int) ([]string, error) {
	if len(list) > limit {
		return nil, fmt.Errorf("%s has %d entries; %d are allowed", field, len(list), limit)
	}
	for _, w := range list {
		if !form.MatchString(w) {
			return nil, fmt.Errorf("%s: %s does not match %s", field, wire.Quote(w), form)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(list))), nil
}

func errorCodes(list []string) (map[string]bool, error) {
	list, err := words("error_codes", list, codeName, maxCodes)
	if err != nil {
		return nil, err
	}
	codes := make(map[string]bool, len(list))
	for _, c := range list {
		if envelope.Reserved(c) {
			return nil, fmt.Errorf("error_codes: %q is the host's own", c)
		}
		codes[c] = true
	}
	return codes, nil
}

func namespaces(list []string, methods []*Method) ([]string, error) {
	list, err := words("namespaces", list, namespaceName, maxNamespaces)
	if err != nil {
		return nil, err
	}
	for _, n := range list {
		if slices.Contains(hostedNamespaces, n) {
			return nil, fmt.Errorf("namespaces: %q is the host's own", n)
		}
	}
	if len(list) > 0 {
		return list, nil
	}
	for _, m := range methods {
		first, _, _ := strings.Cut(m.Name, ".")
		list = append(list, first)
	}
	return slices.Compact(list), nil
}

// methods checks all methods and gives them sorted by name.
func methods(list []*pluginv1.Method, own map[string]bool) ([]*Method, error) {
	if len(list) > MaxMethods {
		return nil, fmt.Errorf("the description has %d methods; %d are allowed", len(list), MaxMethods)
	}
	out := make([]*Method, 0, len(list))
	seen := make(map[string]bool, len(list))
	for i, d := range list {
		if d == nil {
			return nil, fmt.Errorf("method %d of the list is empty", i+1)
		}
		name := d.GetName()
		switch {
		case len(name) > MaxNameBytes:
			return nil, fmt.Errorf("method %s: the name has %d bytes; %d are allowed", wire.Quote(name), len(name), MaxNameBytes)
		case Builtin(name):
			return nil, fmt.Errorf("method %q: the name is the host's own", name)
		case !methodName.MatchString(name):
			return nil, fmt.Errorf("method %s: the name does not match %s", wire.Quote(name), methodName)
		case seen[name]:
			return nil, fmt.Errorf("method %q stands twice in the list", name)
		}
		seen[name] = true
		m, err := newMethod(d, own)
		if err != nil {
			return nil, fmt.Errorf("method %q: %w", name, err)
		}
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b *Method) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

func newMethod(d *pluginv1.Method, own map[string]bool) (*Method, error) {
	m := &Method{
		Name: d.GetName(), Summary: d.GetSummary(), ReadOnly: d.GetReadOnly(), Idempotent: d.GetIdempotent(),
		Since: d.GetSince(), Deprecated: d.GetDeprecated(),
	}
	if err := errors.Join(
		text("summary", m.Summary, maxTextBytes),
		text("since", m.Since, maxWordBytes),
		text("deprecated", m.Deprecated, maxWordBytes),
	); err != nil {
		return nil, err
	}
	var err error
	if m.Errors, err = words("errors", d.GetErrors(), codeName, maxCodes); err != nil {
		return nil, err
	}
	for _, c := range m.Errors {
		if !own[c] && !envelope.Code(c).Known() {
			return nil, fmt.Errorf("errors: %q is neither the protocol's nor in error_codes", c)
		}
	}
	params, err := compileSchema(orElse(d.GetParamsSchema(), `{"type":"object"}`), true)
	if err != nil {
		return nil, fmt.Errorf("params_schema: %w", err)
	}
	result, err := compileSchema(orElse(d.GetResultSchema(), `{}`), false)
	if err != nil {
		return nil, fmt.Errorf("result_schema: %w", err)
	}
	m.Params, m.ParamsSchema, m.ResultSchema = params.compiled, params.text, result.text
	m.ParamsShort, m.ReturnsShort = shortParams(params.doc, params.text), shortReturn(result.doc, result.text)
	if m.Timeout, err = timeout(d.GetTimeoutMs(), params.doc); err != nil {
		return nil, err
	}
	m.Examples, err = examples(d.GetExamples(), m.Params)
	return m, err
}

func orElse(schema []byte, other string) []byte {
	if len(schema) == 0 {
		return []byte(other)
	}
	return schema
}

// examples checks that each example would be taken, without a warning.
func examples(list [][]byte, params *wire.Schema) ([][]byte, error) {
	if len(list) > maxExamples {
		return nil, fmt.Errorf("there are %d examples; %d are allowed", len(list), maxExamples)
	}
	var out [][]byte
	for i, e := range list {
		if len(e) > maxExampleBytes {
			return nil, fmt.Errorf("example %d has %d bytes; %d are allowed", i+1, len(e), maxExampleBytes)
		}
		rep, err := params.Check(e)
		switch {
		case err != nil:
			return nil, fmt.Errorf("example %d is not JSON: %w", i+1, err)
		case rep.Violation != nil:
			return nil, fmt.Errorf("example %d does not conform to params_schema: %w", i+1, rep.Violation)
		case len(rep.Warnings) > 0:
			return nil, fmt.Errorf("example %d does not conform to params_schema: %s", i+1, rep.Warnings[0])
		}
		e = wire.AppendCompact(nil, e)
		if e[0] != '{' {
			return nil, fmt.Errorf("example %d is no object", i+1)
		}
		out = append(out, e)
	}
	return out, nil
}

// answerMargin is how much longer than its own wait a method may take, so that
// its answer comes before the host's timeout.
const answerMargin = 5 * time.Second

// timeout gives a method's bound: what the plugin asks for, else what its
// waiting parameters need, else the default.
func timeout(ms uint32, params any) (time.Duration, error) {
	if ms > 0 {
		d := time.Duration(ms) * time.Millisecond
		if d > envelope.MaxTimeout {
			return 0, fmt.Errorf("timeout_ms is %d; at most %d are allowed", ms, envelope.MaxTimeout.Milliseconds())
		}
		return d, nil
	}
	longest, found := longestWait(params)
	if !found {
		return envelope.DefaultTimeout, nil
	}
	most := (envelope.MaxTimeout - answerMargin).Milliseconds()
	if longest > most {
		return 0, fmt.Errorf("params_schema: a wait of up to %d ms is longer than %d, the most that a call can take", longest, most)
	}
	return time.Duration(longest)*time.Millisecond + answerMargin, nil
}
