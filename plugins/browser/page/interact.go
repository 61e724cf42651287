package page

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vant-run/vant/plugins/browser/target"
)

const (
	// settleBound is how long an action waits for the navigation that it began.
	settleBound = 10 * time.Second
	// guardLife is how long the page guards the events of one attempt.
	guardLife = 2 * time.Second
	// maxTyped bounds a text that is typed key by key, in characters.
	maxTyped = 20_000
	// typedAtOnce is how many characters are sent before the page has had them.
	typedAtOnce = 64
)

// ParamError is a parameter that cannot be used.
type ParamError struct{ Name, Message string }

// Error implements error.
func (e *ParamError) Error() string { return "/" + e.Name + ": " + e.Message }

// Action is what to do with an element.
type Action struct {
	Element
	Kind      string
	Value     *string
	Values    []string // of select
	Timeout   time.Duration
	Button    string
	Modifiers []string
	Count     int
	Position  *Point
	Files     []string
	To        *Element
}

// Outcome is what an action did.
type Outcome struct {
	OK            bool            `json:"ok"`
	Hit           json.RawMessage `json:"hit,omitzero"`
	Partly        bool            `json:"partly,omitzero"` // of several clicks the first alone
	Value         json.RawMessage `json:"value,omitzero"`
	Secret        bool            `json:"secret,omitzero"`  // the value is not shown
	Matches       *bool           `json:"matches,omitzero"` // false: the element holds something else than it was given
	Checked       json.RawMessage `json:"checked,omitzero"`
	Labels        json.RawMessage `json:"labels,omitzero"`
	Scroll        json.RawMessage `json:"scroll,omitzero"`
	Moved         json.RawMessage `json:"moved,omitzero"`
	Navigated     bool            `json:"navigated,omitzero"`
	URL           string          `json:"url,omitzero"`
	Opened        []int           `json:"opened,omitzero"`
	Dialog        *DialogInfo     `json:"dialog,omitzero"`
	Download      *DownloadInfo   `json:"download,omitzero"`
	ConsoleErrors int             `json:"console_errors,omitzero"`
}

// DialogInfo is a dialog that an action has opened.
type DialogInfo struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
	Open    bool   `json:"open"` // it waits for page.dialog
}

// DownloadInfo is a download that an action has begun.
type DownloadInfo struct {
	URI      string `json:"uri"`
	Filename string `json:"filename"`
}

// answer is what our code says of one step.
type answer struct {
	Failure
	Point
	Token     int64           `json:"token"`
	Expired   bool            `json:"expired"` // the guard had ended before the events
	Element   json.RawMessage `json:"el"`
	Done      bool            `json:"done"`
	How       string          `json:"how"`
	Value     json.RawMessage `json:"value"`
	Secret    bool            `json:"secret"`
	Matches   *bool           `json:"matches"`
	Checked   json.RawMessage `json:"checked"`
	Labels    json.RawMessage `json:"labels"`
	Scroll    json.RawMessage `json:"scroll"`
	Moved     json.RawMessage `json:"moved"`
	Hit       json.RawMessage `json:"hit"`
	Events    []string        `json:"events"`
	Blocked   *blocked        `json:"blocked"`
	File      bool            `json:"file"`
	Multiple  bool            `json:"multiple"`
	Directory bool            `json:"directory"`
	Disabled  bool            `json:"disabled"`
	To        *struct {
		Point
		Element json.RawMessage `json:"el"`
	} `json:"to"`
}

type blocked struct {
	Event     string          `json:"event"`
	CoveredBy json.RawMessage `json:"covered_by"`
}

// actor is one action while it is done.
type actor struct {
	t    *target.Tab
	a    Action
	at   place
	end  time.Time // for the element to become ready
	mods int
	sent bool // input events were
}

