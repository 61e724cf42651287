package transport

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/google/go-cmp/cmp"
)

type number struct {
	N int `json:"n"`
}

func TestCallsGetTheirOwnAnswersInAnyOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, f := connect(t, nil)
		var started []*Pending
		for n := range 100 {
			started = append(started, c.Root().Start("A.b", number{n}))
		}
		var commands []command
		for n := range 100 {
			got := f.next()
			if got.Method != "A.b" || string(got.Params) != fmt.Sprintf(`{"n":%d}`, n) {
				t.Fatalf("command %d is %+v", n, got)
			}
			commands = append(commands, got)
		}
		for n := range 100 { // the last one first
			f.answer(commands[99-n])
		}
		for n, p := range started {
			if got, err := p.Wait(t.Context()); err != nil || string(got) != fmt.Sprintf(`{"n":%d}`, n) {
				t.Errorf("answer %d is %s, %v", n, got, err)
			}
		}
	})
}

func TestCommandsCarryTheirSessionAndOnlyTheParametersThatThereAre(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, f := connect(t, nil)
		s := c.Attach("S1", nil)
		s.Start("A.none", nil)
		s.Start("A.raw", jsonv2.Value(`{"x":[1,"\u0000"]}`))
		c.Root().Start("A.typed", number{7})
		for _, want := range []command{
			{ID: 1, Method: "A.none", SessionID: "S1"},
			{ID: 2, Method: "A.raw", Params: json.RawMessage(`{"x":[1,"\u0000"]}`), SessionID: "S1"},
			{ID: 3, Method: "A.typed", Params: json.RawMessage(`{"n":7}`)},
		} {
			if diff := cmp.Diff(want, f.next()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
	})
}

func TestSixtyFourSessionsAtOnceKeepTheirAnswersAndEventsApart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const sessions, calls = 64, 50
		c, f := connect(t, nil)
		events := make([][]string, sessions) // each written by the reader only
		var all []*Session
		for i := range sessions {
			all = append(all, c.Attach(fmt.Sprintf("S%d", i), func(method string, params []byte) {
				events[i] = append(events[i], method+string(params))
			}))
		}
		go func() {
			for range sessions * calls {
				got := f.next()
				f.say(`{"method":"E.e","params":%s,"sessionId":%q}`, got.Params, got.SessionID)
				f.answer(got)
			}
		}()
		var wg sync.WaitGroup
		for i, s := range all {
			wg.Go(func() {
				for n := range calls {
					var got number
					if err := s.Call(t.Context(), "A.b", number{i*calls + n}, &got); err != nil || got.N != i*calls+n {
						t.Errorf("session %d call %d got %d, %v", i, n, got.N, err)
					}
				}
			})
		}
		wg.Wait()
		for i, got := range events {
			var want []string
			for n := range calls {
				want = append(want, fmt.Sprintf(`E.e{"n":%d}`, i*calls+n))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("events of session %d (-want +got):\n%s", i, diff)
			}
		}
	})
}

func TestAnEventIsHandledBeforeTheAnswerThatFollowsIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		handled := false
		c, f := connect(t, func(string, []byte) { handled = true })
		go func() {
			got := f.next()
			f.say(`{"method":"E.e","params":{}}`)
			f.answer(got)
		}()
		if err := c.Root().Call(t.Context(), "A.b", nil, nil); err != nil || !handled {
			t.Errorf("handled %v, %v", handled, err)
		}
	})
}

