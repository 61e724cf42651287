package page

import (
	"context"
	"errors"
	"os"
	"time"
)

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
		a.sent, a.open = true, true
		if err := h.SetFiles(ctx, a.a.Files); err != nil {
			return nil, nil, err
		}
		a.open = false
		a.early = true
		return &Outcome{Hit: ans.Element}, nil, a.barrier(ctx)
	}
	a.t.ForgetChooser()
	click := *a
	click.a.Kind = "click"
	out, failure, err := click.point(ctx)
	a.sent, a.save, a.at = click.sent, click.save, click.at
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
	err = a.t.Guarded(ctx, func(ctx context.Context) error { return c.SetFiles(ctx, a.a.Files) })
	if err != nil {
		return nil, nil, err
	}
	a.early = true
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
