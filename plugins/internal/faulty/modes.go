package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/vant-run/vant/sdk"
)

// mode is what a mode does. before runs first and need not return; ready adds
// to a plugin that is served normally afterwards.
type mode struct {
	before func(settings)
	ready  func(settings, *sdk.Plugin)
}

var modes = map[string]mode{
	"normal": {},
	"banner": {before: func(settings) { fmt.Println("Loading faulty, please stand by") }},
	"garbage-handshake": {before: func(settings) {
		fmt.Println("a|b|c|d")
		block()
	}},
	"hang-handshake": {before: func(settings) { block() }},
	"exit-early": {before: func(settings) {
		fmt.Fprintln(os.Stderr, "faulty: cannot open its database: no such file")
		os.Exit(3)
	}},
	"wrong-version":  {before: func(s settings) { serveRaw(s, &raw{settings: s}, where{version: 99}) }},
	"liar-tcp":       {before: func(s settings) { serveRaw(s, &raw{settings: s}, where{network: "tcp"}) }},
	"liar-socket":    {before: func(s settings) { serveRaw(s, &raw{settings: s}, where{elsewhere: true}) }},
	"no-health":      {before: func(s settings) { serveRaw(s, &raw{settings: s, noHealth: true}, where{}) }},
	"hang-health":    {before: func(s settings) { serveRaw(s, &raw{settings: s, hangHealth: true}, where{}) }},
	"hang-describe":  {before: func(s settings) { serveRaw(s, &raw{settings: s, describe: hangDescribe}, where{}) }},
	"big-describe":   {before: func(s settings) { serveRaw(s, &raw{settings: s, describe: bigDescribe}, where{}) }},
	"bad-names":      {before: func(s settings) { serveRaw(s, &raw{settings: s, describe: badNames}, where{}) }},
	"claims-builtin": {before: func(s settings) { serveRaw(s, &raw{settings: s, describe: claimsBuiltin}, where{}) }},
	"wrong-name":     {before: func(s settings) { serveRaw(s, &raw{settings: s, describe: wrongName}, where{}) }},
	"bad-schema":     {before: func(s settings) { serveRaw(s, &raw{settings: s, describe: badSchema}, where{}) }},
	"hang-drain":     {before: func(s settings) { serveRaw(s, &raw{settings: s, hangDrain: true}, where{}) }},
	"liar-events": {before: func(s settings) {
		serveRaw(s, &raw{settings: s, link: hangLink, events: func() uint64 { return 1 << 63 }}, where{})
	}},
	"broken-link": {before: func(s settings) {
		var said atomic.Uint64
		serveRaw(s, &raw{settings: s, link: breakLink, events: func() uint64 { return said.Add(1) }}, where{})
	}},
	"ignore-term": {before: func(s settings) {
		signal.Ignore(syscall.SIGTERM)
		serveRaw(s, &raw{settings: s}, where{})
	}},

	"hang-configure": {ready: func(_ settings, p *sdk.Plugin) {
		p.OnStart(func(context.Context) error {
			block()
			return nil
		})
	}},
	"fail-configure": {ready: func(_ settings, p *sdk.Plugin) {
		p.OnStart(func(context.Context) error {
			return errors.New("no licence key: set it in the plugin's configuration")
		})
	}},
	"crash-loop":   {ready: later(func(settings) { os.Exit(4) })},
	"stop-self":    {ready: later(func(settings) { signalSelf(syscall.SIGSTOP) })},
	"logbomb":      {ready: atOnce(logBomb)},
	"stdout-flood": {ready: atOnce(stdoutFlood)},
}

// block waits for ever; only a signal ends it.
func block() {
	// A waiting signal channel keeps the runtime from calling it a deadlock.
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR2)
	for range c {
	}
}

// later does something AFTER_MS after Configure.
func later(do func(settings)) func(settings, *sdk.Plugin) {
	return func(s settings, p *sdk.Plugin) {
		p.OnStart(func(context.Context) error {
			time.AfterFunc(s.after, func() { do(s) })
			return nil
		})
	}
}

// atOnce does something beside the plugin's work from Configure on.
func atOnce(do func(settings)) func(settings, *sdk.Plugin) {
	return func(s settings, p *sdk.Plugin) {
		p.OnStart(func(context.Context) error {
			go do(s)
			return nil
		})
	}
}

func signalSelf(sig syscall.Signal) {
	if err := syscall.Kill(os.Getpid(), sig); err != nil {
		fmt.Fprintln(os.Stderr, "signal to itself:", err)
	}
}
