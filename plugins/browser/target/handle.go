package target

import (
	"context"
	"errors"
	"fmt"

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

// Release lets the page free the node.
func (h *Handle) Release() {
	h.session.Start("Runtime.releaseObject", map[string]any{"objectId": h.id})
}

// SetFiles gives files to the node, which must be an input of type file.
func (h *Handle) SetFiles(ctx context.Context, files []string) error {
	ctx, end := h.frame.tab.guard(ctx)
	defer end()
	return h.frame.tab.gone(h.session.Call(ctx, "DOM.setFileInputFiles", map[string]any{"files": files, "objectId": h.id}, nil))
}
