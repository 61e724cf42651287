package page

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/vant-run/vant/plugins/browser/target"
)

// Inspection says what to read.
type Inspection struct {
	Kind     string
	Ref      string
	MaxBytes int
}

// Inspect reads something of the page that is no element. A text that was cut at
// the bound ends in words that say so, a list in {"truncated":true}.
func Inspect(ctx context.Context, t *target.Tab, i Inspection) (json.RawMessage, error) {
	at, arg := place{frame: t.Main()}, map[string]any{"kind": i.Kind, "maxBytes": i.MaxBytes}
	if i.Ref != "" {
		p, failure := where(t, Element{Ref: i.Ref})
		if failure != nil {
			return nil, &FailedTarget{Code: failure.Error, Reason: failure.Reason}
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
			return nil, &FailedTarget{Code: failure.Error, Reason: failure.Reason}
		}
		return nil, err
	}
	if !ans.OK {
		return nil, &FailedTarget{Code: ans.Error, Reason: ans.Reason, Message: ans.Message}
	}
	if ans.Truncated {
		return cutShort(ans.Value, i.MaxBytes), nil
	}
	return ans.Value, nil
}

// cutShort adds to a text or a list that it is not all.
func cutShort(value json.RawMessage, limit int) json.RawMessage {
	body, last := value[:len(value)-1], value[len(value)-1]
	switch {
	case last == '"':
		return fmt.Appendf(body, `\n… [cut at %d bytes: raise max_bytes, or give a ref]"`, limit)
	case len(body) > 1:
		body = append(body, ',')
	}
	return append(body, `{"truncated":true}]`...)
}
