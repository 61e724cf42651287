package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"regexp"
	"strings"
	"sync"
	"time"
)

const (
	clients = 32
	// failedPause is what a client waits after a failure, so that plugins that
	// are down do not take all the load.
	failedPause = 5 * time.Millisecond

	noReply     = "no_reply"
	wrongResult = "wrong_result"

	through = "through"
	hangUp  = "hang-up"
)

// load are the clients at work.
type load struct {
	socket  string
	clients []*loader
	wg      sync.WaitGroup
}

// loader is one client. What it counts is its own until it has ended.
type loader struct {
	socket   string
	rand     *rand.Rand
	latest   uint64 // event
	kinds    map[string]*kind
	failures []failure
}

// kind counts the calls of one kind.
type kind struct {
	calls int
	worst time.Duration
	codes map[string]int
}

func startLoad(ctx context.Context, socket string) *load {
	l := &load{socket: socket}
	for i := range clients {
		c := &loader{socket: socket, rand: rand.New(rand.NewPCG(uint64(i), 1)), kinds: map[string]*kind{}}
		l.clients = append(l.clients, c)
		l.wg.Go(func() {
			for ctx.Err() == nil {
				c.once(ctx)
			}
		})
	}
	return l
}

// wait waits until the last calls have ended, and counts all of them.
func (l *load) wait(t *tally) (failures []failure) {
	l.wg.Wait()
	for _, c := range l.clients {
		failures = append(failures, c.failures...)
		for name, k := range c.kinds {
			t.merge(name, k)
		}
	}
	return failures
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

var everyPlugin = append(append([]string(nil), faultyPlugins...), echoPlugins...)

// once makes one call.
func (c *loader) once(ctx context.Context) {
	switch n := c.rand.IntN(100); {
	case n < 8:
		c.call("status", nil, request("status", "{}"), nil)
	case n < 11:
		c.call("describe", nil, request("describe", "{}"), nil)
	case n < 16:
		c.poll()
	case n < 21:
		c.hangUp()
	case n < 26:
		method, params, plugin := c.echo()
		junk := pick(c.rand, []string{"\n", "\x00\xff", `{"version":1,"id":2,"method":"status"}` + "\n", strings.Repeat("junk", 20000)})
		c.call("junk behind", []string{plugin}, append(request(method, params), junk...), []byte(params))
	case n < 34:
		plugin := pick(c.rand, faultyPlugins)
		ms := 20 + c.rand.IntN(600)
		c.call("slow", []string{plugin}, request(plugin+".sleep", fmt.Sprintf(`{"ms":%d}`, ms)), []byte("true"))
	case n < 44:
		plugin := pick(c.rand, faultyPlugins)
		method, params, callee := c.echo()
		c.call(through, []string{plugin, callee}, request(plugin+".call", fmt.Sprintf(`{"method":%q,"params":%s}`, method, params)), []byte(params))
	case n < 46:
		plugin := pick(c.rand, faultyPlugins)
		c.call("large result", []string{plugin}, request(plugin+".big", `{"bytes":1048576}`), nil)
	default:
		method, params, plugin := c.echo()
		c.call("echo", []string{plugin}, request(method, params), []byte(params))
	}
	if n := len(c.failures); n > 0 && time.Since(c.failures[n-1].end) < failedPause {
		_ = pause(ctx, failedPause) // and then the loop ends
	}
}

// echo chooses an echo of some size.
func (c *loader) echo() (method, params, plugin string) {
	plugin = pick(c.rand, everyPlugin)
	method = plugin + ".echo"
	if strings.HasPrefix(plugin, "e") {
		method = plugin + ".text"
	}
	size := pick(c.rand, []int{8, 64, 64, 1024, 4096, 65536, 500_000})
	return method, `{"data":"` + strings.Repeat(pick(c.rand, []string{"a", "b", "c"}), size) + `"}`, plugin
}

// poll waits for events.
func (c *loader) poll() {
	line := request("events.since", fmt.Sprintf(`{"after":%d,"wait_ms":%d}`, c.latest, c.rand.IntN(300)))
	reply := c.call("events.since", nil, line, nil)
	var page struct{ Result struct{ Latest uint64 } }
	if json.Unmarshal(reply, &page) == nil {
		c.latest = page.Result.Latest
	}
}

// hangUp leaves before its answer. Whatever comes of it is nobody's.
func (c *loader) hangUp() {
	begun := time.Now()
	method, params, _ := c.echo()
	line := request(method, params)
	switch c.rand.IntN(4) {
	case 0:
		line = nil
	case 1:
		line = line[:len(line)/2]
	case 2:
		line = request(pick(c.rand, faultyPlugins)+".sleep", `{"ms":5000}`)
	}
	conn, err := net.Dial("unix", c.socket)
	if err != nil {
		c.count(hangUp, nil, begun, failure{code: noReply, message: err.Error()}, false)
		return
	}
	_, _ = conn.Write(line) // the host may have closed first
	time.Sleep(time.Duration(c.rand.IntN(5)) * time.Millisecond)
	_ = conn.Close()
	c.count(hangUp, nil, begun, failure{}, true)
}

// call makes a call and keeps its failure; want is the result, nil for any.
func (c *loader) call(name string, needs []string, line, want []byte) (reply []byte) {
	begun := time.Now()
	reply, err := exchange(c.socket, line)
	f, ok := readReply(name, reply, want)
	if err != nil {
		f, ok = failure{code: noReply, message: err.Error()}, false
	}
	c.count(name, needs, begun, f, ok)
	return reply
}

func (c *loader) count(name string, needs []string, begun time.Time, f failure, ok bool) {
	end := time.Now()
	k := c.kinds[name]
	if k == nil {
		k = &kind{codes: map[string]int{}}
		c.kinds[name] = k
	}
	k.calls++
	k.worst = max(k.worst, end.Sub(begun))
	if ok {
		return
	}
	k.codes[f.code]++
	f.kind, f.needs, f.begin, f.end = name, needs, begun, end
	c.failures = append(c.failures, f)
}

// answer is a reply line.
type answer struct {
	OK     bool
	Result json.RawMessage
	Error  struct {
		Code, Message string
		Data          struct {
			Plugin, State string
			RetryAfterMS  int `json:"retry_after_ms"`
		}
	}
}

var (
	// behind is the message of a plugin's internal_error that passes a failure
	// on that only the host may answer with.
	behind      = regexp.MustCompile(`^(plugin_unavailable|method_not_found): (.*)$`)
	unavailable = regexp.MustCompile(`^plugin (\S+) is (?:in )?([a-z]+)(: .*)?$`)
)

// readReply says whether a reply is the wanted result, and else what failed.
func readReply(name string, reply, want []byte) (f failure, ok bool) {
	var r answer
	if err := json.Unmarshal(reply, &r); err != nil || !bytes.HasSuffix(bytes.TrimSpace(reply), []byte("}")) {
		return failure{code: noReply, message: fmt.Sprintf("%v: %.100q", err, reply)}, false
	}
	if r.OK {
		if want != nil && !bytes.Equal(r.Result, want) {
			return failure{code: wrongResult}, false
		}
		return failure{}, true
	}
	f = failure{code: r.Error.Code, message: r.Error.Message, retry: r.Error.Data.RetryAfterMS > 0}
	if m := behind.FindStringSubmatch(f.message); m != nil && name == through && f.code == "internal_error" {
		f.code, f.message = m[1], m[2]
		f.retry = true // it was in the data that a plugin's error does not have
	}
	switch m := unavailable.FindStringSubmatch(f.message); {
	case f.code == "method_not_found":
		f.message = ""
	case f.code == "plugin_unavailable" && m != nil:
		f.plugin, f.state, f.lost = m[1], m[2], strings.Contains(m[3], "while the call ran")
		f.message = ""
	}
	if d := r.Error.Data; d.Plugin != "" { // else it came through another plugin
		f.plugin, f.state = d.Plugin, d.State
	}
	return f, false
}
