package target

import (
	"context"
	"errors"
	"fmt"

	"github.com/chromedp/cdproto/cdp"

	"github.com/vant-run/vant/plugins/browser/inject"
	"github.com/vant-run/vant/plugins/browser/transport"
)

// ErrNoNode: the function of our code gave no node.
var ErrNoNode = errors.New("there is no such element")

// Handle is a node of a page, held for a few commands in the isolated world of its
// document. Release lets it go.
type Handle struct {
	frame   *Frame
	session *transport.Session
	id      string
}

type remote struct {
	Result struct {
		ObjectID string `json:"objectId"`
	} `json:"result"`
	Exception *Exception `json:"exceptionDetails"`
}

// Handle calls a function of our code that gives a node.
func (f *Frame) Handle(ctx context.Context, world, name string, arg any) (*Handle, error) {
	ctx, end := f.tab.guard(ctx)
	defer end()
	call, err := inject.Call(name, arg)
	if err != nil {
		return nil, err
	}
	in, installed, err := f.enter(ctx)
	if err != nil {
		return nil, err
	}
	if !installed || world != "" && in.world != world {
		return nil, ErrNavigated
	}
	var r remote
	err = in.session.Call(ctx, "Runtime.evaluate", map[string]any{"expression": call, "uniqueContextId": in.world}, &r)
	switch {
	case err != nil:
		return nil, f.failed(in.session, err)
	case r.Exception != nil:
		return nil, fmt.Errorf("our code in the page failed: %w", r.Exception)
	case r.Result.ObjectID == "":
		return nil, ErrNoNode
	}
	return &Handle{f, in.session, r.Result.ObjectID}, nil
}

// Resolve gives a handle for a node that the browser named.
func (f *Frame) Resolve(ctx context.Context, world string, node cdp.BackendNodeID) (*Handle, error) {
	ctx, end := f.tab.guard(ctx)
	defer end()
	b := f.tab.browser
	b.mu.Lock()
	s, err := f.ready()
	number, same := f.context, f.world == world
	b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if !same {
		return nil, ErrNavigated
	}
	var r struct {
		Object struct {
			ObjectID string `json:"objectId"`
		} `json:"object"`
	}
	err = s.Call(ctx, "DOM.resolveNode", map[string]any{"backendNodeId": node, "executionContextId": number}, &r)
	if err != nil {
		return nil, f.failed(s, err)
	}
	return &Handle{f, s, r.Object.ObjectID}, nil
}

// Release lets the page free the node.
func (h *Handle) Release() {
	h.session.Start("Runtime.releaseObject", map[string]any{"objectId": h.id})
}

// Give calls a function of our code with the node and a text.
func (h *Handle) Give(ctx context.Context, name, with string) error {
	ctx, end := h.frame.tab.guard(ctx)
	defer end()
	var r remote
	err := h.session.Call(ctx, "Runtime.callFunctionOn", map[string]any{
		"functionDeclaration": "function(name, text) { __vant[name](this, text) }",
		"objectId":            h.id,
		"arguments":           []any{map[string]any{"value": name}, map[string]any{"value": with}},
	}, &r)
	if err != nil {
		return h.frame.failed(h.session, err)
	}
	if r.Exception != nil {
		return fmt.Errorf("our code in the page failed: %w", r.Exception)
	}
	return nil
}

// SetFiles gives files to the node, which must be an input of type file.
func (h *Handle) SetFiles(ctx context.Context, files []string) error {
	ctx, end := h.frame.tab.guard(ctx)
	defer end()
	return h.frame.tab.gone(h.session.Call(ctx, "DOM.setFileInputFiles", map[string]any{"files": files, "objectId": h.id}, nil))
}

// Bind makes the frame's element known to our code in the parent frame, which
// shows the frame's content at its place. It does nothing when that is done.
func (f *Frame) Bind(ctx context.Context) error {
	b := f.tab.browser
	parent := f.parent
	world := parent.World()
	b.mu.Lock()
	done := world != "" && f.bound == world
	b.mu.Unlock()
	if done {
		return nil
	}
	if world == "" {
		var err error
		if _, world, err = parent.Invoke(ctx, "", "ready", nil); err != nil {
			return err
		}
	}
	s, err := parent.Session()
	if err != nil {
		return err
	}
	guarded, end := f.tab.guard(ctx)
	defer end()
	var owner struct {
		BackendNodeID cdp.BackendNodeID `json:"backendNodeId"`
	}
	if err := s.Call(guarded, "DOM.getFrameOwner", map[string]any{"frameId": f.ID}, &owner); err != nil {
		return f.failed(s, err)
	}
	h, err := parent.Resolve(ctx, world, owner.BackendNodeID)
	if err != nil {
		return err
	}
	defer h.Release()
	if err := h.Give(ctx, "bindFrame", string(f.ID)); err != nil {
		return err
	}
	b.mu.Lock()
	f.bound = world
	b.mu.Unlock()
	return nil
}
