package supervise

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestAStartThatIsDueIsNotAnUnknownOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for away, want := range map[time.Duration]time.Duration{
			time.Second: time.Second, 0: time.Millisecond, -time.Second: time.Millisecond,
		} {
			if got := (&gate{retryAt: time.Now().Add(away)}).retryAfter(); got != want {
				t.Errorf("a start %v away: retry after %v, want %v", away, got, want)
			}
		}
		if got := (&gate{}).retryAfter(); got != 0 {
			t.Errorf("an unknown start: retry after %v, want 0", got)
		}
	})
}
