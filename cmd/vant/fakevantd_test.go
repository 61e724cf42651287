package main

import (
	"cmp"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/vant-run/vant/sdk/client/clienttest"
)

// fakeVantd stands in for the host's program. $FAKE_VANTD says how it behaves:
//
//	(empty)   serves until host.stop, and says so on the readiness pipe
//	refuse    writes a reason to the readiness pipe and ends
//	die       ends without a word
//	mute      serves, but never says so
//	stay      serves; host.stop is answered and ignored
//	lost      finds the socket taken, as the loser of a race does
//
// $FAKE_VERSION is its version, and $FAKE_CONFIG what "check --config-only"
// finds: "warn" only a warning. $FAKE_SECTION is what "check --section" prints.
func fakeVantd(args []string) int {
	mode := os.Getenv("FAKE_VANTD")
	if len(args) > 0 && args[0] == "version" {
		fmt.Println("vantd " + cmp.Or(os.Getenv("FAKE_VERSION"), "1.2.3") + " (abc)")
		return 0
	}
	if fault := os.Getenv("FAKE_CONFIG"); len(args) > 1 && args[1] == "--config-only" && fault != "" {
		if fault != "warn" {
			fmt.Fprintln(os.Stderr, "vantd check: "+fault)
			return 1
		}
		if len(args) > 2 {
			fmt.Println(args[3] + ": valid")
			return 0
		}
		fmt.Println("/c/vant.yaml: valid\n/c/vant.yaml:2:3: warning: no plugin \"nett\" is installed; nearest: \"net\"")
		return 0
	}
	if section := os.Getenv("FAKE_SECTION"); len(args) > 1 && args[1] == "--section" && section != "" {
		fmt.Println(section)
		return 0
	}
	if len(args) > 0 && args[0] == "check" {
		fmt.Printf("checked %s\n", strings.Join(args[1:], " "))
		return 3
	}
	flags := flag.NewFlagSet("vantd", flag.ContinueOnError)
	socket := flags.String("socket", "", "")
	config := flags.String("config", "", "")
	ready := flags.Int("ready-fd", -1, "")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	wd, err := os.Getwd()
	if err != nil {
		return 1
	}
	fmt.Printf("config=%s plugins=%s dir=%s\n", *config, os.Getenv("VANT_PLUGIN_PATH"), wd)
	pipe := os.NewFile(uintptr(*ready), "ready")
	switch mode {
	case "refuse":
		fmt.Fprintln(pipe, "vant.yaml:3: unknown key \"plugin\"; nearest: \"plugins\"")
		return 1
	case "die":
		return 1
	case "lost":
		// The winner serves before the loser gives up.
		if _, err := clienttest.Listen(*socket, hostMethods(nil)); err != nil {
			return 1
		}
		fmt.Fprintln(pipe, "another host has the socket")
		pipe.Close()
		wait(nil)
		return 0
	}
	stop := make(chan struct{}, 1)
	if mode == "stay" {
		stop = nil
	}
	host, err := clienttest.Listen(*socket, hostMethods(stop))
	if err != nil {
		fmt.Fprintln(pipe, err)
		return 1
	}
	if mode != "mute" {
		fmt.Fprintln(pipe, "ready")
		pipe.Close()
	}
	wait(stop)
	host.Stop()
	return 0
}

func wait(stop <-chan struct{}) {
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	select {
	case <-stop:
	case <-term:
	}
}

// hostMethods are what vant up and vant down ask a host; a nil stop is not
// answered by stopping.
func hostMethods(stop chan<- struct{}) clienttest.Handler {
	return clienttest.Methods(map[string]clienttest.Handler{
		"version":      clienttest.Result(`{"protocol":1,"vant":"1.2.3"}`),
		"status":       clienttest.Result(fmt.Sprintf(`{"running":true,"pid":%d}`, os.Getpid())),
		"plugins.list": clienttest.Result(`[]`),
		"host.stop": func(conn net.Conn, r clienttest.Request) {
			clienttest.Result("true")(conn, r)
			if stop != nil {
				stop <- struct{}{}
			}
		},
	})
}
