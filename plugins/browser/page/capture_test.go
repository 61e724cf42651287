package page

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/vant-run/vant/plugins/browser/target"
	"github.com/vant-run/vant/plugins/browser/transport"
)

// drawing is a browser with one tab that takes a picture when it is told to.
type drawing struct {
	out io.Writer

	mu        sync.Mutex // guards the fields that follow
	worlds    int        // that were made so far
	asked     int64      // for a picture
	relayouts []string   // that the page was asked for: in which world, with what
	busy      bool       // the page runs none
}

func draws(t *testing.T) (*target.Tab, *drawing) {
	t.Helper()
	ids, err := target.OpenIDs(filepath.Join(t.TempDir(), "ids"), hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	commands, ours := io.Pipe()
	answers, theirs := io.Pipe()
	d := &drawing{out: theirs}
	go d.serve(bufio.NewReader(commands))
	b := target.New(answers, ours, target.Options{IDs: ids})
	t.Cleanup(func() {
		b.Close()
		commands.Close()
		theirs.Close()
	})
	if err := b.WaitTab(t.Context()); err != nil {
		t.Fatal(err)
	}
	tab, err := b.Tab(0)
	if err != nil {
		t.Fatal(err)
	}
	return tab, d
}

func (d *drawing) say(format string, args ...any) {
	_, _ = d.out.Write(append(fmt.Appendf(nil, format, args...), 0)) // nobody may listen any more
}

// drawn answers the question for a picture.
func (d *drawing) drawn(answer string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.say(`{"id":%d,"sessionId":"a",%s}`, d.asked, answer)
}

func (d *drawing) asks() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.relayouts
}

func (d *drawing) serve(in *bufio.Reader) {
	for {
		text, err := in.ReadBytes(0)
		if err != nil {
			return
		}
		var c struct {
			ID        int64
			Method    string
			SessionID string
			Params    struct{ WorldName, Expression, UniqueContextID string }
		}
		if json.Unmarshal(text[:len(text)-1], &c) == nil {
			d.mu.Lock()
			result := "{}"
			relayout, arg, _ := strings.Cut(c.Params.Expression, `"relayout",`)
			switch {
			case c.Method == "Target.setAutoAttach" && c.SessionID == "":
				d.say(`{"method":"Target.attachedToTarget","params":{"sessionId":"a","targetInfo":{"targetId":"a","type":"page","url":"about:blank"}}}`)
			case c.Method == "Page.createIsolatedWorld":
				d.worlds++
				d.say(`{"method":"Runtime.executionContextCreated","sessionId":"a","params":{"context":{"id":%d,"name":%q,"uniqueId":"world %d","auxData":{"frameId":"a"}}}}`, d.worlds, c.Params.WorldName, d.worlds)
			case c.Method == "Runtime.evaluate":
				if relayout != c.Params.Expression {
					d.relayouts = append(d.relayouts, c.Params.UniqueContextID+": "+strings.TrimSuffix(arg, ")"))
				}
				result = `{"result":{"type":"string","value":""}}`
			}
			switch {
			case c.Method == "Page.captureScreenshot":
				d.asked = c.ID
			case c.Method == "Runtime.evaluate" && d.busy:
			case c.SessionID == "":
				d.say(`{"id":%d,"result":%s}`, c.ID, result)
			default:
				d.say(`{"id":%d,"sessionId":%q,"result":%s}`, c.ID, c.SessionID, result)
			}
			d.mu.Unlock()
		}
	}
}

// TestAPageIsLaidOutAgainWhenItsPictureIsTaken: not before, and whoever waits for it.
func TestAPageIsLaidOutAgainWhenItsPictureIsTaken(t *testing.T) {
	const (
		picture   = `"result":{"data":"cGljdHVyZQ=="}`
		refused   = `"error":{"code":-32000,"message":"Unable to capture screenshot"}`
		asItWas   = `world 1: {"x":3,"y":100}`
		patience  = 10 * time.Second
		cleared   = `{"method":"Runtime.executionContextsCleared","sessionId":"a","params":{}}`
		elsewhere = `world 2: {}`
	)
	var failure *transport.Error
	for name, tt := range map[string]struct {
		answer           string
		late, busy, gone bool
		want             string
		fails            func(error) bool
	}{
		"in time":                         {answer: picture, want: asItWas},
		"too late":                        {answer: picture, late: true, want: asItWas, fails: func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }},
		"refused":                         {answer: refused, want: asItWas, fails: func(err error) bool { return errors.As(err, &failure) }},
		"refused, by a page that is busy": {answer: refused, busy: true, want: asItWas, fails: func(err error) bool { return errors.As(err, &failure) }},
		"of a page that is busy":          {answer: picture, busy: true, want: asItWas, fails: func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }},
		"another document has come":       {answer: picture, gone: true, want: elsewhere},
		"another, and too late":           {answer: picture, gone: true, late: true, want: elsewhere, fails: func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tab, d := draws(t)
				_, world, err := tab.Main().Invoke(t.Context(), "", "ready", nil)
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				type taken struct {
					data []byte
					err  error
				}
				done := make(chan taken, 1)
				go func() {
					data, err := Shot{FullPage: true, Format: "png"}.capture(ctx, tab, area{scrolled: Point{3, 100}, world: world})
					done <- taken{data, err}
				}()
				synctest.Wait()
				if tt.late {
					<-ctx.Done()
					synctest.Wait()
				}
				if got := d.asks(); got != nil {
					t.Errorf("before it was taken the page is asked for %q", got)
				}
				d.mu.Lock()
				d.busy = tt.busy
				if tt.gone {
					d.say(cleared)
				}
				d.mu.Unlock()
				synctest.Wait()
				d.drawn(tt.answer)
				got := <-done
				synctest.Wait()
				if tt.fails == nil && (got.err != nil || string(got.data) != "picture") || tt.fails != nil && !tt.fails(got.err) {
					t.Errorf("it gave %q, %v", got.data, got.err)
				}
				if diff := cmp.Diff([]string{tt.want}, d.asks()); diff != "" {
					t.Errorf("the page is asked for (-want +got):\n%s", diff)
				}
			})
		})
	}
}
