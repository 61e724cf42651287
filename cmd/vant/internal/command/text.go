package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/vant-run/vant/cmd/vant/internal/output"
)

// row is a row of plugins.list, as far as it is shown.
type row struct {
	Name       string `json:"name"`
	Version    string `json:"version"`
	State      string `json:"state"`
	Reason     string `json:"reason"`
	File       string `json:"file"`
	Pid        int    `json:"pid"`
	Generation uint64 `json:"generation"`
	UptimeMS   int64  `json:"uptime_ms"`
	Calls      uint64 `json:"calls"`
	Errors     uint64 `json:"errors"`
	P50US      int64  `json:"p50_us"`
	P99US      int64  `json:"p99_us"`
}

func (a *app) pluginTable(raw json.RawMessage) error {
	var list []row
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	if len(list) == 0 {
		return a.Stdout.Text("no plugins: \"vant doctor\" shows where the host looks for them")
	}
	cells := make([][]string, 0, len(list))
	for _, r := range list {
		line := []string{
			r.Name, dash(r.Version), r.State, number(r.Pid), number(r.Generation), "-",
			fmt.Sprint(r.Calls), fmt.Sprint(r.Errors), micros(r.P50US, r.Calls), micros(r.P99US, r.Calls), r.Reason,
		}
		if r.Pid > 0 {
			line[5] = span(time.Duration(r.UptimeMS) * time.Millisecond)
		}
		if r.Name == "" || r.State == "refused" {
			line[0] = dash(r.Name)
			line[10] = strings.TrimSpace(r.File + ": " + r.Reason)
		}
		cells = append(cells, line)
	}
	return a.Stdout.Table([]string{"NAME", "VERSION", "STATE", "PID", "GEN", "UPTIME", "CALLS", "ERRORS", "P50", "P99", "REASON"}, cells)
}

// verdict is the result of plugins.verify and plugins.install.
type verdict struct {
	OK      bool     `json:"ok"`
	Action  string   `json:"action"`
	Reason  string   `json:"reason"`
	File    string   `json:"file"`
	Name    string   `json:"name"`
	Version string   `json:"version"`
	SHA256  string   `json:"sha256"`
	Methods []string `json:"methods"`
	Notes   []string `json:"notes"`
}

func (a *app) verified(v verdict) error {
	would := map[string]string{"start": "would start", "replace": "would replace what runs", "none": "nothing to do"}
	return a.judged(v, would[v.Action])
}

func (a *app) installed(v verdict) error {
	return a.judged(v, map[string]string{"start": "installed", "replace": "installed, in place of what ran", "none": "installed"}[v.Action])
}

// judged prints what was done or would be, and what there is to know about it.
func (a *app) judged(v verdict, what string) error {
	var b strings.Builder
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, output.OneLine(text))
		}
	}
	switch {
	case v.Action == "refuse":
		line("refused", v.File+" "+v.Reason)
	case !v.OK:
		line("failed", v.File+" "+v.Reason)
	default:
		line(what, strings.TrimSpace(v.Name+" "+v.Version))
		line("note", v.Reason)
		line("file", v.File)
	}
	line("sha256", v.SHA256)
	line("methods", strings.Join(v.Methods, " "))
	for _, n := range v.Notes {
		line("note", n)
	}
	return a.Stdout.Text(strings.TrimSuffix(b.String(), "\n"))
}

// rescanned prints what a look at the folders came to, a line each.
func (a *app) rescanned(raw json.RawMessage) error {
	var r struct {
		Started, Replaced, Removed []string
		Refused                    []struct{ Name, File, Reason string }
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return err
	}
	var b strings.Builder
	for _, l := range []struct {
		what  string
		names []string
	}{{"started", r.Started}, {"replaced", r.Replaced}, {"removed", r.Removed}} {
		for _, name := range l.names {
			fmt.Fprintf(&b, "%s: %s\n", l.what, output.OneLine(name))
		}
	}
	if b.Len() == 0 {
		b.WriteString("nothing has changed since the host last looked by itself; \"vant plugin list\" shows what runs\n")
	}
	for _, f := range r.Refused {
		fmt.Fprintf(&b, "not running: %s\n", output.OneLine(f.File+": "+f.Reason))
	}
	return a.Stdout.Text(strings.TrimSuffix(b.String(), "\n"))
}

