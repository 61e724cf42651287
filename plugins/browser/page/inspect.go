package page

import (
	"context"
	"encoding/json"

	"github.com/vant-run/vant/plugins/browser/target"
)

// Inspection says what to read.
type Inspection struct {
	Kind     string
	Ref      string
	MaxBytes int
}

// Inspect reads something of the page that is no element. Truncated says that the
// value was cut at the bound.
func Inspect(ctx context.Context, t *target.Tab, i Inspection) (value json.RawMessage, truncated bool, err error) {
	at, arg := place{frame: t.Main()}, map[string]any{"kind": i.Kind, "maxBytes": i.MaxBytes}
	if i.Ref != "" {
		p, failure := where(t, Element{Ref: i.Ref})
		if failure != nil {
			return nil, false, &FailedTarget{Code: failure.Error, Reason: failure.Reason}
		}
		at, arg["ref"] = p, i.Ref
	}
	var ans struct {
		Failure
		Value     json.RawMessage `json:"value"`
		Truncated bool            `json:"truncated"`
	}
	if err := at.ask(ctx, "inspect", arg, &ans); err != nil {
		failure, err := stale(at, err)
		if failure != nil {
			return nil, false, &FailedTarget{Code: failure.Error, Reason: failure.Reason}
		}
		return nil, false, err
	}
	if !ans.OK {
		return nil, false, &FailedTarget{Code: ans.Error, Reason: ans.Reason, Message: ans.Message}
	}
	return ans.Value, ans.Truncated, nil
}
