package plugintest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/vant-run/vant/proto/envelope"
)

// exchangeBound bounds one exchange of a transcript.
const exchangeBound = 60 * time.Second

// Transcript replays a txtar file against a host: sections named "request"
// hold one line as a client sends it, well-formed or not, and the "reply"
// after each holds the line that must come back. Everything before the first
// section is prose. In a reply * stands for any text within the line, \* for
// a star.
//
//	-- request --
//	{"version":1,"id":"1","method":"status"}
//	-- reply --
//	{"version":1,"id":"1","ok":true,"result":{"running":true,*}}
func Transcript(t *testing.T, h *RunningHost, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("plugintest: %v", err)
	}
	exchanges, err := parseTranscript(string(text))
	if err != nil {
		t.Fatalf("plugintest: %s: %v", file, err)
	}
	for i, x := range exchanges {
		t.Run(fmt.Sprintf("%d", i+1), func(t *testing.T) {
			got, err := h.Send(x.request)
			if err != nil {
				t.Fatalf("%s:%d: %v", file, x.line, err)
			}
			if !glob(x.reply, got) {
				t.Errorf("%s:%d: request %s\n got %s\nwant %s", file, x.line, x.request, got, x.reply)
			}
		})
	}
}

// Send sends one line as it is and gives the reply line, without newlines.
func (h *RunningHost) Send(line string) (string, error) {
	conn, err := net.DialTimeout("unix", h.Socket(), exchangeBound)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(exchangeBound)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(conn, line+"\n"); err != nil {
		return "", err
	}
	reply, err := io.ReadAll(io.LimitReader(conn, envelope.MaxResultBytes+2))
	if err != nil {
		return "", err
	}
	one, rest, ended := bytes.Cut(reply, []byte("\n"))
	if !ended || len(rest) > 0 {
		return "", fmt.Errorf("the reply is not one line: %.200q", reply)
	}
	return string(one), nil
}

type exchange struct {
	line           int // of the request's section
	request, reply string
}

// parseTranscript reads the sections of a txtar text.
func parseTranscript(text string) ([]exchange, error) {
	var out []exchange
	var body *string
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, "\r\n")
		name, isHead := strings.CutPrefix(line, "-- ")
		name, isTail := strings.CutSuffix(name, " --")
		switch {
		case !isHead || !isTail:
			if body != nil && line != "" {
				if *body != "" {
					return nil, fmt.Errorf("line %d: a section holds one line", number)
				}
				*body = line
			}
		case name == "request":
			if len(out) > 0 && out[len(out)-1].reply == "" {
				return nil, fmt.Errorf("line %d: the request before has no reply", number)
			}
			out = append(out, exchange{line: number})
			body = &out[len(out)-1].request
		case name == "reply":
			if len(out) == 0 || out[len(out)-1].reply != "" {
				return nil, fmt.Errorf("line %d: a reply without its request", number)
			}
			body = &out[len(out)-1].reply
		default:
			return nil, fmt.Errorf("line %d: section %q is neither request nor reply", number, name)
		}
	}
	switch {
	case len(out) == 0:
		return nil, errors.New("no request in it")
	case out[len(out)-1].reply == "":
		return nil, errors.New("the last request has no reply")
	}
	return out, nil
}

// glob reports whether text matches a pattern in which * is any text and \* a
// star.
func glob(pattern, text string) bool {
	parts := split(pattern)
	rest, ok := strings.CutPrefix(text, parts[0])
	if !ok || len(parts) == 1 {
		return ok && rest == ""
	}
	last := parts[len(parts)-1]
	for _, p := range parts[1 : len(parts)-1] {
		i := strings.Index(rest, p)
		if i < 0 {
			return false
		}
		rest = rest[i+len(p):]
	}
	return strings.HasSuffix(rest, last)
}

// split cuts a pattern at its placeholders.
func split(pattern string) []string {
	const star = "\x00"
	pattern = strings.ReplaceAll(pattern, `\*`, star)
	parts := strings.Split(pattern, "*")
	for i := range parts {
		parts[i] = strings.ReplaceAll(parts[i], star, "*")
	}
	return parts
}
