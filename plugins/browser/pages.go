package main

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/vant-run/vant/plugins/browser/diagnostics"
	"github.com/vant-run/vant/plugins/browser/page"
	"github.com/vant-run/vant/plugins/browser/target"
	"github.com/vant-run/vant/sdk"
)

type script struct {
	onTab
	Script    string `json:"script" doc:"runs in the page's own world; the completion value is the result"`
	Await     *bool  `json:"await,omitempty" doc:"wait for a promise; default true"`
	TimeoutMS int    `json:"timeout_ms" default:"15000" clamp:"1,30000" doc:"a script that still runs then is stopped"`
	Frame     string `json:"frame,omitempty" doc:"id of a frame, from page.frames"`
}

type snapshot struct {
	onTab
	Limit    int     `json:"limit" default:"500" clamp:"1,100000" doc:"elements at most"`
	MaxBytes int     `json:"max_bytes" default:"65536" clamp:"1024,8388608" doc:"bytes of elements or outline at most"`
	Scope    string  `json:"scope,omitempty" doc:"only what is in this element: a ref or a CSS selector"`
	Filter   *filter `json:"filter,omitempty"`
	Format   string  `json:"format" default:"list" enum:"list,outline" doc:"list: elements as objects; outline: an indented text tree with refs"`
	Detail   bool    `json:"detail,omitempty" doc:"more elements (headings, images, options, what only a script listens to) and their bounds"`
}

type filter struct {
	Text string `json:"text,omitempty" doc:"in the name or value"`
	Role string `json:"role,omitempty"`
}

type interact struct {
	onTab
	Ref       *string         `json:"ref,omitempty" doc:"of a snapshot: @e3_7"`
	Selector  string          `json:"selector,omitempty" doc:"CSS; wins over ref"`
	Action    string          `json:"action" enum:"click,dblclick,hover,focus,blur,fill,type,clear,select,check,uncheck,scroll,key,press,drag,upload" doc:"what to do: fill replaces what a field holds, type adds key by key; key presses in the element, press in what has the focus"`
	Value     json.RawMessage `json:"value,omitempty" doc:"of fill, type, select (also a list), key, press and scroll: a text or a number"`
	TimeoutMS int             `json:"timeout_ms" default:"1000" clamp:"0,30000" doc:"how long the element may take until it can be used; 0: look once"`
	Button    string          `json:"button,omitempty" enum:"left,right,middle" doc:"of click and dblclick; left without it"`
	Modifiers []string        `json:"modifiers,omitempty" doc:"held meanwhile: Control, Shift, Alt, Meta"`
	Count     int             `json:"count,omitempty" min:"1" max:"10" doc:"clicks or key strokes"`
	Position  *page.Point     `json:"position,omitempty" doc:"in the element, from its upper left corner"`
	Files     []string        `json:"files,omitempty" doc:"absolute paths, for upload"`
	To        *page.Element   `json:"to,omitempty" doc:"where a drag goes"`
}

type wait struct {
	onTab
	Text      string `json:"text,omitempty" doc:"visible text"`
	Selector  string `json:"selector,omitempty" doc:"a visible element that fits"`
	Ref       string `json:"ref,omitempty" doc:"this element is visible"`
	URL       string `json:"url,omitempty" doc:"a part of the address; * stands for any text"`
	Load      bool   `json:"load,omitempty" doc:"the page has loaded"`
	Function  string `json:"function,omitempty" doc:"an expression that becomes true"`
	Gone      bool   `json:"gone,omitempty" doc:"wait until text, selector or ref is not there"`
	TimeoutMS int    `json:"timeout_ms" default:"5000" clamp:"0,30000"`
}

type inspect struct {
	onTab
	Kind     string `json:"kind" enum:"text,html,selection,metadata,markdown,links,forms,styles"`
	Ref      string `json:"ref,omitempty" doc:"only this element"`
	MaxBytes int    `json:"max_bytes" default:"1048576" clamp:"1,8388608" doc:"a text that is cut there ends in words that say so, a list in {\"truncated\":true}"`
}

type shot struct {
	onTab
	Path     string `json:"path" doc:"absolute; the file is replaced in one step"`
	FullPage bool   `json:"full_page,omitempty"`
	Ref      string `json:"ref,omitempty" doc:"only this element"`
	Selector string `json:"selector,omitempty" doc:"only the first element that fits; wins over ref"`
	Format   string `json:"format" default:"png" enum:"png,jpeg,webp"`
	Quality  int    `json:"quality" default:"80" clamp:"1,100" doc:"of jpeg and webp"`
	Annotate bool   `json:"annotate,omitempty" doc:"draw boxes with refs around what can be used; with png and jpeg"`
}

