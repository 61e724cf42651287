package page

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/vant-run/vant/internal/wire"
	"github.com/vant-run/vant/plugins/browser/inject"
	"github.com/vant-run/vant/plugins/browser/target"
)

const (
	// maxClosed bounds how often a frame is read again for the closed shadow roots
	// that were found in it: once, unless what they show has others beside them.
	maxClosed = 8
	// closedBound is how long they are looked for.
	closedBound = 6 * time.Second
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
	Bounds   bool // where the elements are, without what Detail adds besides
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
	if words := inWords[e.Reason]; e.Code == "stale_or_missing" && words != "" {
		return words
	}
	return e.Code + ": " + e.Reason
}

// inWords say why there is no such element, and what to do.
var inWords = map[string]string{
	target.Navigated: "the document of the ref has gone: take a snapshot",
	"detached":       "the element of the ref was removed: take a snapshot",
	"changed":        "the element of the ref has another role or name now: take a snapshot",
	"unknown":        "no snapshot of this tab has given the ref: take one",
	"missing":        "nothing fits the selector: look at the page, or wait for it with page.wait",
}

// view is what one frame shows.
type view struct {
	*inject.Listing
	frame  *target.Frame
	from   int64 // number of its first ref
	failed error
	late   bool // it, or a frame around it, has not answered in time
	closed bool // not all closed shadow roots were found
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
			return c.compose(t.Browser().Generation(), &view{Listing: &inject.Listing{URL: t.Info().URI, Title: t.Info().Title}}), nil
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
	if o.Bounds {
		arg["bounds"] = true
	}
	if o.Text != "" || o.Role != "" {
		arg["filter"] = map[string]string{"text": o.Text, "role": o.Role}
	}
	root.Install(ctx, firsts(root.Below())) // what is in one process is waited for together
	inside, cancel := context.WithTimeout(ctx, frameBound)
	defer cancel()
	all := root.Below()
	below := firsts(all)
	views := make(map[*target.Frame]*view, len(below))
	for i, f := range below {
		views[f] = &view{frame: f, from: 1 + int64(i+1)*int64(o.Limit)}
	}
	first := &view{frame: root}
	inner := arg
	if scope != nil {
		inner = with(arg, "scope", scope)
	}
	unbound := target.Bind(inside, root, below, func(f *target.Frame) {
		if f == root {
			if first.take(ctx, world, generation, inner); first.failed != nil {
				cancel() // nobody wants the others
			}
			return
		}
		v := views[f]
		v.take(inside, "", generation, with(arg, "from", v.from))
	})
	if first.failed != nil {
		return nil, first.failed
	}
	if first.Error != "" {
		return nil, &FailedTarget{Code: first.Error, Reason: first.Reason, Message: first.Message}
	}
	c := composer{o: o, views: make(map[string]*view, len(below)), frames: len(all) - len(below), dialog: t.OpenDialog()}
	for i, f := range below { // a frame comes before those in it
		v, around := views[f], views[f.Parent()]
		v.late = errors.Is(unbound[i], context.DeadlineExceeded) || errors.Is(v.failed, context.DeadlineExceeded) || around != nil && around.late
		switch {
		case v.late:
			c.frames++
		case unbound[i] == nil: // else it is not there any more
			c.views[string(f.ID)] = v
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
	search, cancel := context.WithTimeout(ctx, closedBound)
	defer cancel()
	for round := 0; ; round++ {
		in, err := v.ask(ctx, world, generation, arg)
		switch {
		case err != nil && round > 0 && errors.Is(err, context.DeadlineExceeded):
			v.closed = true // what was there before is shown
			return
		case err != nil && world != "" && errors.Is(err, target.ErrNavigated):
			v.failed = &FailedTarget{Code: "stale_or_missing", Reason: target.Navigated}
			return
		case err != nil:
			v.failed = err
			return
		case round == maxClosed:
			v.closed = v.Closed > 0
			return
		}
		if !v.open(search, in) {
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
	if v.Listing, err = inject.ParseListing(raw, arg["format"] == "outline"); err != nil {
		return "", err
	}
	from, _ := arg["from"].(int64)
	v.frame.Issued(generation, from, v.Next, in)
	return in, nil
}

// open makes the closed shadow roots of the frame known to our code in it, and those
// in them. It says whether there is more to see.
func (v *view) open(ctx context.Context, world string) bool {
	v.closed = false
	found := 0
	left := v.Closed // of those that this view was told of
	for more := left > 0; more; {
		asked, opened, err := v.frame.OpenRoots(ctx, world, "closedHosts", "openRoots")
		if err != nil {
			v.closed = !gone(err)
			break
		}
		if asked == 0 {
			v.closed = left > 0 // another snapshot has them, and may not have been answered
			break
		}
		found += opened
		left -= asked
		more = left > 0 || opened > 0 // there may be others in them
	}
	return found > 0
}

// composer puts the frames' views together.
type composer struct {
	o      SnapshotOptions
	views  map[string]*view
	out    []byte
	used   int // bytes of elements
	count  int
	total  int
	left   int
	frames int  // that were not looked into
	closed bool // nor were all closed shadow roots
	unread bool // a document is too large to be walked whole
	full   bool // what comes now is left
	shown  map[*view]bool
	hidden []hiddenLine
	dialog *target.Dialog // that is open
}

type hiddenLine struct {
	of   *view
	line inject.Line
}

func (c *composer) compose(generation int64, first *view) json.RawMessage {
	c.shown = make(map[*view]bool)
	c.out = append(make([]byte, 0, 512+200*min(len(first.Visible), c.o.Limit)), `{"generation":`...)
	c.out = strconv.AppendInt(c.out, generation, 10)
	c.out = wire.AppendString(append(c.out, `,"url":`...), first.URL)
	c.out = wire.AppendString(append(c.out, `,"title":`...), first.Title)
	if c.o.Outline {
		var text strings.Builder
		c.outline(&text, first, "")
		c.out = wire.AppendString(append(c.out, `,"elements":[],"outline":`...), text.String())
	} else {
		c.out = append(c.out, `,"elements":[`...)
		c.list(first)
		for _, h := range c.hidden {
			c.element(h.of, h.line)
		}
		c.out = append(c.out, ']')
	}
	c.out = fmt.Appendf(c.out, `,"total":%d,"truncated":%t`, c.total, c.left > 0 || c.frames > 0 || c.closed || c.unread || c.dialog != nil)
	var more []string
	if c.left > 0 {
		c.out = fmt.Appendf(c.out, `,"left":%d`, c.left)
		more = append(more, "raise limit or max_bytes, or narrow it with scope or filter")
	}
	if c.frames > 0 {
		c.out = fmt.Appendf(c.out, `,"frames_left":%d`, c.frames)
		more = append(more, "frames that are too many, or do not answer, are not looked into")
	}
	if c.closed {
		more = append(more, "not all closed shadow roots were found: take another snapshot")
	}
	if c.unread {
		more = append(more, "the page is too large to be read whole: narrow it with scope")
	}
	if d := c.dialog; d != nil {
		c.out = wire.AppendString(append(c.out, `,"dialog":{"kind":`...), d.Kind)
		c.out = wire.AppendString(append(c.out, `,"message":`...), clip(d.Message, maxMessage))
		c.out = append(c.out, '}')
		more = append(more, "answer the dialog with page.dialog")
	}
	if len(more) > 0 {
		c.out = wire.AppendString(append(c.out, `,"more":`...), strings.Join(more, "; "))
	}
	return append(c.out, '}')
}

// show counts a view, once; false when that was done.
func (c *composer) show(v *view) bool {
	if v == nil || v.failed != nil || c.shown[v] {
		return false
	}
	c.shown[v] = true
	c.closed = c.closed || v.closed || v.Unasked
	c.unread = c.unread || v.Unread
	c.total += v.Total
	c.left += v.Left
	return true
}

// list writes a frame's visible elements, with those of its frames at their
// places, and keeps the hidden ones for the end.
func (c *composer) list(v *view) {
	if !c.show(v) {
		return
	}
	for _, line := range v.Visible {
		if id, ok := line.Frame(); ok {
			c.list(c.views[id])
			continue
		}
		c.element(v, line)
	}
	c.keep(v, v.Hidden)
}

// keep sets hidden lines aside, with all of the frames that are hidden there.
func (c *composer) keep(v *view, lines []inject.Line) {
	for _, line := range lines {
		id, ok := line.Frame()
		if !ok {
			c.hidden = append(c.hidden, hiddenLine{v, line})
			continue
		}
		child := c.views[id]
		if !c.show(child) {
			continue
		}
		for i, line := range child.Visible { // in there they may look visible
			child.Visible[i] = line.Hide()
		}
		c.keep(child, child.Visible)
		c.keep(child, child.Hidden)
	}
}

// element writes one element while there is room.
func (c *composer) element(v *view, line inject.Line) {
	before := len(c.out)
	if c.full = c.full || c.count >= c.o.Limit; !c.full {
		if c.count > 0 {
			c.out = append(c.out, ',')
		}
		frame := ""
		if v.frame.Parent() != nil {
			frame = string(v.frame.ID)
		}
		c.out = v.AppendElement(c.out, line, frame)
		c.full = c.used+len(c.out)-before > c.o.MaxBytes
	}
	if c.full {
		c.out = c.out[:before]
		c.left++
		return
	}
	c.count++
	c.used += len(c.out) - before
}

func (c *composer) outline(text *strings.Builder, v *view, indent string) {
	if !c.show(v) {
		return
	}
	for _, line := range v.Visible {
		own, said := line.Text()
		if id, ok := line.Frame(); ok {
			c.outline(text, c.views[id], indent+own)
			continue
		}
		c.full = c.full || text.Len()+len(indent)+len(own)+len(said)+1 > c.o.MaxBytes
		if c.full {
			c.left++
			continue
		}
		text.WriteString(indent)
		text.WriteString(own)
		text.WriteString(said)
		text.WriteByte('\n')
	}
}
