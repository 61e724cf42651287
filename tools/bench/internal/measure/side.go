// Package measure is what benches have in common: sides that take turns, ratios
// beside their goals, and a host of the bench's own.
package measure

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Side is one of the things that take turns.
type Side struct {
	Name  string
	Run   func() (int, error) // gives the bytes moved
	Took  []time.Duration     // sorted after Interleave
	Bytes int
}

// Interleave runs the sides in turn, a different one first each round.
func Interleave(rounds int, sides ...*Side) error {
	for i := range rounds + rounds/10 {
		for j := range sides {
			s := sides[(i+j)%len(sides)]
			begun := time.Now()
			n, err := s.Run()
			d := time.Since(begun)
			if err != nil {
				return fmt.Errorf("%s: %w", s.Name, err)
			}
			if i >= rounds/10 { // the first ones warm up
				s.Took = append(s.Took, d)
				s.Bytes += n
			}
		}
	}
	for _, s := range sides {
		slices.Sort(s.Took)
	}
	return nil
}

// Median is the middle of a side's times.
func (s *Side) Median() time.Duration { return s.Took[len(s.Took)/2] }

// P99 is the time that one round in a hundred takes longer than.
func (s *Side) P99() time.Duration { return s.Took[len(s.Took)*99/100] }

func (s *Side) String() string {
	text := fmt.Sprintf("%s median %v p99 %v", s.Name, s.Median().Round(100*time.Nanosecond), s.P99().Round(time.Microsecond))
	if s.Bytes > 0 {
		text += fmt.Sprintf(" bytes %d", s.Bytes)
	}
	return text
}

// Verdict prints a ratio beside its goal.
func Verdict(what string, ratio, goal float64, atLeast bool) {
	met, sign := ratio <= goal, "≤"
	if atLeast {
		met, sign = ratio >= goal, "≥"
	}
	mark := "met"
	if !met {
		mark = "MISSED"
	}
	fmt.Printf("  %s: %.3f (goal %s %.2f) %s\n", what, ratio, sign, goal, mark)
}

// Same fails a row whose sides moved different amounts. Times in a reply have
// a digit more now and then, hence a tolerance of one byte a round.
func Same(rounds int, a, b int) error {
	if diff := a - b; diff > rounds || -diff > rounds {
		return fmt.Errorf("the sides moved different numbers of bytes: %d and %d", a, b)
	}
	return nil
}

// Tight counts calls a second of some clients at once.
func Tight(d time.Duration, clients int, run func() (int, error)) (float64, error) {
	runs := make([]func() (int, error), clients)
	for i := range runs {
		runs[i] = run
	}
	return Together(d, runs...)
}

// Together counts calls a second of clients that each make their own ones.
func Together(d time.Duration, clients ...func() (int, error)) (float64, error) {
	var wg sync.WaitGroup
	var calls atomic.Int64
	errs := make(chan error, len(clients))
	begun := time.Now()
	for _, run := range clients {
		wg.Go(func() {
			for time.Since(begun) < d {
				if _, err := run(); err != nil {
					errs <- err
					return
				}
				calls.Add(1)
			}
		})
	}
	wg.Wait()
	rate := float64(calls.Load()) / time.Since(begun).Seconds()
	select {
	case err := <-errs:
		return 0, err
	default:
		return rate, nil
	}
}

// WaitFor looks each millisecond whether something is done.
func WaitFor(bound time.Duration, done func() bool) error {
	for end := time.Now().Add(bound); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("waited %v in vain", bound)
		}
	}
	return nil
}
