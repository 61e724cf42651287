package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/vant-run/vant/sdk/plugintest"
)

// shared are the browsers of groups. Starting one costs more than most tests.
var shared browsers

// browsers are plugins by their configuration, each started when the first test
// needs it. They end after all tests.
type browsers struct {
	mu  sync.Mutex // guards the field that follows
	all map[string]*lastingBrowser
}

type lastingBrowser struct {
	life lifetime
	get  func() (s *plugintest.Session, home int)
}

// of gives what starts the plugin of a configuration and its browser, once, and
// names the browser's first window.
func (l *browsers) of(config string) func() (*plugintest.Session, int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.all[config]
	if b == nil {
		b = &lastingBrowser{}
		b.get = sync.OnceValues(func() (*plugintest.Session, int) {
			s := plugintest.New(&b.life, plugin(), plugintest.Options{Config: config})
			return s, (&client{t: &b.life, Session: s}).windows()[0].ID
		})
		if l.all == nil {
			l.all = make(map[string]*lastingBrowser)
		}
		l.all[config] = b
	}
	return b.get
}

func (l *browsers) end() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	for _, b := range l.all {
		err = errors.Join(err, b.life.end())
	}
	return err
}

// lifetime is a test that lasts until the end of all others, and fails then.
type lifetime struct {
	testing.TB // nil: what is not here is not called

	mu   sync.Mutex // guards the fields that follow
	ends []func()
	errs []error
}

func (l *lifetime) Helper()                  {}
func (l *lifetime) Logf(string, ...any)      {}
func (l *lifetime) Context() context.Context { return context.Background() }

func (l *lifetime) Cleanup(end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ends = append(l.ends, end)
}

func (l *lifetime) Error(args ...any) { l.Errorf("%s", fmt.Sprint(args...)) }

func (l *lifetime) Errorf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.errs = append(l.errs, fmt.Errorf(format, args...))
}

// Fatalf ends the test that has asked for what fails.
func (l *lifetime) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func (l *lifetime) TempDir() string {
	dir, err := os.MkdirTemp("", "vant-browser-test-")
	if err != nil {
		l.Fatalf("%v", err)
	}
	l.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			l.Errorf("%v", err)
		}
	})
	return dir
}

func (l *lifetime) end() error {
	for i := len(l.ends) - 1; i >= 0; i-- {
		l.ends[i]()
	}
	return errors.Join(l.errs...)
}