type diagnose struct {
	onTab
	Since float64 `json:"since,omitempty" doc:"only events after this time, in milliseconds since 1970"`
	Level string  `json:"level,omitempty" enum:"debug,log,info,warn,error" doc:"the lowest level that is shown"`
}

type answerDialog struct {
	onTab
	Accept bool   `json:"accept" doc:"accept or dismiss"`
	Text   string `json:"text,omitempty" doc:"what a prompt gets"`
}

func pages(p *sdk.Plugin, l *life) {
	common := sdk.Errors("not_found", "tab_crashed", "dialog_open", "timeout", codeDisconnected)
	sdk.Handle(p, "page.javascript", "Run JavaScript in the page; the result is the value's JSON.",
		func(ctx context.Context, in script) (json.RawMessage, error) {
			t, err := l.act(ctx, in.TabID)
			if err != nil {
				return nil, coded(err)
			}
			value, err := page.JavaScript(ctx, t, page.Script{
				Source: in.Script, Await: in.Await == nil || *in.Await, Timeout: milliseconds(in.TimeoutMS), Frame: in.Frame,
			})
			return json.RawMessage(value), coded(err)
		}, long, common, sdk.Errors("javascript_error"), sdk.Since("0.1.0"), sdk.Example(`{"script":"document.title"}`))
	sdk.Handle(p, "page.snapshot", "List what can be used on the page, each with a ref.",
		func(ctx context.Context, in snapshot) (json.RawMessage, error) {
			t, err := l.tab(ctx, in.TabID)
			if err != nil {
				return nil, coded(err)
			}
			o := page.SnapshotOptions{
				Limit: in.Limit, MaxBytes: in.MaxBytes, Scope: in.Scope, Outline: in.Format == "outline", Detail: in.Detail,
			}
			if in.Filter != nil {
				o.Text, o.Role = in.Filter.Text, in.Filter.Role
			}
			list, err := page.Snapshot(ctx, t, o)
			return list, coded(err)
		}, quick, common, sdk.ReadOnly(), sdk.Since("0.1.0"), sdk.Example(`{"format":"outline"}`))
	sdk.Handle(p, "page.interact", "Click, fill, select, type … by real input events; says what was hit.",
		func(ctx context.Context, in interact) (any, error) {
			a, err := in.action()
			if err != nil {
				return nil, coded(err)
			}
			if a.Files, err = l.uploads().readable(a.Files); err != nil {
				return nil, err
			}
			t, err := l.act(ctx, in.TabID)
			if err != nil {
				return nil, coded(err)
			}
			out, err := page.Interact(ctx, t, a)
			return out, coded(err)
		}, long, common, sdk.Errors("permission_denied"), sdk.Since("0.1.0"), sdk.Example(`{"ref":"@e1_1","action":"click"}`),
		sdk.Example(`{"selector":"input[name=q]","action":"fill","value":"vant"}`))
	sdk.Handle(p, "page.wait", "Wait for a text, an element, an address, a load or an expression.",
		func(ctx context.Context, in wait) (bool, error) {
			t, err := l.tab(ctx, in.TabID)
			if err != nil {
				return false, coded(err)
			}
			err = page.Wait(ctx, t, page.Condition{
				Text: in.Text, Selector: in.Selector, Ref: in.Ref, URL: in.URL, Function: in.Function, Load: in.Load, Gone: in.Gone,
				Timeout: milliseconds(in.TimeoutMS),
			})
			return err == nil, coded(err)
		}, long, common, sdk.Errors("javascript_error"), sdk.Since("0.1.0"), sdk.Example(`{"text":"Thank you"}`))
	sdk.Handle(p, "page.inspect", "Read the page: text, html, selection, metadata, markdown, links, forms or styles.",
		func(ctx context.Context, in inspect) (json.RawMessage, error) {
			t, err := l.tab(ctx, in.TabID)
			if err != nil {
				return nil, coded(err)
			}
			value, err := page.Inspect(ctx, t, page.Inspection{Kind: in.Kind, Ref: in.Ref, MaxBytes: in.MaxBytes})
			return value, coded(err)
		}, quick, common, sdk.ReadOnly(), sdk.Since("0.1.0"), sdk.Example(`{"kind":"metadata"}`))
	sdk.Handle(p, "page.screenshot", "Take a picture into a file.",
		func(ctx context.Context, in shot) (page.Picture, error) {
			path, err := l.writes().writable(in.Path)
			if err != nil {
				return page.Picture{}, err
			}
			t, err := l.tab(ctx, in.TabID)
			if err != nil {
				return page.Picture{}, coded(err)
			}
			picture, err := page.Screenshot(ctx, t, page.Shot{
				Path: path, FullPage: in.FullPage, Element: page.Element{Ref: in.Ref, Selector: in.Selector}, Format: in.Format, Quality: in.Quality, Annotate: in.Annotate,
			})
			return picture, coded(err)
		}, quick, common, sdk.Errors("screenshot_error", "permission_denied"), sdk.Since("0.1.0"), sdk.Example(`{"path":"/tmp/page.png"}`))
	sdk.Handle(p, "page.diagnostics", "What the page wrote to the console, and its errors.",
		func(ctx context.Context, in diagnose) (diagnostics.Report, error) {
			t, err := l.tab(ctx, in.TabID)
			if err != nil {
				return diagnostics.Report{}, coded(err)
			}
			return t.Diagnostics.Read(diagnostics.Query{Since: in.Since, Level: in.Level}), nil
		}, quick, common, sdk.ReadOnly(), sdk.Since("0.1.0"))
	sdk.Handle(p, "page.diagnostics.clear", "Forget what the page wrote.",
		func(ctx context.Context, in onTab) (bool, error) {
			t, err := l.tab(ctx, in.TabID)
			if err != nil {
				return false, coded(err)
			}
			t.Diagnostics.Clear()
			return true, nil
		}, quick, common, sdk.Idempotent(), sdk.Since("0.1.0"))
	sdk.Handle(p, "page.native_diagnostics", "How the tab itself does: its last failed load, its last crash, whether it answers.",
		func(ctx context.Context, in onTab) (target.Health, error) {
			t, err := l.find(ctx, in.TabID)
			if err != nil {
				return target.Health{}, coded(err)
			}
			return t.Health(ctx), nil
		}, quick, common, sdk.ReadOnly(), sdk.Since("0.1.0"))
	sdk.Handle(p, "page.dialog", "Answer the open dialog.",
		func(ctx context.Context, in answerDialog) (bool, error) {
			t, err := l.tab(ctx, in.TabID)
			if err != nil {
				return false, coded(err)
			}
			return true, coded(t.AnswerDialog(ctx, in.Accept, in.Text))
		}, quick, common, sdk.Since("0.1.0"), sdk.Example(`{"accept":true}`))
	sdk.Handle(p, "page.frames", "List the tab's frames.",
		func(ctx context.Context, in onTab) ([]target.FrameInfo, error) {
			t, err := l.tab(ctx, in.TabID)
			if err != nil {
				return nil, coded(err)
			}
			return t.Frames(), nil
		}, quick, common, sdk.ReadOnly(), sdk.Since("0.1.0"))
}

