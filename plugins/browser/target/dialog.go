package target

import (
	"context"
	"errors"

	"github.com/chromedp/cdproto/cdp"

	"github.com/vant-run/vant/internal/wire"
	"github.com/vant-run/vant/plugins/browser/transport"
)

// ErrNoDialog: no dialog is open in the tab.
var ErrNoDialog = errors.New("no dialog is open")

// maxMessage bounds a dialog's text, in bytes.
const maxMessage = 4096

// Dialog is a dialog that a page has opened.
type Dialog struct {
	Kind    string `json:"type"` // alert, confirm, prompt or beforeunload
	Message string `json:"message"`
	Default string `json:"defaultPrompt"`
	session *transport.Session
}

// Chooser is a file chooser that the page has opened.
type Chooser struct {
	FrameID       cdp.FrameID       `json:"frameId"`
	Mode          string            `json:"mode"` // selectSingle or selectMultiple
	BackendNodeID cdp.BackendNodeID `json:"backendNodeId"`
	session       *transport.Session
}

// SetFiles gives a chooser its files.
func (c *Chooser) SetFiles(ctx context.Context, files []string) error {
	return c.session.Call(ctx, "DOM.setFileInputFiles", map[string]any{"files": files, "backendNodeId": c.BackendNodeID}, nil)
}

// dialogOpening answers a dialog, or holds it; mu is held.
func (t *Tab) dialogOpening(s *sessionOf, d Dialog) {
	d.session = s.Session
	hold := t.browser.o.HoldDialogs
	t.dialogs++
	t.lastDialog = d
	t.browser.publish("page.dialog", map[string]any{
		"tab_id": t.ID, "kind": d.Kind, "message": wire.Shorten(d.Message, maxMessage), "answered": !hold,
	})
	if hold {
		t.dialog = &d
	} else {
		accept := d.Kind == "alert" || d.Kind == "beforeunload"
		s.Start("Page.handleJavaScriptDialog", map[string]bool{"accept": accept})
	}
	t.notify()
}

func (t *Tab) dialogClosed(*sessionOf) {
	t.dialog = nil
	t.notify()
}

// AnswerDialog answers the open dialog; text is what a prompt gets.
func (t *Tab) AnswerDialog(ctx context.Context, accept bool, text string) error {
	t.browser.mu.Lock()
	d := t.dialog
	t.browser.mu.Unlock()
	if d == nil {
		return ErrNoDialog
	}
	params := map[string]any{"accept": accept}
	if accept && d.Kind == "prompt" {
		params["promptText"] = text
	}
	if err := d.session.Call(ctx, "Page.handleJavaScriptDialog", params, nil); err != nil {
		return t.gone(err)
	}
	return t.wait(ctx, func() bool { return t.dialog != d })
}

// OpenDialog is the dialog that is open, nil when none is.
func (t *Tab) OpenDialog() *Dialog {
	t.browser.mu.Lock()
	defer t.browser.mu.Unlock()
	return t.dialog
}

// HoldChoosers keeps file choosers from opening in the tab until the returned
// function is called. Where nobody sees the browser they never open.
func (t *Tab) HoldChoosers() func() {
	if !t.browser.o.Headed {
		return func() {}
	}
	t.interceptChoosers(true)
	return func() { t.interceptChoosers(false) }
}

func (t *Tab) interceptChoosers(on bool) {
	t.browser.mu.Lock()
	defer t.browser.mu.Unlock()
	told := make(map[*transport.Session]bool)
	for _, f := range t.frames {
		if f.session != nil && !told[f.session] {
			told[f.session] = true
			f.session.Start("Page.setInterceptFileChooserDialog", map[string]bool{"enabled": on})
		}
	}
}
