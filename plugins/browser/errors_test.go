package main

import (
	"errors"
	"fmt"
	"testing"

	"github.com/vant-run/vant/plugins/browser/page"
	"github.com/vant-run/vant/plugins/browser/target"
	"github.com/vant-run/vant/plugins/browser/transport"
	"github.com/vant-run/vant/sdk"
)

func TestFailuresBelowHaveACode(t *testing.T) {
	for err, want := range map[error]string{
		transport.ErrTooLarge: "internal_error", transport.ErrNotRead: "timeout", &transport.Error{Method: "A.b", Message: "no"}: "internal_error",
		target.ErrNoTab: "not_found", target.ErrNoWindow: "not_found", target.ErrFrameGone: "not_found", target.ErrTabClosed: "not_found",
		target.ErrNoDialog: "not_found", target.ErrTabCrashed: "tab_crashed", target.ErrBrowserLost: "tab_crashed", target.ErrDisconnected: codeDisconnected,
		target.ErrAsleep: "timeout", target.ErrDialogOpen: "dialog_open", target.ErrNavigated: "javascript_error", target.ErrNoNode: "invalid_params",
		page.ErrWait: "timeout",
	} {
		var e *sdk.Error
		if got := coded(fmt.Errorf("doing it: %w", err)); !errors.As(got, &e) || e.Code != want {
			t.Errorf("%v is %v; want %s", err, got, want)
		}
	}
}