// Interact does something with an element of the tab, by real input events. A
// *Failure among the results says why it was not done; an error is one of the
// call.
func Interact(ctx context.Context, t *target.Tab, a Action) (any, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	release, err := t.Take(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := t.Answers(ctx); err != nil {
		return nil, err
	}
	defer t.HoldChoosers()()
	act := &actor{t: t, a: a, end: time.Now().Add(a.Timeout)}
	for _, m := range a.Modifiers {
		act.mods |= modifierKeys[canonical(m)].bit
	}
	if a.Ref != "" || a.Selector != "" {
		at, failure := where(t, a.Element)
		if failure != nil {
			return failure, nil
		}
		act.at = at
	} else {
		act.at = place{frame: t.Main()}
	}
	mark := t.Mark()
	out, failure, err := act.do(ctx)
	if act.sent && errors.Is(err, target.ErrDialogOpen) && t.OpenDialog() != nil && mark.Dialogs() < t.Mark().Dialogs() {
		out, err = &Outcome{}, nil // the action itself has opened it
	}
	if err != nil {
		failure, err = stale(act.at, err)
	}
	if err != nil {
		return nil, err
	}
	if failure != nil {
		if failure.Error == "invalid_selector" {
			return nil, &ParamError{"selector", failure.Message}
		}
		return failure, nil
	}
	return out, act.effects(ctx, mark, out)
}

// check says what the schema cannot.
func (a *Action) check() error {
	need := func(ok bool, name, message string) error {
		if ok {
			return nil
		}
		return &ParamError{name, message}
	}
	switch a.Kind {
	case "press", "blur": // what has the focus is meant when nothing is named
	default:
		if a.Ref == "" && a.Selector == "" {
			return &ParamError{"ref", `missing: give "ref" from a snapshot, or "selector"`}
		}
	}
	for _, m := range a.Modifiers {
		if _, ok := modifierKeys[canonical(m)]; !ok {
			return &ParamError{"modifiers", m + " is no modifier: use Control, Shift, Alt or Meta"}
		}
	}
	switch a.Kind {
	case "fill", "type", "key", "press":
		if err := need(a.Value != nil, "value", "missing: "+a.Kind+" needs it"); err != nil {
			return err
		}
		if a.Kind == "type" {
			return need(len([]rune(*a.Value)) <= maxTyped, "value", "longer than 20000 characters: use fill")
		}
	case "upload":
		for _, file := range a.Files {
			if !filepath.IsAbs(file) {
				return &ParamError{"files", clip(file, 200) + " is not an absolute path"}
			}
			if _, err := os.Stat(file); err != nil {
				return &ParamError{"files", clip(err.Error(), 300)}
			}
		}
		return need(len(a.Files) > 0, "files", "missing: upload needs a list of absolute paths")
	case "drag":
		return need(a.To != nil && (a.To.Ref != "" || a.To.Selector != ""), "to", `missing: drag needs {"ref"} or {"selector"} of where to`)
	}
	return nil
}

func (a *actor) do(ctx context.Context) (*Outcome, *Failure, error) {
	switch a.a.Kind {
	case "click", "dblclick", "hover":
		return a.point(ctx)
	case "check", "uncheck":
		return a.tick(ctx)
	case "fill", "clear":
		return a.fill(ctx)
	case "type":
		return a.typeKeys(ctx)
	case "key", "press":
		return a.press(ctx)
	case "select":
		return a.choose(ctx)
	case "focus":
		return a.simple(ctx, "focusOn", a.arg())
	case "blur":
		return a.simple(ctx, "blur", nil)
	case "scroll":
		return a.scroll(ctx)
	case "upload":
		return a.upload(ctx)
	case "drag":
		return a.drag(ctx)
	}
	return nil, nil, &ParamError{"action", "there is no " + clip(a.a.Kind, 40)}
}

// arg names the element for our code.
func (a *actor) arg() map[string]any {
	e := a.a.Element
	if e.Selector != "" {
		e.Ref = ""
	}
	arg := map[string]any{"target": e, "action": a.a.Kind, "timeout": left(a.end)}
	if a.a.Position != nil {
		arg["position"] = a.a.Position
	}
	return arg
}

// ask asks our code in the element's frame. A selector that fits nothing in the
// main frame is looked for in the others.
func (a *actor) ask(ctx context.Context, name string, arg map[string]any) (*answer, error) {
	var ans answer
	if err := a.at.ask(ctx, name, arg, &ans); err != nil {
		return nil, err
	}
	if a.a.Selector == "" || ans.Reason != "missing" || a.at.frame != a.t.Main() {
		return &ans, nil
	}
	for _, f := range descendants(ctx, a.t.Main()) {
		var there answer
		p := place{frame: f}
		if err := p.ask(ctx, name, with(arg, "timeout", 0), &there); err != nil || there.Reason == "missing" {
			continue // a frame that cannot be asked has it not
		}
		a.at = p
		if there.OK {
			return &there, nil
		}
		there = answer{}
		err := p.ask(ctx, name, with(arg, "timeout", left(a.end)), &there)
		return &there, err
	}
	return &ans, nil
}

// point moves the pointer to the element and presses, as the action says. What
// the page does between the check and the events is seen by the guard: then it is
// tried again while there is time.
func (a *actor) point(ctx context.Context) (*Outcome, *Failure, error) {
	button := a.a.Button
	if button == "" {
		button = "left"
	}
	count := max(1, a.a.Count)
	if a.a.Kind == "dblclick" {
		count = 2
	}
	for again := false; ; again = true {
		arg := a.arg()
		if again {
			arg["again"] = true
		}
		ans, err := a.ask(ctx, "check", arg)
		if err != nil {
			return nil, nil, err
		}
		if !ans.OK {
			return nil, &ans.Failure, nil
		}
		if ans.Done {
			return &Outcome{Hit: ans.Element, Checked: ans.Checked}, nil, nil
		}
		armed := time.Now()
		at, tokens, failure, err := a.outward(ctx, ans.Point)
		if err != nil || failure != nil {
			return nil, failure, err
		}
		if time.Since(armed) > guardLife/2 && time.Now().Before(a.end) {
			continue // a frame around took so long that the guard may end first; nothing was sent
		}
		in := newInput(a.t)
		in.move(at, 0, a.mods)
		if a.a.Kind != "hover" {
			for n := 1; n <= count; n++ {
				in.press(at, button, n, a.mods)
				in.release(at, button, n, a.mods)
			}
		}
		if err := a.flush(ctx, in); err != nil {
			return nil, nil, err
		}
		hit, over, err := a.outcome(ctx, ans, tokens)
		if err != nil {
			return nil, nil, err
		}
		if hit != nil {
			return &Outcome{Hit: hit, Partly: over != nil}, nil, nil
		}
		if time.Now().After(a.end) {
			f := &Failure{Error: "covered", Reason: "not_reached"}
			if over != nil {
				f.Reason, f.CoveredBy = "moved", over.CoveredBy
			}
			return nil, f, nil
		}
	}
}

// outward carries a point of the element's frame into the main frame's viewport,
// through each frame around it, where nothing may lie over it.
func (a *actor) outward(ctx context.Context, p Point) (Point, []frameToken, *Failure, error) {
	var tokens []frameToken
	for f := a.at.frame; f.Parent() != nil; f = f.Parent() {
		if err := f.Bind(ctx); err != nil {
			return p, nil, nil, err
		}
		around := place{frame: f.Parent()}
		var ans answer
		err := around.ask(ctx, "through", map[string]any{"frame": f.ID, "x": p.X, "y": p.Y, "timeout": left(a.end)}, &ans)
		if err != nil {
			return p, nil, nil, err
		}
		if !ans.OK {
			return p, nil, &ans.Failure, nil
		}
		p = ans.Point
		tokens = append(tokens, frameToken{around, ans.Token})
	}
	return p, tokens, nil, nil
}

type frameToken struct {
	place
	token int64
}

// outcome asks what the events met: hit is what was hit, over what was in the way
// of all, or of what followed; both are nil when no event came. When nobody can
// tell it is an error: then nothing may be tried again.
func (a *actor) outcome(ctx context.Context, checked *answer, tokens []frameToken) (hit json.RawMessage, over *blocked, err error) {
	var ans answer
	err = a.at.ask(ctx, "outcome", map[string]any{"token": checked.Token}, &ans)
	if gone(err) {
		return checked.Element, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if len(ans.Hit) > 0 && string(ans.Hit) != "null" {
		return ans.Hit, ans.Blocked, nil
	}
	if ans.Blocked != nil {
		return nil, ans.Blocked, nil
	}
	if !ans.OK || ans.Expired {
		return nil, nil, context.DeadlineExceeded // the page was busy for so long that the guard ended
	}
	for _, token := range tokens {
		var around answer
		if err := token.ask(ctx, "outcome", map[string]any{"token": token.token}, &around); err == nil && around.Blocked != nil {
			return nil, around.Blocked, nil
		}
	}
	return nil, nil, nil
}

// gone: the document, frame or tab has ended, by what the action did.
func gone(err error) bool {
	return errors.Is(err, target.ErrNavigated) || errors.Is(err, target.ErrFrameGone) || errors.Is(err, target.ErrTabClosed)
}

// flush waits until the page has had the events.
func (a *actor) flush(ctx context.Context, in *input) error {
	a.sent = true
	return in.flush(ctx, a.t)
}

// tick clicks a box unless it is as it should be, and looks afterwards.
func (a *actor) tick(ctx context.Context) (*Outcome, *Failure, error) {
	out, failure, err := a.point(ctx)
	if err != nil || failure != nil || len(out.Checked) > 0 {
		return out, failure, err
	}
	var ans answer
	err = a.at.ask(ctx, "state", a.arg(), &ans)
	if gone(err) {
		return out, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if !ans.OK {
		return nil, &ans.Failure, nil
	}
	out.Checked = ans.Checked
	if want := strconv.FormatBool(a.a.Kind == "check"); string(ans.Checked) != want {
		return nil, &Failure{Error: "wrong_element", Reason: "it was clicked and is not " + a.a.Kind + "ed"}, nil
	}
	return out, nil, nil
}

// fill gives a field a text, and reads back what it holds.
func (a *actor) fill(ctx context.Context) (*Outcome, *Failure, error) {
	text := ""
	if a.a.Value != nil && a.a.Kind == "fill" {
		text = *a.a.Value
	}
	for {
		arg := a.arg()
		arg["value"] = text
		ready, err := a.ask(ctx, "edit", arg)
		if err != nil {
			return nil, nil, err
		}
		if !ready.OK {
			return nil, &ready.Failure, nil
		}
		in := newInput(a.t)
		switch ready.How {
		case "insert":
			in.insert(text)
		case "delete":
			in.stroke(nil, named["Delete"])
		default: // it holds the value already
			return &Outcome{Hit: ready.Element, Value: ready.Value, Secret: ready.Secret}, nil, nil
		}
		if err := a.flush(ctx, in); err != nil {
			return nil, nil, err
		}
		var ans answer
		err = a.at.ask(ctx, "value", map[string]any{"target": arg["target"], "token": ready.Token, "expect": text}, &ans)
		if gone(err) {
			return &Outcome{Hit: ready.Element}, nil, nil
		}
		if err != nil {
			return nil, nil, err
		}
		if ans.Blocked != nil {
			if time.Now().Before(a.end) {
				continue
			}
			return nil, &Failure{Error: "covered", Reason: "focus_moved", CoveredBy: ans.Blocked.CoveredBy}, nil
		}
		if !ans.OK {
			return nil, &ans.Failure, nil
		}
		out := &Outcome{Hit: ready.Element, Value: ans.Value, Secret: ans.Secret}
		if ans.Matches != nil && !*ans.Matches {
			out.Matches = ans.Matches
		}
		return out, nil, nil
	}
}

// typeKeys types a text at the end of what a field holds.
func (a *actor) typeKeys(ctx context.Context) (*Outcome, *Failure, error) {
	arg := a.arg()
	arg["value"] = *a.a.Value
	ready, err := a.ask(ctx, "edit", arg)
	if err != nil {
		return nil, nil, err
	}
	if !ready.OK {
		return nil, &ready.Failure, nil
	}
	out := &Outcome{Hit: ready.Element}
	if ready.How == "keys" {
		// Not all at once: what was sent is typed, whoever has given up meanwhile.
		for some := range slices.Chunk([]rune(*a.a.Value), typedAtOnce) {
			in := newInput(a.t)
			in.write(string(some))
			if err := a.flush(ctx, in); err != nil {
				return nil, nil, err
			}
		}
	}
	return a.readBack(ctx, out)
}

// readBack adds what the element holds, where it can still be told.
func (a *actor) readBack(ctx context.Context, out *Outcome) (*Outcome, *Failure, error) {
	var ans answer
	if err := a.at.ask(ctx, "value", a.arg(), &ans); err == nil && ans.OK {
		out.Value, out.Secret = ans.Value, ans.Secret
	} else if err != nil && !gone(err) {
		return nil, nil, err
	}
	return out, nil, nil
}

// press strokes a key or a chord, in the element or in what has the focus.
func (a *actor) press(ctx context.Context) (*Outcome, *Failure, error) {
	mods, k, err := chord(*a.a.Value, a.a.Modifiers...)
	if err != nil {
		return nil, nil, err
	}
	out := &Outcome{}
	if a.a.Ref != "" || a.a.Selector != "" {
		ans, err := a.ask(ctx, "focusOn", a.arg())
		if err != nil {
			return nil, nil, err
		}
		if !ans.OK {
			return nil, &ans.Failure, nil
		}
		out.Hit = ans.Element
	}
	in := newInput(a.t)
	for range max(1, a.a.Count) {
		in.stroke(mods, k)
	}
	if err := a.flush(ctx, in); err != nil {
		return nil, nil, err
	}
	return out, nil, a.barrier(ctx)
}

// barrier waits until the page has done what the last events began.
func (a *actor) barrier(ctx context.Context) error {
	_, _, err := a.at.frame.Invoke(ctx, a.at.world, "ready", nil)
	if gone(err) {
		return nil
	}
	return err
}

func (a *actor) choose(ctx context.Context) (*Outcome, *Failure, error) {
	arg := a.arg()
	switch {
	case len(a.a.Values) > 0:
		arg["value"] = a.a.Values
	case a.a.Value != nil:
		arg["value"] = *a.a.Value
	}
	return a.simple(ctx, "select", arg)
}

// simple does what our code does by itself.
func (a *actor) simple(ctx context.Context, name string, arg map[string]any) (*Outcome, *Failure, error) {
	ans, err := a.ask(ctx, name, arg)
	if err != nil {
		return nil, nil, err
	}
	if !ans.OK {
		return nil, &ans.Failure, nil
	}
	return &Outcome{
		Hit: ans.Element, Value: ans.Value, Secret: ans.Secret, Labels: ans.Labels, Scroll: ans.Scroll, Moved: ans.Moved,
	}, nil, nil
}

// scroll: without a value the element is brought into view; a number scrolls down
// by it, and top, bottom, left and right go there.
func (a *actor) scroll(ctx context.Context) (*Outcome, *Failure, error) {
	arg := a.arg()
	if a.a.Value != nil {
		switch v := strings.TrimSpace(*a.a.Value); v {
		case "top", "bottom", "left", "right":
			arg["to"] = v
		case "":
		default:
			by, err := strconv.ParseFloat(v, 64)
			if err != nil {
				return nil, nil, &ParamError{"value", "scroll takes pixels, top, bottom, left or right"}
			}
			arg["dy"] = by
		}
	}
	return a.simple(ctx, "scroll", arg)
}

// upload gives files to an input, or to the chooser that a click on the element
// opens.
func (a *actor) upload(ctx context.Context) (*Outcome, *Failure, error) {
	ans, err := a.ask(ctx, "files", a.arg())
	if err != nil {
		return nil, nil, err
	}
	switch {
	case !ans.OK:
		return nil, &ans.Failure, nil
	case ans.Disabled:
		return nil, &Failure{Error: "disabled"}, nil
	case !ans.Directory && a.a.folder() != "":
		return nil, nil, &ParamError{"files", clip(a.a.folder(), 200) + " is a folder"}
	case ans.File && !ans.Multiple && !ans.Directory && len(a.a.Files) > 1:
		return nil, &Failure{Error: "wrong_element", Reason: "takes one file"}, nil
	case ans.File:
		h, err := a.at.frame.Handle(ctx, a.at.world, "node", a.arg()["target"])
		if err != nil {
			return nil, nil, err
		}
		defer h.Release()
		if err := h.SetFiles(ctx, a.a.Files); err != nil {
			return nil, nil, err
		}
		return &Outcome{Hit: ans.Element}, nil, a.barrier(ctx)
	}
	a.t.ForgetChooser()
	click := *a
	click.a.Kind = "click"
	out, failure, err := click.point(ctx)
	if err != nil || failure != nil {
		return nil, failure, err
	}
	wait, cancel := context.WithDeadline(ctx, time.Now().Add(max(a.a.Timeout, 500*time.Millisecond)))
	defer cancel()
	c, err := a.t.Chooser(wait)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, &Failure{Error: "wrong_element", Reason: "it is no file input, and a click on it opened no file chooser"}, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if c.BackendNodeID == 0 {
		return nil, &Failure{Error: "wrong_element", Reason: "its file chooser belongs to no input: the page asks the system for files"}, nil
	}
	if c.Mode == "selectSingle" && len(a.a.Files) > 1 {
		return nil, &Failure{Error: "wrong_element", Reason: "takes one file"}, nil
	}
	if err := c.SetFiles(ctx, a.a.Files); err != nil {
		return nil, nil, err
	}
	return out, nil, a.barrier(ctx)
}

// folder is the first of the files that is a folder, "" when none is.
func (a *Action) folder() string {
	for _, file := range a.Files {
		if info, err := os.Stat(file); err == nil && info.IsDir() {
			return file
		}
	}
	return ""
}

// effects adds what the action has caused besides.
func (a *actor) effects(ctx context.Context, mark target.Mark, out *Outcome) error {
	out.OK = true
	wait, cancel := context.WithTimeout(ctx, settleBound)
	defer cancel()
	e, err := a.t.Since(wait, mark)
	if errors.Is(err, target.ErrTabClosed) {
		return nil // by the action: a window that closes itself
	}
	if err != nil {
		return err
	}
	out.Navigated, out.URL, out.Opened, out.ConsoleErrors = e.Navigated, e.URL, e.Opened, e.ConsoleErrors
	if d := e.Dialog; d != nil {
		out.Dialog = &DialogInfo{Kind: d.Kind, Message: clip(d.Message, maxMessage), Open: a.t.OpenDialog() != nil}
	}
	if e.Download != nil {
		out.Download = &DownloadInfo{URI: e.Download.URL, Filename: e.Download.Filename}
	}
	return nil
}
