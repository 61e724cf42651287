package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/vant-run/vant/sdk"
)

// none is for methods without parameters.
type none struct{}

// kept holds memory and files for good.
var kept struct {
	sync.Mutex
	blocks [][]byte
	files  []*os.File
}

// build declares the well-behaved part.
func build(s settings) *sdk.Plugin {
	options := []sdk.Option{sdk.ErrorCodes("faulty_own")}
	if s.exclusive {
		options = append(options, sdk.Exclusive())
	}
	p := sdk.New(s.name, s.version, "misbehaves on demand", options...)
	n := func(name string) string { return s.namespace + "." + name }
	echo := func(_ context.Context, in json.RawMessage) (json.RawMessage, error) { return in, nil }

	sdk.HandleRaw(p, n("echo"), "gives its parameters back", echo, sdk.ReadOnly(), sdk.Idempotent())
	if s.claim != "" {
		sdk.HandleRaw(p, s.claim, "a name that others may want", echo)
	}
	sdk.Handle(p, n("sleep"), "answers after ms milliseconds", sleep, sdk.Timeout(60*time.Second))
	sdk.Handle(p, n("exit"), "ends the process with a status", func(_ context.Context, in struct {
		Code int `json:"code" default:"1"`
	}) (any, error) {
		os.Exit(in.Code)
		return nil, nil
	})
	sdk.Handle(p, n("crash"), "kills the process", func(context.Context, none) (any, error) {
		signalSelf(syscall.SIGKILL)
		block()
		return nil, nil
	})
	sdk.Handle(p, n("stop"), "stops the process without ending it", func(context.Context, none) (bool, error) {
		signalSelf(syscall.SIGSTOP)
		return true, nil
	})
	sdk.Handle(p, n("panic"), "panics", func(context.Context, none) (any, error) { panic("as asked") })
	sdk.HandleRaw(p, n("big"), "a string of some size", big, sdk.ParamsSchema(`{"type":"object","properties":{"bytes":{"type":"integer"}}}`))
	sdk.HandleRaw(p, n("badjson"), "a result that is no JSON", fixed(`{"a":`))
	sdk.HandleRaw(p, n("badutf8"), "a result of bad UTF-8", fixed("\"\xff\xfe\""))
	sdk.HandleRaw(p, n("pretty"), "a result of many lines", fixed("{\n  \"a\": 1,\n  \"b\": [\n    true\n  ]\n}\n"))
	sdk.Handle(p, n("env"), "environment, folder and process ids", environment)
	sdk.Handle(p, n("fds"), "open descriptors", descriptors)
	aside := make(worker)
	p.OnStart(func(ctx context.Context) error {
		go aside.run(ctx)
		return nil
	})
	sdk.Handle(p, n("emit"), "publishes events", aside.emit)
	sdk.Handle(p, n("call"), "calls a method through the host", call, sdk.Timeout(60*time.Second))
	sdk.Handle(p, n("error"), "fails", func(_ context.Context, in struct {
		Code    string `json:"code" default:"faulty_own"`
		Message string `json:"message" default:"as asked"`
	}) (any, error) {
		return nil, sdk.Errorf(in.Code, "%s", in.Message).With(map[string]bool{"asked": true})
	})
	sdk.Handle(p, n("log"), "writes log lines", writeLog)
	sdk.Handle(p, n("spawn"), "starts a process that outlives this one", spawn)
	sdk.Handle(p, n("alloc"), "takes memory and keeps it", alloc)
	sdk.Handle(p, n("open"), "opens files and keeps them", openFiles)
	sdk.Handle(p, n("spin"), "uses the processor", spin)
	return p
}

func fixed(text string) func(context.Context, json.RawMessage) (json.RawMessage, error) {
	return func(context.Context, json.RawMessage) (json.RawMessage, error) { return json.RawMessage(text), nil }
}

type sleepParams struct {
	MS           int  `json:"ms" default:"1000" clamp:"0,600000"`
	IgnoreCancel bool `json:"ignore_cancel,omitempty"`
}

func sleep(ctx context.Context, in sleepParams) (bool, error) {
	done := ctx.Done()
	if in.IgnoreCancel {
		done = nil
	}
	timer := time.NewTimer(time.Duration(in.MS) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true, nil
	case <-done:
		return false, ctx.Err()
	}
}

func big(_ context.Context, params json.RawMessage) (json.RawMessage, error) {
	var in struct{ Bytes int }
	if err := json.Unmarshal(params, &in); err != nil || in.Bytes < 2 || in.Bytes > 256<<20 {
		return nil, sdk.Errorf("invalid_params", "bytes must be 2 to 268435456")
	}
	return json.RawMessage(`"` + strings.Repeat("b", in.Bytes-2) + `"`), nil
}

type environmentResult struct {
	Env  []string `json:"env"`
	Dir  string   `json:"dir"`
	Pid  int      `json:"pid"`
	Ppid int      `json:"ppid"`
	Pgid int      `json:"pgid"`
	Dirs sdk.Dirs `json:"dirs"`
}

