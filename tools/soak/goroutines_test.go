package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGoroutinesAreCountedByWhatCreatedThem(t *testing.T) {
	const dump = `
PC=0x47 m=0 sigcode=0

goroutine 1 gp=0xc00 m=nil [select]:
main.main()
	/src/main.go:10 +0x1

goroutine 7 gp=0xc01 m=nil [chan receive]:
net.read()
	/src/net.go:1 +0x1
created by net.serve in goroutine 1
	/src/net.go:5 +0x1

goroutine 8 gp=0xc02 m=nil [chan receive]:
net.read()
	/src/net.go:1 +0x1
created by net.serve in goroutine 7
	/src/net.go:5 +0x1

rax    0x0
`
	got := readGoroutines([]byte(dump))
	if diff := cmp.Diff(goroutines{"the runtime": 1, "net.serve": 2}, got); diff != "" {
		t.Error(diff)
	}
	if n := got.total(); n != 3 {
		t.Errorf("%d in all", n)
	}
	if more := got.beyond(goroutines{"the runtime": 1, "net.serve": 1, "gone": 3}); more != "1 by net.serve" {
		t.Errorf("more: %q", more)
	}
}