func TestASessionThatIsAttachedInAHandlerMissesNoEvent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var c *Conn
		var got []string
		made := make(chan *Session, 1)
		root := func(_ string, params []byte) {
			var announced struct{ SessionID string }
			if err := json.Unmarshal(params, &announced); err != nil {
				t.Error(err)
			}
			s := c.Attach(announced.SessionID, func(method string, _ []byte) { got = append(got, method) })
			s.Start("A.first", nil) // allowed here
			made <- s
		}
		c, f := connect(t, root)
		// One write: nothing comes between.
		if _, err := f.out.Write([]byte("{\"method\":\"Target.attachedToTarget\",\"params\":{\"sessionId\":\"S\"}}\x00" +
			"{\"method\":\"E.one\",\"params\":{},\"sessionId\":\"S\"}\x00{\"method\":\"E.two\",\"params\":{},\"sessionId\":\"S\"}\x00")); err != nil {
			t.Fatal(err)
		}
		if id := (<-made).ID(); id != "S" {
			t.Errorf("the session is %q", id)
		}
		if got := f.next(); got.Method != "A.first" || got.SessionID != "S" {
			t.Errorf("the command is %+v", got)
		}
		synctest.Wait()
		if diff := cmp.Diff([]string{"E.one", "E.two"}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestDetachFailsTheSessionsCallsWithItsCause(t *testing.T) {
	bubble(t, func(t *testing.T) {
		crashed := errors.New("the tab has crashed")
		c, f := connect(t, nil)
		gone, stays := c.Attach("gone", nil), c.Attach("stays", nil)
		a, b, other := gone.Start("A.b", nil), gone.Start("A.b", nil), stays.Start("A.b", nil)
		var waiting []command
		for range 3 {
			waiting = append(waiting, f.next())
		}
		events, _ := gone.Subscribe("E.e")
		c.Detach("gone", crashed)
		for _, p := range []*Pending{a, b, gone.Start("A.late", nil)} {
			_, err := p.Wait(t.Context())
			is(t, "a call", err, crashed)
		}
		<-gone.Done()
		is(t, "the session", gone.Err(), crashed)
		if _, open := <-events; open {
			t.Error("the subscription goes on")
		}
		for _, w := range waiting { // those of the ended session are nobody's
			f.answer(w)
		}
		if _, err := other.Wait(t.Context()); err != nil || stays.Err() != nil {
			t.Errorf("the other session's call: %v, %v", err, stays.Err())
		}
		c.Detach("gone", nil)
		c.Detach("unknown", crashed)
		c.Detach("", crashed)
		is(t, "after a second Detach", gone.Err(), crashed)
		if err := c.Root().Err(); err != nil {
			t.Errorf("the root has ended: %v", err)
		}
	})
}

func TestInterruptFailsWhatWaitsAndTheSessionGoesOn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		crashed := errors.New("the tab has crashed")
		c, f := connect(t, nil)
		s, beside := c.Attach("S", nil), c.Attach("beside", nil)
		waits, other := s.Start("A.b", nil), beside.Start("A.b", nil)
		late := f.next()
		c.Interrupt(s, crashed)
		_, err := waits.Wait(t.Context())
		is(t, "the call", err, crashed)
		go func() {
			f.answer(late) // nobody's
			f.serve(2)
		}()
		if err := s.Call(t.Context(), "A.next", nil, nil); err != nil || s.Err() != nil {
			t.Errorf("the next call: %v, %v", err, s.Err())
		}
		if _, err := other.Wait(t.Context()); err != nil {
			t.Errorf("the other session's call: %v", err)
		}
	})
}

func TestDetachWithoutACauseIsNoSuccess(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, _ := connect(t, nil)
		s := c.Attach("S", nil)
		p := s.Start("A.b", nil)
		c.Detach("S", nil)
		_, err := p.Wait(t.Context())
		is(t, "the call", err, ErrDetached)
	})
}

func TestAttachAgainEndsTheOldSessionAndItsCalls(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, f := connect(t, nil)
		old := c.Attach("S", nil)
		p := old.Start("A.old", nil)
		f.next()
		s := c.Attach("S", nil)
		_, err := p.Wait(t.Context())
		is(t, "the old session's call", err, ErrDetached)
		is(t, "its next one", old.Call(t.Context(), "A.old", nil, nil), ErrDetached)
		go f.serve(1)
		if err := s.Call(t.Context(), "A.new", nil, nil); err != nil {
			t.Error(err)
		}
		is(t, "a session without a name", c.Attach("", nil).Call(t.Context(), "A.b", nil, nil), ErrDetached)
	})
}

// A command that starts while its session ends fails with the session's cause or
// is sent before; it never waits for an answer that cannot come.
func TestNoCallOutlivesItsSession(t *testing.T) {
	t.Parallel()
	crashed := errors.New("the tab has crashed")
	for round := range 200 {
		r, w := io.Pipe()
		c := New(r, discard{}, nil)
		s := c.Attach("S", nil)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				if _, err := s.Start("A.b", nil).Wait(ctx); !errors.Is(err, crashed) {
					t.Errorf("a call got %v", err)
				}
			})
		}
		if round%2 == 0 {
			c.Detach("S", crashed)
		} else {
			c.fail(crashed)
		}
		wg.Wait()
		c.Close()
		_ = w.Close()
	}
}

