package main

import (
	"context"
	"errors"

	"github.com/vant-run/vant/plugins/browser/page"
	"github.com/vant-run/vant/plugins/browser/target"
	"github.com/vant-run/vant/plugins/browser/transport"
	"github.com/vant-run/vant/plugins/internal/urlpolicy"
	"github.com/vant-run/vant/sdk"
)

// coded gives an error of the packages below its code.
func coded(err error) error {
	if err == nil {
		return nil
	}
	var (
		already  *sdk.Error
		script   *page.ScriptError
		load     *target.LoadError
		failed   *page.FailedTarget
		shot     *page.ScreenshotError
		param    *page.ParamError
		rejected *urlpolicy.Rejected
		external *urlpolicy.External
		denied   *urlpolicy.Denied
		raw      *transport.Error
	)
	switch {
	case errors.As(err, &already):
		return err
	case errors.Is(err, target.ErrNoTab), errors.Is(err, target.ErrNoWindow), errors.Is(err, target.ErrFrameGone),
		errors.Is(err, target.ErrTabClosed), errors.Is(err, target.ErrNoDialog):
		return sdk.Errorf("not_found", "%w", err).From(sdk.Caller)
	case errors.Is(err, target.ErrTabCrashed):
		return sdk.Errorf("tab_crashed", "%w", err).From(sdk.Downstream)
	case errors.Is(err, target.ErrBrowserLost):
		return sdk.Errorf("tab_crashed", "%w; the next call gets another one, and the event browser.restarted says which tabs came back", err).With(map[string]any{"browser": "lost"}).From(sdk.Downstream)
	case errors.Is(err, target.ErrDisconnected):
		return disconnected("%w and is being made again: whether this call has done something is not known", err)
	case errors.Is(err, target.ErrAsleep):
		return sdk.Errorf("timeout", "%w", err).With(map[string]any{"reason": "asleep"}).From(sdk.Downstream)
	case errors.Is(err, target.ErrDialogOpen):
		return sdk.Errorf("dialog_open", "%w", err).From(sdk.Caller)
	case errors.Is(err, target.ErrNavigated):
		return sdk.Errorf("javascript_error", "the page went to another document during the call: call again").
			With(map[string]any{"reason": "navigated"}).From(sdk.Downstream)
	case errors.As(err, &rejected):
		return sdk.Errorf("navigation_rejected", "%s", rejected.Error()).With(map[string]any{"rule": rejected.Rule}).From(sdk.Caller)
	case errors.As(err, &denied):
		return sdk.Errorf("navigation_rejected", "%s is refused by plugins.browser.%s in the configuration", denied.Host, denied.Rule).With(map[string]any{"rule": denied.Rule}).From(sdk.Caller)
	case errors.As(err, &external):
		return sdk.Errorf("navigation_external", "%s", external.Error()).With(map[string]any{"scheme": external.Scheme}).From(sdk.Caller)
	case errors.As(err, &load):
		return sdk.Errorf("navigation_failed", "%s", load.Error()).With(map[string]any{"net_error": load.Name}).From(sdk.Downstream)
	case errors.As(err, &script):
		return sdk.Errorf("javascript_error", "%s", script.Message).With(script).From(sdk.Downstream)
	case errors.As(err, &failed):
		return sdk.Errorf("invalid_params", "%s", failed.Error()).With(map[string]any{"error": failed.Code, "reason": failed.Reason}).From(sdk.Caller)
	case errors.Is(err, target.ErrNoNode):
		return sdk.Errorf("invalid_params", "the element went away during the call: take a snapshot").
			With(map[string]any{"error": "stale_or_missing", "reason": "detached"}).From(sdk.Caller)
	case errors.As(err, &shot):
		return sdk.Errorf("screenshot_error", "%s", shot.Error())
	case errors.As(err, &param):
		return sdk.Errorf("invalid_params", "%s", param.Error()).From(sdk.Caller)
	case errors.Is(err, page.ErrWait), errors.Is(err, page.ErrNoAnswer):
		return sdk.Errorf("timeout", "%w", err).From(sdk.Downstream)
	case errors.Is(err, transport.ErrTooLarge):
		return sdk.Errorf("internal_error", "%w: ask for less at once", err).With(map[string]any{"reason": "too_large"}).From(sdk.Downstream)
	case errors.Is(err, transport.ErrNotRead):
		return sdk.Errorf("timeout", "%w", err).With(map[string]any{"reason": "not_read"}).From(sdk.Downstream)
	case errors.Is(err, context.DeadlineExceeded):
		return sdk.Errorf("timeout", "the page did not answer in time").From(sdk.Downstream)
	case errors.As(err, &raw):
		return sdk.Errorf("internal_error", "%s", raw.Error()).From(sdk.Downstream)
	}
	return err
}

// disconnected is the failure of a call whose browser runs, but cannot be spoken to.
func disconnected(format string, args ...any) error {
	return sdk.Errorf(codeDisconnected, format, args...).From(sdk.Downstream)
}

const codeDisconnected = "browser_disconnected"
