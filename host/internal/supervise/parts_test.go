package supervise

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vant-run/vant/host/internal/method"
)

func TestHistogramBucketsHoldTheirValues(t *testing.T) {
	last := -1
	for _, us := range []int64{0, 1, 7, 8, 9, 15, 16, 17, 100, 999, 1000, 65535, 65536, 1 << 28, 1<<29 - 1} {
		i := bucketOf(us)
		low, high := bucketRange(i)
		if us < low || us >= high {
			t.Errorf("%d µs is in bucket %d of [%d,%d)", us, i, low, high)
		}
		if i < last {
			t.Errorf("%d µs is in bucket %d, before a shorter one", us, i)
		}
		last = i
	}
	for i := 1; i < bucketCount; i++ {
		_, before := bucketRange(i - 1)
		if low, _ := bucketRange(i); low != before {
			t.Fatalf("bucket %d begins at %d, the one before ends at %d", i, low, before)
		}
	}
	for _, us := range []int64{1 << 29, 1 << 40, 1<<63 - 1} {
		if i := bucketOf(us); i != bucketCount-1 {
			t.Errorf("%d µs is in bucket %d, want the last", us, i)
		}
	}
	if i := bucketOf(-5); i != 0 {
		t.Errorf("a negative time is in bucket %d", i)
	}
}

func TestHistogramQuantilesAreNear(t *testing.T) {
	var h histogram
	if _, p50, p99 := h.read(); p50 != 0 || p99 != 0 {
		t.Errorf("empty: %d %d", p50, p99)
	}
	for us := int64(1); us <= 10000; us++ {
		h.add(time.Duration(us) * time.Microsecond)
	}
	buckets, p50, p99 := h.read()
	near := func(name string, got, want int64) {
		if got < want*93/100 || got > want*107/100 {
			t.Errorf("%s is %d, want about %d", name, got, want)
		}
	}
	near("p50", p50, 5000)
	near("p99", p99, 9900)
	var n uint64
	for _, b := range buckets {
		n += b.Count
	}
	if n != 10000 {
		t.Errorf("buckets hold %d", n)
	}
}

func TestSlotsQueueInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(1, 3)
		ctx := context.Background()
		if err := s.acquire(ctx); err != nil {
			t.Fatal(err)
		}
		var order []int
		var mu sync.Mutex
		for i := range 3 {
			go func() {
				if err := s.acquire(ctx); err != nil {
					t.Error(err)
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				s.release()
			}()
			synctest.Wait()
		}
		if err := s.acquire(ctx); !errors.Is(err, errFull) {
			t.Errorf("a full queue gives %v", err)
		}
		s.release()
		synctest.Wait()
		if diff := cmp.Diff([]int{0, 1, 2}, order); diff != "" {
			t.Error(diff)
		}
		if s.inFlight() != 0 || s.waiting() != 0 {
			t.Errorf("left: %d in flight, %d waiting", s.inFlight(), s.waiting())
		}
	})
}

func TestSlotsWithoutQueueRefuseAtOnce(t *testing.T) {
	s := newSlots(1, 0)
	if err := s.acquire(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := s.acquire(context.Background()); !errors.Is(err, errFull) {
		t.Errorf("got %v", err)
	}
	s.release()
	if err := s.acquire(context.Background()); err != nil {
		t.Error(err)
	}
	s.release()
}

func TestSlotsWaiterThatGivesUpLeavesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(1, 2)
		if err := s.acquire(context.Background()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := within(time.Second)
		defer cancel()
		if err := s.acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if s.waiting() != 0 {
			t.Errorf("%d still wait", s.waiting())
		}
		s.release()
		if err := s.acquire(context.Background()); err != nil {
			t.Error(err)
		}
		s.release()
	})
}

func TestSlotsCloseSendsWaitersAwayAndDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(1, 2)
		if err := s.acquire(context.Background()); err != nil {
			t.Fatal(err)
		}
		errs := make(chan error, 2)
		for range 2 {
			go func() { errs <- s.acquire(context.Background()) }()
		}
		synctest.Wait()
		s.close()
		s.close()
		for range 2 {
			if err := <-errs; !errors.Is(err, errClosed) {
				t.Errorf("a waiter got %v", err)
			}
		}
		if err := s.acquire(context.Background()); !errors.Is(err, errClosed) {
			t.Errorf("a newcomer got %v", err)
		}
		select {
		case <-s.drained:
			t.Fatal("drained with a call in flight")
		default:
		}
		s.release()
		<-s.drained
	})
}

func TestSlotsNeverExceedTheirLimitUnderLoad(t *testing.T) {
	s := newSlots(3, 64)
	var running, peak, done atomic.Int64
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(i)))
			for range 2000 {
				ctx, cancel := context.Background(), func() {}
				if r.IntN(4) == 0 {
					ctx, cancel = context.WithTimeout(ctx, time.Duration(r.IntN(20))*time.Microsecond)
				}
				if s.acquire(ctx) == nil {
					n := running.Add(1)
					for {
						p := peak.Load()
						if n <= p || peak.CompareAndSwap(p, n) {
							break
						}
					}
					done.Add(1)
					running.Add(-1)
					s.release()
				}
				cancel()
			}
		})
	}
	wg.Wait()
	if peak.Load() > 3 || done.Load() == 0 {
		t.Errorf("peak %d, done %d", peak.Load(), done.Load())
	}
	if s.state.Load() != 0 || s.waiting() != 0 {
		t.Errorf("left: state %#x, %d waiting", s.state.Load(), s.waiting())
	}
	s.close()
	<-s.drained
}

