package page

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/vant-run/vant/internal/wire"
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
	var ans inspected
	var frames map[string]*inspected
	var err error
	if i.Kind == "text" {
		frames, err = ans.withFrames(ctx, &at, arg)
	} else {
		err = at.read(ctx, arg, &ans)
	}
	if err != nil {
		failure, err := stale(at, err)
		if failure != nil {
			return nil, &FailedTarget{Code: failure.Error, Reason: failure.Reason}
		}
		return nil, err
	}
	if !ans.OK {
		return nil, &FailedTarget{Code: ans.Error, Reason: ans.Reason, Message: ans.Message}
	}
	if len(ans.Frames) > 0 {
		ans.join(frames, i.MaxBytes)
	}
	if ans.Truncated {
		return cutShort(ans.Value, i.MaxBytes), nil
	}
	return ans.Value, nil
}

// inspected is what a document has said.
type inspected struct {
	Failure
	Value     json.RawMessage `json:"value"`
	Truncated bool            `json:"truncated"`
	// Of a text with frames in it: what is before, between and after them, and which
	// they are.
	Pieces []string `json:"pieces"`
	Frames []string `json:"frames"`
}

// withFrames asks the document for its text, and where frames are in that all that
// are below it for theirs. One that cannot be asked says nothing.
func (ans *inspected) withFrames(ctx context.Context, at *place, arg map[string]any) (frames map[string]*inspected, err error) {
	inside, cancel := context.WithTimeout(ctx, frameBound)
	defer cancel()
	below := firsts(at.frame.Below())
	frames = make(map[string]*inspected, len(below))
	for _, f := range below {
		frames[string(f.ID)] = &inspected{}
	}
	told := make(chan struct{}) // what frames are in it is known
	target.Bind(inside, at.frame, below, func(f *target.Frame) {
		if f == at.frame {
			if err = at.read(ctx, arg, ans); len(ans.Frames) == 0 {
				cancel() // no other is asked
			}
			close(told)
			return
		}
		if <-told; len(ans.Frames) == 0 {
			return
		}
		said, in := frames[string(f.ID)], place{frame: f}
		if err := in.read(inside, map[string]any{"kind": "text", "maxBytes": arg["maxBytes"]}, said); err != nil {
			*said = inspected{}
		}
	})
	return frames, err
}

// join makes one text of the pieces and of what the frames say.
func (ans *inspected) join(frames map[string]*inspected, limit int) {
	var b strings.Builder
	ans.write(&b, frames)
	text := b.String()
	if len(text) > limit {
		text, ans.Truncated = cutAtWord(text, limit), true
	}
	ans.Value = wire.AppendString(nil, text)
}

// write writes the text; each frame's is a block of its own.
func (ans *inspected) write(b *strings.Builder, frames map[string]*inspected) {
	if len(ans.Frames) == 0 {
		var text string
		if json.Unmarshal(ans.Value, &text) == nil {
			b.WriteString(text)
		}
		return
	}
	for i, piece := range ans.Pieces {
		b.WriteString(piece)
		if i == len(ans.Frames) {
			return
		}
		f := frames[ans.Frames[i]]
		before := b.Len()
		if f != nil {
			delete(frames, ans.Frames[i]) // each is written once
			f.write(b, frames)
			ans.Truncated = ans.Truncated || f.Truncated
		}
		if b.Len() == before {
			ans.Pieces[i+1] = strings.TrimLeft(ans.Pieces[i+1], "\n")
		}
	}
}

// wordReach is how far a cut may go back to the end of a word.
const wordReach = 256

// cutAtWord cuts a text between two words, or where there are none between two
// characters.
func cutAtWord(s string, n int) string {
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	if i := strings.LastIndexAny(s[:n], " \n\t"); i > n-wordReach && i > 0 {
		n = i
	}
	return s[:n]
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