// locked prints the pins, as they stand in the file.
func (a *app) locked(raw json.RawMessage) error {
	var l struct {
		File    string
		Plugins []struct{ Name, SHA256 string }
	}
	if err := json.Unmarshal(raw, &l); err != nil {
		return err
	}
	var b strings.Builder
	for _, p := range l.Plugins {
		fmt.Fprintf(&b, "%s %s\n", output.OneLine(p.Name), output.OneLine(p.SHA256))
	}
	fmt.Fprintf(&b, "written to %s", output.OneLine(l.File))
	return a.Stdout.Text(b.String())
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func number[T int | uint64](n T) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

func micros(us int64, calls uint64) string {
	if calls == 0 {
		return "-"
	}
	switch d := time.Duration(us) * time.Microsecond; {
	case d < time.Millisecond:
		return strconv.FormatInt(us, 10) + "us"
	case d < time.Second:
		return strconv.FormatFloat(float64(us)/1e3, 'f', 1, 64) + "ms"
	default:
		return strconv.FormatFloat(float64(us)/1e6, 'f', 1, 64) + "s"
	}
}

// span gives a duration in its two largest units.
func span(d time.Duration) string {
	d = d.Round(time.Second)
	h, m, s := int(d/time.Hour), int(d/time.Minute)%60, int(d/time.Second)%60
	switch {
	case h >= 24:
		return fmt.Sprintf("%dd%dh", h/24, h%24)
	case h > 0:
		return fmt.Sprintf("%dh%dm", h, m)
	case m > 0:
		return fmt.Sprintf("%dm%ds", m, s)
	}
	return fmt.Sprintf("%ds", s)
}

// fields prints an object as lines of name and value, in the object's order
// and with the exact bytes of its numbers; anything else as a result.
func (a *app) fields(raw json.RawMessage) error {
	var b strings.Builder
	if err := appendFields(&b, raw, ""); err != nil {
		return err
	}
	return a.Stdout.Text(strings.TrimSuffix(b.String(), "\n"))
}

func appendFields(b *strings.Builder, raw json.RawMessage, indent string) error {
	switch firstByte(raw) {
	case '{':
		return eachMember(raw, func(name string, value json.RawMessage) error {
			b.WriteString(indent + output.OneLine(name) + ":")
			return appendValue(b, value, indent)
		})
	case '[':
		var list []json.RawMessage
		if err := json.Unmarshal(raw, &list); err != nil {
			return err
		}
		for _, v := range list {
			b.WriteString(indent + "-")
			if err := appendValue(b, v, indent); err != nil {
				return err
			}
		}
		return nil
	}
	b.WriteString(indent)
	return appendScalar(b, raw, indent)
}

// appendValue writes a scalar on the same line and a container below it.
func appendValue(b *strings.Builder, raw json.RawMessage, indent string) error {
	switch compact := string(bytes.TrimSpace(raw)); {
	case compact == "{}" || compact == "[]":
		b.WriteString(" none\n")
		return nil
	case compact[0] == '{' || compact[0] == '[':
		b.WriteByte('\n')
		return appendFields(b, raw, indent+"  ")
	}
	b.WriteByte(' ')
	return appendScalar(b, raw, indent)
}

func appendScalar(b *strings.Builder, raw json.RawMessage, indent string) error {
	if firstByte(raw) != '"' {
		b.Write(bytes.TrimSpace(raw))
		b.WriteByte('\n')
		return nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return err
	}
	text = strings.TrimRight(text, "\n")
	b.WriteString(strings.ReplaceAll(text, "\n", "\n"+indent+"  "))
	b.WriteByte('\n')
	return nil
}

// eachMember walks the members of an object in their order.
func eachMember(raw json.RawMessage, f func(name string, value json.RawMessage) error) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		if err := f(name.(string), value); err != nil {
			return err
		}
	}
	return nil
}

func firstByte(raw []byte) byte {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return 0
	}
	return raw[0]
}
