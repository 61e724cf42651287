package launch

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestHandshakeIsAccepted(t *testing.T) {
	for _, line := range []string{
		"1|1|unix|/d/s|grpc", "1|1|unix|/d/s|grpc|", "1|1|unix|/d/s|grpc||true", "1|1|unix|/d/s|grpc\r\n",
	} {
		hs, err := parseHandshake(line, "/d")
		if err != nil || hs.addr != "/d/s" || hs.line() != "1|1|unix|/d/s|grpc\n" {
			t.Errorf("%q: %+v, %v", line, hs, err)
		}
	}
}

func FuzzHandshake(f *testing.F) {
	for _, s := range []string{
		"", "\n", "|", "||||", "1|1|unix|/d/s|grpc", "1|1|unix|/d/s|grpc|cert", "1|1|unix|/d/../s|grpc",
		"1|1|unix|/d/s/t|grpc", "1|1|unix|/d|grpc", "1|1|tcp|/d/s|grpc", "9|1|unix|/d/s|grpc", "1|-1|unix|/d/s|grpc",
		"a|b|c|d", "1|1|unix|/d/\x00|grpc", "1|1|unix|/d/a\nb|grpc", " 1|1|unix|/d/s|grpc ", "+1|01|unix|/d/s|grpc",
		"\xff\xfe|1", strings.Repeat("x", maxHandshake),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		hs, err := parseHandshake(line, "/d")
		if err != nil {
			if len(err.Error()) > 2000 || strings.IndexFunc(err.Error(), unsafeRune) >= 0 {
				t.Errorf("the error is not fit to be shown: %q", err)
			}
			return
		}
		if filepath.Dir(hs.addr) != "/d" || filepath.Clean(hs.addr) != hs.addr {
			t.Errorf("%q led to %q", line, hs.addr)
		}
		// What go-plugin reads must be one line of five fields.
		if l := hs.line(); strings.Count(l, "\n") != 1 || strings.Count(l, "|") != 4 {
			t.Errorf("%q led to the line %q", line, l)
		}
	})
}
