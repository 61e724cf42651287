package target

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestAnActionThatClosesItsTabHasItsEffects: whatever is waited for when it closes.
func TestAnActionThatClosesItsTabHasItsEffects(t *testing.T) {
	const (
		closed = `{"method":"Target.detachedFromTarget","params":{"sessionId":"a"}}`
		loads  = `{"method":"Browser.downloadWillBegin","params":{"frameId":"a","url":"https://a.test/x","suggestedFilename":"x"}}`
		wants  = `{"method":"Page.frameRequestedNavigation","sessionId":"a","params":{"frameId":"a","url":"https://b.test/","disposition":"newTab"}}`
	)
	done := []string{
		`{"method":"Runtime.consoleAPICalled","sessionId":"a","params":{"type":"error","args":[{"type":"string","value":"x"}],"timestamp":1}}`,
		`{"method":"Page.javascriptDialogOpening","sessionId":"a","params":{"type":"alert","message":"m"}}`,
		`{"method":"Target.attachedToTarget","params":{"sessionId":"n","targetInfo":{"targetId":"n","type":"page","openerId":"a","browserContextId":"home"},"waitingForDebugger":true}}`,
	}
	for name, play := range map[string]struct {
		more, late string
		saves      bool
	}{
		"nothing":      {more: closed},
		"a download":   {saves: true, late: closed},
		"a navigation": {more: begins("K", address), late: closed},
		"another tab":  {more: wants, late: closed},
		"no more":      {more: loads, saves: true, late: closed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tab, p, _ := launched(t)
				mark := tab.Mark()
				p.tell(done...)
				if play.more != "" {
					p.tell(play.more)
				}
				synctest.Wait()
				began := time.Now()
				effects := make(chan Effects, 1)
				go func() {
					e, err := tab.Since(t.Context(), mark, play.saves)
					if err != nil {
						t.Error(err)
					}
					effects <- e
				}()
				synctest.Wait()
				if play.late != "" {
					p.tell(play.late)
				}
				e := <-effects
				want := fmt.Sprint([]int{2}, 1, 1, false, play.more == loads)
				if got := fmt.Sprint(e.Opened, e.Dialogs, e.ConsoleErrors, e.DialogOpen, e.Download != nil); got != want {
					t.Errorf("it has %s; want %s", got, want)
				}
				if took := time.Since(began); took > 0 {
					t.Errorf("it has them after %v", took)
				}
			})
		})
	}
}