// discard is a browser that reads all and says nothing.
type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) Close() error                { return nil }

func TestTheConnectionsLossFailsEverythingAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, f := connect(t, nil)
		var calls []*Pending
		var events []<-chan jsonv2.Value
		sessions := []*Session{c.Root()}
		for i := range 8 {
			sessions = append(sessions, c.Attach(fmt.Sprint(i), nil))
		}
		for _, s := range sessions {
			ch, _ := s.Subscribe("E.e")
			events = append(events, ch)
			for range 10 {
				calls = append(calls, s.Start("A.b", nil))
				f.next()
			}
		}
		begun := time.Now()
		f.leave()
		<-c.Done()
		for _, p := range calls {
			select {
			case <-p.Done():
			default:
				t.Fatal("a call still waits when the connection is done")
			}
			_, err := p.Wait(t.Context())
			is(t, "a call", err, ErrClosed)
		}
		for i, s := range sessions {
			<-s.Done()
			is(t, "a session", s.Err(), ErrClosed)
			if _, open := <-events[i]; open {
				t.Error("a subscription goes on")
			}
			is(t, "a later call", s.Call(t.Context(), "A.b", nil, nil), ErrClosed)
		}
		is(t, "the connection", c.Err(), ErrClosed)
		is(t, "a later session", c.Attach("late", nil).Err(), ErrClosed)
		ch, cancel := c.Root().Subscribe("E.e")
		if _, open := <-ch; open {
			t.Error("a later subscription is open")
		}
		cancel()
		c.Detach("0", errors.New("late"))
		if d := time.Since(begun); d != 0 {
			t.Errorf("it took %v", d)
		}
	})
}

func TestCloseEndsAConnectionWhoseBrowserDoesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, _ := connect(t, nil)
		p := c.Root().Start("A.b", jsonv2.Value(`"`+strings.Repeat("x", 1<<20)+`"`))
		c.Close()
		c.Close()
		_, err := p.Wait(t.Context())
		is(t, "the call", err, ErrClosed)
	})
}

func TestACallThatIsGivenUpIsForgotten(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, f := connect(t, nil)
		tired := errors.New("tired")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, tired)
		defer cancel()
		p := c.Root().Start("A.b", nil)
		got := f.next()
		_, err := p.Wait(ctx)
		is(t, "the call", err, tired)
		c.mu.Lock()
		if len(c.pending) != 0 {
			t.Errorf("%d calls are kept", len(c.pending))
		}
		c.mu.Unlock()
		f.answer(got) // nobody's
		is(t, "a call that is too late", c.Root().Call(ctx, "A.never", nil, nil), tired)
		go f.serve(1)
		if got, err := c.Root().Start("A.c", number{1}).Wait(t.Context()); err != nil || string(got) != `{"n":1}` {
			t.Errorf("the next call got %s, %v", got, err)
		}
	})
}

func TestWhatFollowsAnAnswerIsDoneThoughNobodyWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, f := connect(t, nil)
		tired := errors.New("tired")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, tired)
		defer cancel()
		p := c.Root().StartThen("A.b", number{1}, func(result []byte) { c.Root().Start("A.undo", jsonv2.Value(result)) })
		got := f.next()
		_, err := p.Wait(ctx)
		is(t, "the call", err, tired)
		f.answer(got)
		if got := f.next(); got.Method != "A.undo" || string(got.Params) != `{"n":1}` {
			t.Errorf("the browser reads %+v", got)
		}
	})
}

