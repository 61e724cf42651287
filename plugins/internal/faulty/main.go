// Command faulty is the plugin that misbehaves: the host's tests run it to see
// that nothing a plugin does harms the host or other plugins. How it behaves
// stands in its environment, never in its file's name:
//
//	VANT_FAULTY_MODE       one of the modes below; "" is normal
//	VANT_FAULTY_NAME       the plugin's name, default "faulty"
//	VANT_FAULTY_NAMESPACE  first part of its method names, default the name
//	                       with "_" for "-"
//	VANT_FAULTY_VERSION    the plugin's version, default "1.0.0"
//	VANT_FAULTY_EXCLUSIVE  "1": declared exclusive
//	VANT_FAULTY_CLAIM      a further method name, for contested methods
//	VANT_FAULTY_AFTER_MS   when a delayed fault begins, default 100
//	VANT_FAULTY_BYTES      how much a flood writes, default 1 GiB
//
// Modes:
//
//	normal             well-behaved
//	banner             a line on standard output before the handshake
//	garbage-handshake  the line a|b|c|d instead of the handshake
//	hang-handshake     no handshake ever
//	exit-early         exit status 3 and a text on standard error, no handshake
//	wrong-version      the handshake says protocol version 99
//	liar-tcp           the handshake names a TCP address, where it serves
//	liar-socket        the handshake names a socket outside the host's folder
//	no-health          no health service
//	hang-health        health checks hang from AFTER_MS on
//	hang-describe      Describe hangs
//	big-describe       Describe answers 10 MB
//	bad-names          method names that are not allowed
//	claims-builtin     declares the method "status"
//	wrong-name         Describe gives another name than the file has
//	bad-schema         a parameter schema that is none
//	hang-configure     Configure hangs
//	fail-configure     Configure fails with a text for the operator
//	crash-loop         exit status 4, AFTER_MS after Configure
//	logbomb            malformed log lines, zero bytes, a line of 1 MB, then a
//	                   flood of BYTES on standard error, after Configure
//	stdout-flood       a line of 70 KiB and then BYTES on the handshake's
//	                   descriptor, after Configure
//	ignore-term        SIGTERM and Shutdown change nothing
//	hang-drain         Drain hangs
//	liar-events        every answer names 2^63 events on Link, none comes
//	broken-link        Link fails at once, and every answer names one event more
//	stop-self          SIGSTOP to itself, AFTER_MS after Configure
//
// The methods of the normal mode, all below the namespace (default faulty):
//
//	echo     parameters as they came         badjson  a result that is no JSON
//	sleep    {ms, ignore_cancel}             badutf8  a result of bad UTF-8
//	exit     {code}                          pretty   a result of many lines
//	crash    SIGKILL to itself               env      environment and folder
//	stop     SIGSTOP to itself               fds      open descriptors
//	panic    a panic in the method           emit     {type, count, background, link}
//	big      {bytes} a string of that size   call     {method, params, timeout_ms}
//	alloc    {mb} memory that is kept        error    {code, message}
//	spawn    {setsid, clean, mb} a           log      {lines, kind}
//	         grandchild that holds the       open     {count} files, kept open
//	         pipes, {pid}                    spin     {ms} of processor time
//
// In the modes that package sdk would not let a plugin do, it speaks gRPC by
// itself and has echo alone.
package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/vant-run/vant/sdk"
)

// settings is what the environment asks for.
type settings struct {
	mode, name, namespace, version, claim string
	exclusive                             bool
	after                                 time.Duration
	bytes                                 int64
}

func readSettings() (settings, error) {
	s := settings{
		mode:      or(os.Getenv("VANT_FAULTY_MODE"), "normal"),
		name:      or(os.Getenv("VANT_FAULTY_NAME"), "faulty"),
		version:   or(os.Getenv("VANT_FAULTY_VERSION"), "1.0.0"),
		claim:     os.Getenv("VANT_FAULTY_CLAIM"),
		exclusive: os.Getenv("VANT_FAULTY_EXCLUSIVE") == "1",
	}
	s.namespace = or(os.Getenv("VANT_FAULTY_NAMESPACE"), strings.ReplaceAll(s.name, "-", "_"))
	ms, err := strconv.ParseUint(or(os.Getenv("VANT_FAULTY_AFTER_MS"), "100"), 10, 31)
	if err != nil {
		return s, fmt.Errorf("VANT_FAULTY_AFTER_MS: %w", err)
	}
	s.after = time.Duration(ms) * time.Millisecond
	s.bytes, err = strconv.ParseInt(or(os.Getenv("VANT_FAULTY_BYTES"), "1073741824"), 10, 64)
	if err != nil {
		return s, fmt.Errorf("VANT_FAULTY_BYTES: %w", err)
	}
	return s, nil
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func main() {
	if child := os.Getenv(childEnv); child != "" {
		os.Exit(grandchild(child))
	}
	s, err := readSettings()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	act, known := modes[s.mode]
	if !known {
		fmt.Fprintf(os.Stderr, "VANT_FAULTY_MODE %q is not known\n", s.mode)
		os.Exit(2)
	}
	keepStdout()
	if act.before != nil {
		act.before(s)
	}
	p := build(s)
	if act.ready != nil {
		act.ready(s, p)
	}
	sdk.Serve(p)
}
