package transport

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/chromedp/cdproto/cdp"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/google/go-cmp/cmp"
)

func TestAnErrorOfTheBrowserIsTyped(t *testing.T) {
	for _, tt := range []struct {
		name, failure string
		want          Error
		text          string
	}{
		{
			"with data", `{"code":-32602,"message":"Invalid parameters","data":"url: string expected"}`,
			Error{"Page.navigate", -32602, "Invalid parameters", "url: string expected"},
			"Page.navigate: Invalid parameters (url: string expected)",
		},
		{
			"without", `{"code":-32000,"message":"Cannot find context"}`,
			Error{Method: "Page.navigate", Code: -32000, Message: "Cannot find context"}, "Page.navigate: Cannot find context",
		},
		{
			"of another shape", `"no"`,
			Error{Method: "Page.navigate", Message: "the browser refused it without a reason"},
			"Page.navigate: the browser refused it without a reason",
		},
		{
			"with data of another shape", `{"code":-1,"message":"m","data":{"a":1}}`,
			Error{Method: "Page.navigate", Code: -1, Message: "m"}, "Page.navigate: m",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c, f := connect(t, nil)
				go func() { f.say(`{"id":%d,"error":%s}`, f.next().ID, tt.failure) }()
				_, err := cdp.Call(t.Context(), c.Root(), page.Navigate, page.NavigateParams{URL: "x"})
				var got *Error
				if !errors.As(err, &got) {
					t.Fatalf("the error is %v", err)
				}
				if diff := cmp.Diff(tt.want, *got); diff != "" || err.Error() != tt.text {
					t.Errorf("%q (-want +got):\n%s", err, diff)
				}
			})
		})
	}
}

func TestAResultOfTheWrongShapeSaysOfWhichCommand(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, f := connect(t, nil)
		go func() {
			f.say(`{"id":%d,"result":{"n":"seven"}}`, f.next().ID)
			f.say(`{"id":%d}`, f.next().ID)
		}()
		for range 2 {
			var n number
			err := c.Root().Call(t.Context(), "A.b", nil, &n)
			if err == nil || !strings.Contains(err.Error(), "result of A.b") {
				t.Errorf("the error is %v", err)
			}
		}
	})
}

func TestParametersThatCannotBeEncodedSendNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, f := connect(t, nil)
		err := c.Root().Call(t.Context(), "A.bad", map[string]any{"f": func() {}}, nil)
		if err == nil || !strings.Contains(err.Error(), "parameters of A.bad") {
			t.Errorf("the error is %v", err)
		}
		c.Root().Start("A.good", nil)
		if got := f.next(); got.Method != "A.good" || got.ID != 1 {
			t.Errorf("the browser reads %+v", got)
		}
	})
}

func TestTypedCommandsPipeline(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, f := connect(t, nil)
		var futures []Future[runtime.EvaluateResult]
		for n := range 3 {
			futures = append(futures, Go(c.Root(), runtime.Evaluate, runtime.EvaluateParams{Expression: fmt.Sprint(n)}))
		}
		for n := range 3 {
			got := f.next()
			if want := fmt.Sprintf(`"expression":"%d"`, n); !strings.Contains(string(got.Params), want) {
				t.Errorf("command %d has %s", n, got.Params)
			}
			f.say(`{"id":%d,"result":{"result":{"type":"number","value":%d}}}`, got.ID, n)
		}
		for n, future := range futures {
			got, err := future.Wait(t.Context())
			if err != nil || string(got.Result.Value) != fmt.Sprint(n) {
				t.Errorf("result %d is %s, %v", n, got.Result.Value, err)
			}
		}
	})
}

func TestTextWithHalfSurrogatesIsDecoded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, f := connect(t, nil)
		events, stop := c.Root().Subscribe("E.e")
		defer stop()
		go func() {
			got := f.next()
			f.say(`{"method":"E.e","params":{"t":"\udc00 \ud83d\ude00 \ud83d"}}`)
			f.say(`{"id":%d,"result":{"t":"a\ud800"}}`, got.ID)
		}()
		var result struct {
			T string `json:"t"`
		}
		if err := c.Root().Call(t.Context(), "A.b", nil, &result); err != nil || result.T != "a\uFFFD" {
			t.Errorf("the result is %q, %v", result.T, err)
		}
		if got := string(<-events); got != `{"t":"\ufffd \ud83d\ude00 \ufffd"}` {
			t.Errorf("the event is %s", got)
		}
	})
}

func TestSubscribersGetTheirEventsUntilTheyStop(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, f := connect(t, nil)
		s := c.Attach("S", nil)
		a, stopA := s.Subscribe("E.a")
		b, stopB := s.Subscribe("E.a")
		other, stopOther := s.Subscribe("E.b")
		defer stopOther()
		f.say(`{"method":"E.a","params":{"n":1},"sessionId":"S"}`)
		f.say(`{"method":"E.a","params":{"n":2}}`) // the root's
		synctest.Wait()
		stopA()
		stopA()
		f.say(`{"method":"E.a","params":{"n":3},"sessionId":"S"}`)
		synctest.Wait()
		c.Detach("S", ErrDetached)
		stopB()
		collect := func(events <-chan jsonv2.Value) (out []string) {
			for e := range events {
				out = append(out, string(e))
			}
			return out
		}
		for _, tt := range []struct {
			name string
			got  []string
			want []string
		}{
			{"the one that stopped", collect(a), []string{`{"n":1}`}},
			{"the one that stayed", collect(b), []string{`{"n":1}`, `{"n":3}`}},
			{"the one of another event", collect(other), nil},
		} {
			if diff := cmp.Diff(tt.want, tt.got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.name, diff)
			}
		}
	})
}

func TestASubscriberThatDoesNotReadHoldsNobodyUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, f := connect(t, nil)
		events, stop := c.Root().Subscribe("E.e")
		for n := range maxSubscribed + 100 {
			f.say(`{"method":"E.e","params":%d}`, n)
		}
		go f.serve(1)
		if err := c.Root().Call(t.Context(), "A.b", nil, nil); err != nil {
			t.Error(err)
		}
		stop()
		n := 0
		for e := range events {
			if string(e) != fmt.Sprint(n) {
				t.Fatalf("event %d is %s", n, e)
			}
			n++
		}
		if n != maxSubscribed {
			t.Errorf("%d events waited, want %d", n, maxSubscribed)
		}
	})
}