func TestCallTableFindsWhatIsInFlight(t *testing.T) {
	table := newCallTable(4)
	if len(table) < 8 {
		t.Fatalf("%d places for 4 calls", len(table))
	}
	places := map[uint64]int{}
	for i := range 4 {
		id := callID(uint64(1+i*len(table)), uint32(i)) // all want the same place
		places[id] = table.add(id)
	}
	for id := range places {
		if !table.has(id) {
			t.Errorf("%d is missing", id)
		}
		if got, want := table.childDepth(id), uint32(id&depthMask)+1; got != want {
			t.Errorf("child of %d has depth %d, want %d", id, got, want)
		}
	}
	gone := callID(1, 0)
	table.remove(places[gone])
	if table.has(gone) || table.childDepth(gone) != 1 {
		t.Error("a call that ended is still known")
	}
	if table.has(0) || table.childDepth(0) != 1 {
		t.Error("0 is no call")
	}
	if !table.has(callID(uint64(1+3*len(table)), 3)) {
		t.Error("a call behind an empty place is not found")
	}
}

func TestBackoffDoublesWithinItsBounds(t *testing.T) {
	policy := Policy{MaxFailures: 1000}.withDefaults()
	for _, r := range []struct {
		name string
		rand float64
		part float64
	}{{"least", 0, 0.8}, {"middle", 0.5, 1}, {"most", 1, 1.2}} {
		t.Run(r.name, func(t *testing.T) {
			b := backoff{policy: &policy, rand: func() float64 { return r.rand }}
			base := 200 * time.Millisecond
			for i := range 80 {
				wait, quarantine := b.fail(time.Unix(0, 0))
				want := time.Duration(float64(base) * r.part)
				if quarantine || (wait-want).Abs() > time.Microsecond {
					t.Fatalf("failure %d: wait %v, want %v", i+1, wait, want)
				}
				base = min(2*base, 30*time.Second)
			}
			b.well()
			if wait, _ := b.fail(time.Unix(0, 0)); (wait - time.Duration(float64(200*time.Millisecond)*r.part)).Abs() > time.Microsecond {
				t.Errorf("after being well the wait is %v", wait)
			}
		})
	}
}

func TestBackoffQuarantinesByWindow(t *testing.T) {
	policy := DefaultPolicy()
	b := backoff{policy: &policy, rand: func() float64 { return 0.5 }}
	now := time.Unix(0, 0)
	for i := range 50 { // one every 100 s: seven within ten minutes
		if _, q := b.fail(now); q {
			t.Fatalf("quarantined by failure %d", i+1)
		}
		b.well()
		now = now.Add(100 * time.Second)
	}
	now = now.Add(time.Hour)
	for i := range 8 {
		_, q := b.fail(now)
		if q != (i == 7) {
			t.Fatalf("failure %d: quarantine is %v", i+1, q)
		}
		now = now.Add(time.Second)
	}
	b.forgive()
	if wait, q := b.fail(now); q || wait != 200*time.Millisecond {
		t.Errorf("after forgiving: %v %v", wait, q)
	}
}

func setOf(name string, methods ...string) *method.Set {
	s := &method.Set{Name: name}
	for _, m := range methods {
		s.Methods = append(s.Methods, &method.Method{Name: m})
	}
	return s
}

func TestClaimsGoByOrderThenName(t *testing.T) {
	for _, c := range []struct {
		name   string
		order  []string
		winner string
	}{
		{"by name", nil, "a"},
		{"by order", []string{"b", "a"}, "b"},
		{"ordered before unordered", []string{"b"}, "b"},
		{"a name twice counts first", []string{"a", "b", "a"}, "a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, first := range []string{"a", "b"} {
				cl := newClaims(c.order)
				second := map[string]string{"a": "b", "b": "a"}[first]
				if _, _, err := cl.take(first, setOf(first, "x.y")); err != nil {
					t.Fatal(err)
				}
				evicted, _, err := cl.take(second, setOf(second, "x.y"))
				if (err == nil) != (second == c.winner) {
					t.Fatalf("%s after %s: %v", second, first, err)
				}
				if err == nil {
					if diff := cmp.Diff([]string{first}, evicted); diff != "" {
						t.Error(diff)
					}
				} else if err.winner != c.winner || err.method != "x.y" || err.loser != second {
					t.Errorf("got %+v", err)
				}
			}
		})
	}
}

