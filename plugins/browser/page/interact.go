package page

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/vant-run/vant/plugins/browser/target"
)

const (
	// settleBound is how long an action waits for the navigation that it began.
	settleBound = 10 * time.Second
	// maxTyped bounds a text that is typed key by key, in characters.
	maxTyped = 5_000
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
	Partly        bool            `json:"partly,omitzero"` // of several clicks the first alone; of one, of a key, or of a drag its beginning
	Value         json.RawMessage `json:"value,omitzero"`
	Secret        bool            `json:"secret,omitzero"`  // the value is not shown
	Matches       *bool           `json:"matches,omitzero"` // false: the element holds something else than it was given
	Focus         json.RawMessage `json:"focus,omitzero"`   // what has it after keys, unless it is the element
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
	Open    bool   `json:"open"`           // it waits for page.dialog
	Count   int    `json:"count,omitzero"` // of several, of which it is the last
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
	Typed     int64           `json:"typed"`
	Expired   bool            `json:"expired"` // the guard had ended before the events
	Element   json.RawMessage `json:"el"`
	Done      bool            `json:"done"`
	How       string          `json:"how"`
	Value     json.RawMessage `json:"value"`
	Secret    bool            `json:"secret"`
	Matches   *bool           `json:"matches"`
	Focus     json.RawMessage `json:"focus"`
	Checked   json.RawMessage `json:"checked"`
	Labels    json.RawMessage `json:"labels"`
	Scroll    json.RawMessage `json:"scroll"`
	Moved     json.RawMessage `json:"moved"`
	Hit       json.RawMessage `json:"hit"`
	Blocked   *blocked        `json:"blocked"`
	Partly    bool            `json:"partly"`
	Refused   bool            `json:"refused"` // nothing has taken what was dragged
	Begun     bool            `json:"begun"`   // a key came down in the element before what was blocked
	File      bool            `json:"file"`
	Multiple  bool            `json:"multiple"`
	Directory bool            `json:"directory"`
	Disabled  bool            `json:"disabled"`
	To        Point           `json:"to"`    // of a drag
	Saves     bool            `json:"saves"` // a click on a link that saves what it leads to may come, or has
}

type blocked struct {
	Event     string          `json:"event"`
	CoveredBy json.RawMessage `json:"covered_by"`
}

