package supervise

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPublishIsSerialisedAndTheLastOneIsTheTruth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var inside, calls atomic.Int64
		open := make(chan struct{})
		var last []Registered
		w := newWorld(t, nil, func(o *Options) {
			o.Publish = func(list []Registered) {
				if inside.Add(1) > 1 {
					t.Error("calls overlap")
				}
				calls.Add(1)
				<-open
				last = list
				inside.Add(-1)
			}
		})
		w.apply(specs("a", "b", "c")...)
		if calls.Load() != 1 {
			t.Errorf("%d tables are being published", calls.Load())
		}
		// Nobody's lock is held meanwhile.
		if n := len(w.List(true)); n != 3 {
			t.Errorf("%d plugins are listed", n)
		}
		if diff := cmp.Diff(Changes{Started: []string{"d"}}, w.Apply(specs("a", "b", "c", "d"), nil)); diff != "" {
			t.Error(diff)
		}
		synctest.Wait()
		close(open)
		synctest.Wait()
		if got := methodNames(last); !cmp.Equal(got, []string{"a.do", "b.do", "c.do", "d.do"}) {
			t.Errorf("the last table has %v", got)
		}
		if n := calls.Load(); n > 3 {
			t.Errorf("%d tables for what two would do", n)
		}
	})
}

func TestMethodsChangedNamesBothSides(t *testing.T) {
	for _, c := range []struct {
		name           string
		before, after  []string
		added, removed []string
	}{
		{"first", nil, []string{"a.a", "b.b"}, []string{"a.a", "b.b"}, []string{}},
		{"last", []string{"a.a", "b.b"}, nil, []string{}, []string{"a.a", "b.b"}},
		{"mixed", []string{"a.a", "c.c", "d.d"}, []string{"b.b", "c.c", "e.e"}, []string{"b.b", "e.e"}, []string{"a.a", "d.d"}},
	} {
		t.Run(c.name, bubble(func(t *testing.T) {
			w := newWorld(t, nil)
			w.methodsChanged(c.before, c.after)
			if diff := cmp.Diff([]event{{Type: "methods.changed", Added: c.added, Removed: c.removed}}, w.takeEvents()); diff != "" {
				t.Error(diff)
			}
		}))
	}
	t.Run("the same", bubble(func(t *testing.T) {
		w := newWorld(t, nil)
		w.methodsChanged([]string{"a.a"}, []string{"a.a"})
		if ev := w.takeEvents(); len(ev) != 0 {
			t.Errorf("got %v", ev)
		}
	}))
}

// Who reads of a plugin that is ready must find its methods.
func TestAPluginIsReadyWhenItsMethodsAreInTheTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		w := newWorld(t, nil, func(o *Options) {
			publish := o.Publish
			o.Publish = func(list []Registered) {
				if len(list) > 0 {
					<-hold
				}
				publish(list)
			}
		})
		w.apply(spec("a"))
		if st := w.wantState("a", Starting); st.Pid == 0 {
			t.Errorf("its process has not come up: %+v", st)
		}
		close(hold)
		synctest.Wait()
		w.wantState("a", Ready)
		if _, ok := w.registered("a"); !ok {
			t.Error("it is not in the table")
		}
	})
}

// After a crash they are there: who has a call answered must not read that the
// plugin is starting.
func TestAPluginThatIsBackIsReadyWhenItServes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var held atomic.Bool
		hold := make(chan struct{})
		defer close(hold)
		w := newWorld(t, nil, func(o *Options) {
			publish := o.Publish
			o.Publish = func(list []Registered) {
				if held.Load() && list[0].State == Ready {
					<-hold
				}
				publish(list)
			}
		})
		w.apply(spec("a"))
		w.wantState("a", Ready)
		w.proc("a", 1).crash()
		synctest.Wait()
		held.Store(true)
		time.Sleep(time.Second)
		if st := w.wantState("a", Ready); st.Generation != 2 {
			t.Errorf("got %+v", st)
		}
	})
}
