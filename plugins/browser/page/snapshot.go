package page

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/vant-run/vant/internal/wire"
	"github.com/vant-run/vant/plugins/browser/target"
)

const (
	// maxClosed bounds how often a frame is read again for the closed shadow roots
	// that were found in it, and someClosed is how many our code offers at once.
	maxClosed, someClosed = 8, 64
)

// SnapshotOptions say what a snapshot shows.
type SnapshotOptions struct {
	Limit    int
	MaxBytes int
	Scope    string // ref or selector
	Text     string // only elements whose name or value has it
	Role     string // only elements with that role
	Outline  bool
	Detail   bool
}

// FailedTarget says why a ref or selector names nothing that can be used.
type FailedTarget struct {
	Code    string // stale_or_missing, invalid_selector
	Reason  string
	Message string
}

// Error implements error.
func (e *FailedTarget) Error() string {
	if e.Message != "" {
		return e.Message
	}
	return e.Code + ": " + e.Reason
}

// view is what one frame shows.
type view struct {
	frame           *target.Frame
	header          header
	visible, hidden []string
	failed          error
}

type header struct {
	Title   string `json:"title"`
	URL     string `json:"url"`
	Total   int    `json:"total"`
	Left    int    `json:"left"`
	Next    int64  `json:"next"`
	Error   string `json:"error"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Closed  int    `json:"closed"` // elements that may hide a closed shadow root
}

// retries is how often a page that goes on to another document is read again.
const retries = 3

// Snapshot lists what can be used in the tab. All frames are asked at once. While a
// dialog is open it is all that can be.
func Snapshot(ctx context.Context, t *target.Tab, o SnapshotOptions) (json.RawMessage, error) {
	for attempt := 1; ; attempt++ {
		list, err := take(ctx, t, o)
		if attempt < retries && errors.Is(err, target.ErrNavigated) {
			continue
		}
		if d := t.OpenDialog(); d != nil && errors.Is(err, target.ErrDialogOpen) {
			c := composer{o: o, dialog: d}
			return c.compose(t.Browser().Generation(), &view{header: header{URL: t.Info().URI, Title: t.Info().Title}}), nil
		}
		return list, err
	}
}

func take(ctx context.Context, t *target.Tab, o SnapshotOptions) (json.RawMessage, error) {
	root, world := t.Main(), ""
	scope := map[string]string(nil)
	if strings.HasPrefix(o.Scope, "@") {
		f, w, reason := t.Ref(o.Scope)
		if reason != "" {
			return nil, &FailedTarget{Code: "stale_or_missing", Reason: reason}
		}
		root, world, scope = f, w, map[string]string{"ref": o.Scope}
	} else if o.Scope != "" {
		scope = map[string]string{"selector": o.Scope}
	}
	generation := t.Browser().Generation()
	arg := map[string]any{
		"gen": generation, "from": int64(1), "limit": o.Limit, "maxBytes": o.MaxBytes, "detail": o.Detail, "format": "list",
	}
	if o.Outline {
		arg["format"] = "outline"
	}
	if o.Text != "" || o.Role != "" {
		arg["filter"] = map[string]string{"text": o.Text, "role": o.Role}
	}
	inside, cancel := context.WithTimeout(ctx, frameBound)
	defer cancel()
	below, others := bind(inside, root)
	views := make(map[string]*view, len(below))
	var work sync.WaitGroup
	first := &view{frame: root}
	inner := arg
	if scope != nil {
		inner = with(arg, "scope", scope)
	}
	for i, f := range below {
		v := &view{frame: f}
		views[string(f.ID)] = v
		work.Go(func() { v.take(inside, "", generation, with(arg, "from", 1+int64(i+1)*int64(o.Limit))) })
	}
	first.take(ctx, world, generation, inner)
	work.Wait()
	if first.failed != nil {
		return nil, first.failed
	}
	if first.header.Error != "" {
		return nil, &FailedTarget{Code: first.header.Error, Reason: first.header.Reason, Message: first.header.Message}
	}
	c := composer{o: o, views: views, frames: others, dialog: t.OpenDialog()}
	for _, v := range views {
		if errors.Is(v.failed, context.DeadlineExceeded) {
			c.frames++
		}
	}
	return c.compose(generation, first), nil
}

func with(arg map[string]any, name string, value any) map[string]any {
	c := make(map[string]any, len(arg)+1)
	for k, v := range arg {
		c[k] = v
	}
	c[name] = value
	return c
}

// take asks the frame, and again when closed shadow roots were found in it: then
// with a generation of its own, for the numbers of the first are its frame's alone.
func (v *view) take(ctx context.Context, world string, generation int64, arg map[string]any) {
	for round := 0; ; round++ {
		in, err := v.ask(ctx, world, generation, arg)
		if err != nil {
			if world != "" && errors.Is(err, target.ErrNavigated) {
				err = &FailedTarget{Code: "stale_or_missing", Reason: target.Navigated}
			}
			v.failed = err
			return
		}
		if round == maxClosed || !v.open(ctx, in) {
			return
		}
		generation = v.frame.Tab().Browser().Generation()
		arg = with(arg, "gen", generation)
	}
}

func (v *view) ask(ctx context.Context, world string, generation int64, arg map[string]any) (in string, err error) {
	raw, in, err := v.frame.Invoke(ctx, world, "snapshot", arg)
	if err != nil {
		return "", err
	}
	text, ok := wire.Unquote(raw)
	head, rest, _ := strings.Cut(text, "\n")
	v.header, v.visible, v.hidden = header{}, nil, nil
	if !ok || json.Unmarshal([]byte(head), &v.header) != nil {
		return "", errors.New("our code in the page gave no header")
	}
	hidden := false
	for rest != "" {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		switch {
		case line == "-":
			hidden = true
		case hidden:
			v.hidden = append(v.hidden, line)
		default:
			v.visible = append(v.visible, line)
		}
	}
	from, _ := arg["from"].(int64)
	v.frame.Issued(generation, from, v.header.Next, in)
	return in, nil
}

// open makes the closed shadow roots of the frame known to our code in it. It says
// whether there may be more to see.
func (v *view) open(ctx context.Context, world string) bool {
	if v.header.Closed == 0 {
		return false
	}
	opened, err := v.frame.OpenRoots(ctx, world, "closedHosts", "openRoots")
	return err == nil && (opened > 0 || v.header.Closed >= someClosed)
}

// composer puts the frames' views together.
type composer struct {
	o      SnapshotOptions
	views  map[string]*view
	out    bytes.Buffer
	used   int // bytes of elements
	count  int
	total  int
	left   int
	frames int  // that were not looked into
	full   bool // what comes now is left
	shown  map[*view]bool
	hidden []hiddenLine
	dialog *target.Dialog // that is open
}

type hiddenLine struct {
	line  string
	frame *target.Frame
}

func (c *composer) compose(generation int64, first *view) json.RawMessage {
	c.shown = make(map[*view]bool)
	c.out.WriteString(`{"generation":`)
	c.out.WriteString(strconv.FormatInt(generation, 10))
	c.out.WriteString(`,"url":`)
	c.out.Write(wire.AppendString(nil, first.header.URL))
	c.out.WriteString(`,"title":`)
	c.out.Write(wire.AppendString(nil, first.header.Title))
	if c.o.Outline {
		var text strings.Builder
		c.outline(&text, first, "")
		c.out.WriteString(`,"elements":[],"outline":`)
		c.out.Write(wire.AppendString(nil, text.String()))
	} else {
		c.out.WriteString(`,"elements":[`)
		c.list(first, nil)
		for _, h := range c.hidden {
			c.element(h.line, h.frame)
		}
		c.out.WriteByte(']')
	}
	fmt.Fprintf(&c.out, `,"total":%d,"truncated":%t`, c.total, c.left > 0 || c.frames > 0 || c.dialog != nil)
	var more []string
	if c.left > 0 {
		fmt.Fprintf(&c.out, `,"left":%d`, c.left)
		more = append(more, "raise limit or max_bytes, or narrow it with scope or filter")
	}
	if c.frames > 0 {
		fmt.Fprintf(&c.out, `,"frames_left":%d`, c.frames)
		more = append(more, "frames that are too many, or do not answer, are not looked into")
	}
	if d := c.dialog; d != nil {
		c.out.WriteString(`,"dialog":{"kind":`)
		c.out.Write(wire.AppendString(nil, d.Kind))
		c.out.WriteString(`,"message":`)
		c.out.Write(wire.AppendString(nil, clip(d.Message, maxMessage)))
		c.out.WriteByte('}')
		more = append(more, "answer the dialog with page.dialog")
	}
	if len(more) > 0 {
		c.out.WriteString(`,"more":`)
		c.out.Write(wire.AppendString(nil, strings.Join(more, "; ")))
	}
	c.out.WriteByte('}')
	return c.out.Bytes()
}

// list writes a frame's visible elements, with those of its frames at their
// places, and keeps the hidden ones for the end.
func (c *composer) list(v *view, frame *target.Frame) {
	if c.shown[v] {
		return
	}
	c.shown[v] = true
	c.total += v.header.Total
	c.left += v.header.Left
	for _, line := range v.visible {
		if id, ok := strings.CutPrefix(line, ">"); ok {
			if child := c.views[id]; child != nil && child.failed == nil {
				c.list(child, child.frame)
			}
			continue
		}
		c.element(line, frame)
	}
	c.keep(v.hidden, frame)
}

// keep sets hidden lines aside, with all of the frames that are hidden there.
func (c *composer) keep(lines []string, frame *target.Frame) {
	for _, line := range lines {
		id, ok := strings.CutPrefix(line, ">")
		if !ok {
			c.hidden = append(c.hidden, hiddenLine{line, frame})
			continue
		}
		child := c.views[id]
		if child == nil || child.failed != nil || c.shown[child] {
			continue
		}
		c.shown[child] = true
		c.total += child.header.Total
		c.left += child.header.Left
		for i, line := range child.visible { // in there they may look visible
			child.visible[i] = strings.Replace(line, `"visible":true`, `"visible":false`, 1)
		}
		c.keep(child.visible, child.frame)
		c.keep(child.hidden, child.frame)
	}
}

// element writes one element while there is room.
func (c *composer) element(line string, frame *target.Frame) {
	if frame != nil {
		line = line[:len(line)-1] + `,"frame":"` + string(frame.ID) + `"}`
	}
	c.full = c.full || c.count >= c.o.Limit || c.used+len(line)+1 > c.o.MaxBytes
	if c.full {
		c.left++
		return
	}
	if c.count > 0 {
		c.out.WriteByte(',')
	}
	c.count++
	c.used += len(line) + 1
	c.out.WriteString(line)
}

func (c *composer) outline(text *strings.Builder, v *view, indent string) {
	if c.shown[v] {
		return
	}
	c.shown[v] = true
	c.total += v.header.Total
	c.left += v.header.Left
	for _, line := range v.visible {
		own := strings.TrimLeft(line, " ")
		if id, ok := strings.CutPrefix(own, ">"); ok {
			if child := c.views[id]; child != nil && child.failed == nil {
				c.outline(text, child, indent+line[:len(line)-len(own)])
			}
			continue
		}
		c.full = c.full || text.Len()+len(indent)+len(line)+1 > c.o.MaxBytes
		if c.full {
			c.left++
			continue
		}
		text.WriteString(indent)
		text.WriteString(line)
		text.WriteByte('\n')
	}
}