func environment(ctx context.Context, _ none) (environmentResult, error) {
	dir, err := os.Getwd()
	if err != nil {
		return environmentResult{}, err
	}
	return environmentResult{
		Env: os.Environ(), Dir: dir, Pid: os.Getpid(), Ppid: os.Getppid(),
		Pgid: syscall.Getpgrp(), Dirs: sdk.DirsOf(ctx),
	}, nil
}

// descriptors gives number → target.
func descriptors(context.Context, none) (map[string]string, error) {
	folder := "/proc/self/fd"
	if runtime.GOOS != "linux" {
		folder = "/dev/fd"
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	out := make(map[string]string)
	for _, e := range entries {
		target, err := os.Readlink(filepath.Join(folder, e.Name()))
		if err != nil {
			continue // the descriptor that the listing itself used
		}
		out[e.Name()] = target
	}
	return out, nil
}

type emitParams struct {
	Type       string `json:"type" default:"faulty.event"`
	Count      int    `json:"count" default:"1" clamp:"0,100000"`
	Background bool   `json:"background,omitempty"`
	Link       bool   `json:"link,omitempty"`
}

// worker runs what it is given beside the calls, as what reads from a browser
// does.
type worker chan func(context.Context)

func (w worker) run(ctx context.Context) {
	for {
		select {
		case do := <-w:
			do(ctx)
		case <-ctx.Done():
			return
		}
	}
}

func (w worker) emit(ctx context.Context, in emitParams) (int, error) {
	publish := func(ctx context.Context) {
		for i := range in.Count {
			sdk.Emit(ctx, in.Type, map[string]int{"n": i})
		}
	}
	switch {
	case in.Link:
		done := make(chan struct{})
		select {
		case w <- func(life context.Context) { publish(life); close(done) }:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		<-done
		return in.Count, nil
	case !in.Background:
		publish(ctx)
		return in.Count, nil
	}
	go func() {
		<-ctx.Done() // the call is over: what follows is nobody's
		publish(context.WithoutCancel(ctx))
	}()
	return in.Count, nil
}

type callParams struct {
	Method    string          `json:"method"`
	Params    json.RawMessage `json:"params,omitempty"`
	TimeoutMS int             `json:"timeout_ms" default:"0" clamp:"0,60000"`
}

func call(ctx context.Context, in callParams) (json.RawMessage, error) {
	if in.TimeoutMS > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(in.TimeoutMS)*time.Millisecond)
		defer cancel()
	}
	var params any
	if in.Params != nil {
		params = in.Params
	}
	var out json.RawMessage
	err := sdk.Call(ctx, in.Method, params, &out)
	return out, err
}

type logParams struct {
	Lines int    `json:"lines" default:"1" clamp:"0,1000000"`
	Kind  string `json:"kind" default:"hclog" enum:"hclog,plain,evil,zero,long,stdout"`
}

func writeLog(ctx context.Context, in logParams) (int, error) {
	for i := range in.Lines {
		var err error
		switch in.Kind {
		case "plain":
			_, err = fmt.Fprintf(os.Stderr, "plain line %d\n", i)
		case "evil":
			_, err = fmt.Fprintln(os.Stderr, evilLines[i%len(evilLines)])
		case "zero":
			_, err = os.Stderr.Write(make([]byte, 4096))
		case "long":
			_, err = io.WriteString(os.Stderr, strings.Repeat("l", 1<<20)+"\n")
		case "stdout":
			_, err = fmt.Printf("stdout line %d\n", i)
		default:
			sdk.Logger(ctx).Info("asked to log", "line", i)
		}
		if err != nil {
			return i, err
		}
	}
	return in.Lines, nil
}

func alloc(_ context.Context, in struct {
	MB int `json:"mb" default:"64" clamp:"0,4096"`
}) (int, error) {
	keep(in.MB)
	return in.MB, nil
}

// keep takes memory for good.
func keep(mb int) {
	block := make([]byte, mb<<20)
	for i := 0; i < len(block); i += 4096 {
		block[i] = 1 // untouched pages cost nothing
	}
	kept.Lock()
	defer kept.Unlock()
	kept.blocks = append(kept.blocks, block)
}

// openFiles says how many of count could be opened, and keeps them open.
func openFiles(_ context.Context, in struct {
	Count int `json:"count" default:"100" clamp:"0,100000"`
}) (int, error) {
	kept.Lock()
	defer kept.Unlock()
	for i := range in.Count {
		f, err := os.Open(os.DevNull)
		if err != nil {
			return i, nil // how far it came is the answer
		}
		kept.files = append(kept.files, f)
	}
	return in.Count, nil
}

// spin uses the processor and says how often it went round.
func spin(_ context.Context, in struct {
	MS int `json:"ms" default:"100" clamp:"0,10000"`
}) (rounds int, err error) {
	for end := time.Now().Add(time.Duration(in.MS) * time.Millisecond); time.Now().Before(end); {
		rounds++
	}
	return rounds, nil
}