func TestAnAnswerThatIsTooLongFailsItsCallAndTheNextOneWorks(t *testing.T) {
	t.Parallel()
	c, f := connect(t, nil)
	long := func(mib int, prefix string) {
		filler := bytes.Repeat([]byte("x"), 1<<20)
		_, err := f.out.Write([]byte(prefix))
		for range mib {
			if err == nil {
				_, err = f.out.Write(filler)
			}
		}
		if err == nil {
			_, err = f.out.Write([]byte("\"}}\x00"))
		}
		if err != nil {
			t.Error(err)
		}
	}
	go func() {
		long(70, fmt.Sprintf(`{"id":%d,"result":{"value":"`, f.next().ID))
		long(65, `{"method":"E.long","params":{"value":"`)
		f.serve(1)
		long(9, fmt.Sprintf(`{"id":%d,"result":{"value":"`, f.next().ID))
		f.serve(1)
	}()
	root := c.Root()
	is(t, "the long answer", root.Call(t.Context(), "A.long", nil, nil), ErrTooLarge)
	var n number
	if err := root.Call(t.Context(), "A.next", number{3}, &n); err != nil || n.N != 3 {
		t.Errorf("the next call: %+v, %v", n, err)
	}
	if most, err := root.Start("A.most", nil).Wait(t.Context()); err != nil || len(most) != 9<<20+len(`{"value":""}`) {
		t.Errorf("an answer of 9 MiB: %d bytes, %v", len(most), err)
	}
	if err := root.Call(t.Context(), "A.next", number{4}, &n); err != nil || n.N != 4 {
		t.Errorf("the call after it: %+v, %v", n, err)
	}
}

func TestABrowserThatDoesNotReadIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		seen := make(chan string, 1)
		c, f := connect(t, func(method string, _ []byte) { seen <- method })
		big := jsonv2.Value(`"` + strings.Repeat("x", 12<<20) + `"`)
		refused := 0
		for range 10 {
			p := c.Root().Start("A.big", big)
			select {
			case <-p.Done():
				_, err := p.Wait(t.Context())
				is(t, "a call", err, ErrNotRead)
				refused++
			default:
			}
			synctest.Wait() // the writer has taken what it can
		}
		if refused != 6 { // one is with the writer, and three are more than 32 MiB
			t.Errorf("%d of 10 calls of 12 MiB were refused", refused)
		}
		f.say(`{"method":"E.e","params":{}}`)
		if got := <-seen; got != "E.e" {
			t.Errorf("the event is %s", got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s := c.Attach("S", nil)
		is(t, "a call that is refused", s.Call(ctx, "A.b", nil, nil), ErrNotRead)
		begun := time.Now()
		for range 10 - refused { // it reads again: what was taken is there
			if text, err := f.in.ReadBytes(0); err != nil || !bytes.Contains(text[:40], []byte(`"A.big"`)) {
				t.Fatalf("the command is %.40s, %v", text, err)
			}
		}
		p := s.Start("A.b", nil)
		_, err := p.Wait(ctx) // no answer
		is(t, "a call without an answer", err, context.DeadlineExceeded)
		if d := time.Since(begun); d != time.Second {
			t.Errorf("the deadline came after %v", d)
		}
	})
}

func TestJunkAndUnknownSessionsChangeNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var got []string
		c, f := connect(t, func(method string, _ []byte) { got = append(got, method) })
		p := c.Root().Start("A.b", nil)
		asked := f.next()
		for _, junk := range []string{
			"", " ", "x", "{", "}", "[]", "{}", `{"id"`, `{"id":}`, `{"id":1e3,"result":{}}`, `{"id":"1","result":{}}`, `{"id":-5,"result":{}}`,
			`{"id":99,"result":{}}`, `{"id":99999999999999999999,"result":{}}`, `{"method":7}`, `{"method":"E.e","sessionId":"nobody"}`,
			`{"error":{"code":-32700,"message":"parse error"}}`, "\xff\xfe", `{"method":"`, "{\"a\":\x01}", `{"params":{"method":"E.e"}}`,
		} {
			f.say("%s", junk)
		}
		f.say(`{"method":"E.last"}`)
		f.answer(asked)
		if _, err := p.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{"E.last"}, got); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

func TestMessagesAreCutAtTheirEndsHoweverTheyArrive(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var got []string
		_, f := connect(t, func(method string, params []byte) { got = append(got, method+string(params)) })
		text := "{\"method\":\"E.a\",\"params\":{\"t\":\"ä\"}}\x00 {\"method\" : \"E.b\" , \"params\" : [1, 2] }\x00{\"method\":\"E.c\"}\x00"
		for size := 1; size < len(text); size += 7 {
			got = nil
			for rest := text; rest != ""; {
				n := min(size, len(rest))
				if _, err := f.out.Write([]byte(rest[:n])); err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			synctest.Wait()
			if diff := cmp.Diff([]string{`E.a{"t":"ä"}`, `E.b[1, 2]`, `E.c`}, got); diff != "" {
				t.Errorf("in pieces of %d (-want +got):\n%s", size, diff)
			}
		}
	})
}
