package target

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A frame in another one: of a process of its own, or in one that there is.
func framed(id, parent, session string, own bool) string {
	if own {
		return fmt.Sprintf(`{"method":"Target.attachedToTarget","sessionId":"a","params":{"sessionId":%q,"targetInfo":{"targetId":%q,"type":"iframe","parentFrameId":%q},"waitingForDebugger":true}}`, session, id, parent)
	}
	return fmt.Sprintf(`{"method":"Page.frameAttached","sessionId":%q,"params":{"frameId":%q,"parentFrameId":%q}}`, session, id, parent)
}

// world tells of the world of our code in a frame.
func world(frame, session string) string {
	return fmt.Sprintf(`{"method":"Runtime.executionContextCreated","sessionId":%q,"params":{"context":{"id":1,"name":%q,"uniqueId":"world of %s","auxData":{"frameId":%q}}}}`, session, worldName, frame, frame)
}

// TestOurCodeIsForNoLaterDocumentThoughNobodyWaits: what puts it into those that
// there are puts it into those that come, until it is taken back.
func TestOurCodeIsForNoLaterDocumentThoughNobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tab, p, _ := launched(t)
		p.tell(framed("f", "a", "a", false), world("a", "a"), world("f", "a"))
		synctest.Wait()
		p.hold("Page.addScriptToEvaluateOnNewDocument")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		tab.Main().Install(ctx, tab.Main().Below())
		if ctx.Err() == nil {
			t.Fatal("it was not waited for")
		}
		p.release()
		synctest.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		if n := p.sent["Page.removeScriptToEvaluateOnNewDocument"]; n != 1 {
			t.Errorf("it was taken back %d times", n)
		}
		if got := tab.Main().World(); got != "world of a" {
			t.Errorf("it is known to be in %q", got)
		}
	})
}

// TestAStuckProcessHoldsUpNoOther: h and k share a process, and so do f and g.
func TestAStuckProcessHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tab, p, _ := launched(t)
		p.tell(framed("f", "a", "s", true), framed("h", "a", "r", true))
		synctest.Wait()
		p.tell(framed("g", "f", "s", false), framed("k", "h", "r", false),
			world("a", "a"), world("f", "s"), world("g", "s"), world("h", "r"), world("k", "r"))
		synctest.Wait()
		p.mu.Lock()
		p.stuck = "s"
		p.mu.Unlock()
		tab.browser.mu.Lock()
		tab.main.installed = true
		tab.browser.mu.Unlock()

		const bound = 6 * time.Second
		ctx, cancel := context.WithTimeout(t.Context(), bound)
		defer cancel()
		began := time.Now()
		below := tab.Main().Below()
		var mu sync.Mutex
		ready := make(map[string]time.Duration)
		errs := Bind(ctx, tab.Main(), below, func(f *Frame) {
			mu.Lock()
			defer mu.Unlock()
			ready[string(f.ID)] = time.Since(began)
		})
		if diff := cmp.Diff(map[string]time.Duration{"a": 0, "h": 0, "k": 0, "f": bound, "g": bound}, ready); diff != "" {
			t.Errorf("when what is in them is known (-want +got):\n%s", diff)
		}
		for i, f := range below {
			var want error
			if f.ID == "g" {
				want = context.DeadlineExceeded
			}
			if !errors.Is(errs[i], want) {
				t.Errorf("%s: %v; want %v", f.ID, errs[i], want)
			}
		}
	})
}