func milliseconds(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// action reads what may have several types.
func (in interact) action() (page.Action, error) {
	a := page.Action{
		Element: page.Element{Selector: in.Selector}, Kind: in.Action, Timeout: milliseconds(in.TimeoutMS),
		Button: in.Button, Modifiers: in.Modifiers, Count: in.Count, Position: in.Position, Files: in.Files, To: in.To,
	}
	if in.Ref != nil {
		a.Ref = *in.Ref
		if a.Ref == "" {
			a.Ref = "@" // a ref was given, and no element has it
		}
	}
	if len(in.Value) == 0 || string(in.Value) == "null" {
		return a, nil
	}
	var value any
	if err := json.Unmarshal(in.Value, &value); err != nil {
		return a, err
	}
	switch v := value.(type) {
	case string:
		a.Value = &v
	case float64:
		text := string(in.Value)
		a.Value = &text
	case []any:
		if in.Action != "select" {
			return a, sdk.Errorf("invalid_param_type", "/value: expected a text or a number; a list is for select").From(sdk.Caller)
		}
		a.Values = []string{} // none is chosen
		for _, item := range v {
			switch item := item.(type) {
			case string:
				a.Values = append(a.Values, item)
			case float64:
				a.Values = append(a.Values, strconv.FormatFloat(item, 'g', -1, 64))
			default:
				return a, sdk.Errorf("invalid_param_type", "/value: expected texts or numbers in the list").From(sdk.Caller)
			}
		}
	default:
		return a, sdk.Errorf("invalid_param_type", "/value: expected a text or a number").From(sdk.Caller)
	}
	return a, nil
}
