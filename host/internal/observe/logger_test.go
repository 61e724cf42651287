package observe

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
)

func TestParseLevel(t *testing.T) {
	for name, want := range map[string]hclog.Level{
		"trace": hclog.Trace, "debug": hclog.Debug, "info": hclog.Info, "warn": hclog.Warn, "error": hclog.Error, "off": hclog.Off,
	} {
		if got, err := ParseLevel(name); err != nil || got != want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	for _, name := range []string{"", "Info", "loud", " info", "none"} {
		if _, err := ParseLevel(name); err == nil || !strings.Contains(err.Error(), "trace, debug, info, warn, error or off") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestLoggerSpellsControlCharactersOut(t *testing.T) {
	var b bytes.Buffer
	log := NewLogger(hclog.Info, &b)
	log.Debug("hidden")
	log.Info("grüße \x1b[31m \u009b \xff", "quoted", "a\x07b")
	got := b.String()
	if strings.Contains(got, "hidden") || strings.ContainsAny(got, "\x1b\x07\u009b") || !strings.Contains(got, `grüße \x1b[31m \x9b \xff`) {
		t.Errorf("got %q", got)
	}
	if !strings.Contains(got, "[INFO]  vantd: ") {
		t.Errorf("got %q", got)
	}
}

func TestLoggerReportsAWriteError(t *testing.T) {
	r, w := io.Pipe()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"plain", "\x1b"} {
		if _, err := (safeWriter{w}).Write([]byte(text)); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