func TestClaimsOfRefusedPluginsRefuseNobody(t *testing.T) {
	c := newClaims(nil)
	for _, p := range []*method.Set{setOf("c", "y.y"), setOf("b", "x.x", "y.y"), setOf("a", "x.x")} {
		if _, _, err := c.take(p.Name, p); err != nil {
			t.Fatal(err)
		}
	}
	// b evicted c, then a evicted b, so c is free.
	if diff := cmp.Diff([]string{"c"}, c.free()); diff != "" {
		t.Error(diff)
	}
	if c.holds("b") || !c.holds("a") {
		t.Error("a must hold and b must not")
	}
	if freed := c.drop("a"); !cmp.Equal(freed, []string{"b", "c"}) {
		t.Errorf("freed %v", freed)
	}
}

func TestNotFoundNamesNearOnes(t *testing.T) {
	names := []string{"net", "browser", "skill", "agent", "nets"}
	for _, c := range []struct {
		name string
		near []string
	}{
		{"nett", []string{"net", "nets"}},
		{"brwser", []string{"browser"}},
		{"br", []string{"browser"}},
		{"zzzzzz", nil},
		{"", nil},
	} {
		e := NotFound(c.name, names)
		if diff := cmp.Diff(c.near, e.Near); diff != "" {
			t.Errorf("%q: %s", c.name, diff)
		}
	}
	if got, want := NotFound("nett", names).Error(), `no plugin is called "nett"; near: "net", "nets"`; got != want {
		t.Errorf("got %s", got)
	}
}

func TestRedactHidesSecrets(t *testing.T) {
	schema := `{"properties":{"pin":{"type":"string","writeOnly":true},"pw":{"format":"password"},
		"list":{"items":{"properties":{"code":{"writeOnly":true}}}}}}`
	for _, c := range []struct{ name, config, want string }{
		{"empty", ``, `{}`},
		{"names", `{"api_key":"k","Token":"t","nested":{"password":{"a":1}},"n":12345678901234567890}`,
			`{"Token":"***","api_key":"***","n":12345678901234567890,"nested":{"password":"***"}}`},
		{"schema", `{"pin":1,"pw":"x","list":[{"code":"z","ok":1}]}`, `{"list":[{"code":"***","ok":1}],"pin":"***","pw":"***"}`},
		{"switches are no secrets", `{"keyboard":"us","use_cookies":true}`, `{"keyboard":"us","use_cookies":true}`},
		{"unreadable", `{"a":`, `"***"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, string(redact([]byte(c.config), []byte(schema)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPolicyFillsWhatIsZero(t *testing.T) {
	if diff := cmp.Diff(DefaultPolicy(), Policy{}.withDefaults()); diff != "" {
		t.Error(diff)
	}
	p := Policy{MaxQueue: -1, Jitter: -1, BackoffMin: time.Minute}.withDefaults()
	if p.MaxQueue != 0 || p.Jitter != 0 || p.BackoffMax != time.Minute {
		t.Errorf("got queue %d, jitter %v, max %v", p.MaxQueue, p.Jitter, p.BackoffMax)
	}
}

func TestLimitsAreBounded(t *testing.T) {
	s := New(Options{})
	for _, c := range []struct {
		name string
		spec Spec
		set  *method.Set
		want Limits
	}{
		{"default", Spec{}, nil, Limits{MaxInFlight: 64, MaxQueue: 64}},
		{"plugin's wish", Spec{}, &method.Set{MaxInFlight: 4}, Limits{MaxInFlight: 4, MaxQueue: 64}},
		{"operator's word", Spec{MaxInFlight: 8, MaxQueue: 2}, &method.Set{MaxInFlight: 4}, Limits{MaxInFlight: 8, MaxQueue: 2}},
		{"greedy", Spec{MaxQueue: 1 << 30}, &method.Set{MaxInFlight: 1 << 30}, Limits{MaxInFlight: slotsCeiling, MaxQueue: slotsCeiling}},
	} {
		if diff := cmp.Diff(c.want, s.limits(c.spec, c.set)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	s.Stop(context.Background())
}

func TestSlotGrantedToAWaiterThatGivesUpComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gaveUp := 0
		for range 200 {
			s := newSlots(1, 1)
			if err := s.acquire(context.Background()); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			result := make(chan error, 1)
			go func() { result <- s.acquire(ctx) }()
			synctest.Wait()
			cancel() // it wakes up for this, and is granted the slot meanwhile
			s.release()
			if err := <-result; err == nil {
				s.release()
			} else {
				gaveUp++
			}
			if s.inFlight() != 0 {
				t.Fatal("a slot is lost")
			}
		}
		if gaveUp == 0 {
			t.Error("no waiter gave up")
		}
	})
}

func TestFailuresAreCountedByCode(t *testing.T) {
	p := &Plugin{}
	for i := range 2 * keptCodes {
		p.Failed(fmt.Sprintf("code_%d", i))
		p.Failed("timeout")
	}
	got := p.stats.failures()
	if got["timeout"] != 2*keptCodes || got["code_0"] != 1 || len(got) > keptCodes+1 {
		t.Errorf("got %v", got)
	}
	total := uint64(0)
	for _, n := range got {
		total += n
	}
	if total != 4*keptCodes {
		t.Errorf("%d failures are counted, not %d", total, 4*keptCodes)
	}
}