// actor is one action while it is done.
type actor struct {
	t     *target.Tab
	a     Action
	at    place
	end   time.Time // for the element to become ready
	mods  int
	sent  bool  // input events were, or our code has done something
	early bool  // what came of them was told by the page alone
	open  bool  // what our code does was not answered
	save  bool  // they may click on a link that saves what it leads to
	token int64 // of the guard of the last press

	release func() // ends the action's turn in the tab
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
	act := &actor{t: t, a: a, release: release}
	defer func() { act.release() }()
	if err := t.Answers(ctx); err != nil {
		return nil, err
	}
	defer t.HoldChoosers()()
	act.end = time.Now().Add(a.Timeout)
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
		out, err = &Outcome{Partly: a.Kind == "drag" || act.open}, nil // the action itself has opened it
	}
	if err != nil {
		failure, err = stale(act.at, err)
	}
	if err != nil || failure != nil {
		act.forget()
	}
	if err != nil {
		return nil, err
	}
	if failure != nil {
		switch failure.Error {
		case "invalid_selector":
			return nil, &ParamError{"selector", failure.Message}
		case "no_value":
			return nil, &ParamError{"value", "missing: select needs it, unless an option is named"}
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
			return need(len([]rune(*a.Value)) <= maxTyped, "value", fmt.Sprintf("longer than %d characters: use fill", maxTyped))
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

// ask asks our code in the element's frame. A selector means the first element that
// fits, in the page before its frames, and is waited for in all of them.
func (a *actor) ask(ctx context.Context, name string, arg map[string]any) (*answer, error) {
	for {
		var ans answer
		arg = with(arg, "timeout", left(a.end))
		if a.a.Selector != "" {
			arg["here"] = true // what is not in this frame may be in another
		}
		over := !time.Now().Before(a.end)
		if err := a.at.ask(ctx, name, arg, &ans); err != nil {
			return nil, err
		}
		a.save = ans.Saves
		if a.a.Selector == "" || ans.Reason != "missing" || ans.Which != "" {
			return &ans, nil
		}
		at, ok, err := firstFrame(ctx, a.t, a.end, func(ctx context.Context, at *place) (bool, error) {
			var ans Failure
			err := at.ask(ctx, "wait", map[string]any{"there": a.a.Selector, "timeout": left(a.end)}, &ans)
			return ans.OK, err
		})
		if err != nil {
			return nil, err
		}
		if !ok || over && at.frame == a.at.frame {
			return &ans, nil
		}
		a.at = at
	}
}

// barrier waits until the page has done what the last events began.
func (a *actor) barrier(ctx context.Context) error {
	_, _, err := a.at.frame.Invoke(ctx, a.at.world, "ready", nil)
	if gone(err) {
		return nil
	}
	return err
}

// simple does what our code does by itself, once it can be done.
func (a *actor) simple(ctx context.Context, name string, arg map[string]any) (*Outcome, *Failure, error) {
	ans, err := a.ask(ctx, name, with(arg, "look", true))
	if err == nil && ans.OK {
		ans, err = a.does(ctx, name, arg)
	}
	if err != nil {
		return nil, nil, err
	}
	if !ans.OK {
		return nil, &ans.Failure, nil
	}
	out := &Outcome{Hit: ans.Element, Labels: ans.Labels, Scroll: ans.Scroll, Moved: ans.Moved}
	out.holds(ans)
	return out, nil, nil
}

// does has our code do something by itself, and waits for what the page makes of it.
// It comes after a look at the element, so that a busy page does nothing for somebody
// who has given up meanwhile, and a dialog that opens is one of the action.
func (a *actor) does(ctx context.Context, name string, arg map[string]any) (*answer, error) {
	ans, err := a.ask(ctx, name, arg)
	var unsent *target.Unsent
	a.sent = a.sent || !errors.As(err, &unsent)
	a.open = err != nil
	if err != nil || !ans.OK {
		return ans, err
	}
	a.early = true
	return ans, a.barrier(ctx)
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

// effects adds what the action has caused besides.
func (a *actor) effects(ctx context.Context, mark target.Mark, out *Outcome) error {
	out.OK = true
	wait, cancel := context.WithTimeout(ctx, settleBound)
	defer cancel()
	saves := a.saves(wait)
	if a.early {
		if err := a.t.Told(wait); err != nil {
			return err
		}
	}
	e, err := a.t.Since(wait, mark, saves)
	if err != nil {
		return err
	}
	out.Navigated, out.URL, out.Opened, out.ConsoleErrors = e.Navigated, e.URL, e.Opened, e.ConsoleErrors
	if d := e.Dialog; d != nil {
		out.Dialog = &DialogInfo{Kind: d.Kind, Message: clip(d.Message, maxMessage), Open: e.DialogOpen}
		if e.Dialogs > 1 {
			out.Dialog.Count = e.Dialogs
		}
	}
	if e.Download != nil {
		out.Download = &DownloadInfo{URI: e.Download.URL, Filename: e.Download.Filename}
	}
	return nil
}

// forget ends what our code looks at for the effects, for which nobody will ask.
func (a *actor) forget() {
	if a.save {
		a.at.frame.Tell(a.at.world, "saving", nil)
	}
}

// saves asks whether a link was clicked that saves what it leads to. A page that
// cannot say has gone on to something else.
func (a *actor) saves(ctx context.Context) bool {
	var ans answer
	return a.save && a.at.ask(ctx, "saving", nil, &ans) == nil && ans.Saves
}
