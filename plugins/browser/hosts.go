package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vant-run/vant/plugins/internal/urlpolicy"
)

// maxHostRules bounds the rules, in bytes: a system's command lines are bounded.
const maxHostRules = 64 << 10

// hostRules keeps the browser from hosts where names are resolved, which pages,
// frames, workers, redirects and guesses ahead of them all pass. What is excluded
// there is so from all rules, so that a host has to be in one list of them alone.
func hostRules(c config) ([]string, error) {
	allowed, err := urlpolicy.Patterns(c.AllowHosts)
	if err != nil {
		return nil, fmt.Errorf("allow_hosts: %w", err)
	}
	denied, err := urlpolicy.Patterns(c.DenyHosts)
	if err != nil {
		return nil, fmt.Errorf("deny_hosts: %w", err)
	}
	var rules []string
	for _, host := range denied {
		rules = append(rules, "MAP "+host+" ~NOTFOUND")
	}
	if len(allowed) > 0 {
		rules = []string{"MAP * ~NOTFOUND"}
	}
	for _, host := range allowed {
		if end, wide := strings.CutPrefix(host, "*"); wide {
			for _, pattern := range without(end, denied) {
				rules = append(rules, "EXCLUDE "+pattern)
			}
		} else if !slices.ContainsFunc(denied, func(d string) bool { return covers(d, host) }) {
			rules = append(rules, "EXCLUDE "+host)
		}
	}
	if rules == nil {
		return nil, nil
	}
	list := strings.Join(rules, ",")
	if len(list) > maxHostRules {
		return nil, fmt.Errorf("allow_hosts, deny_hosts: they make %d bytes of rules for the browser, which takes %d: list fewer or shorter names", len(list), maxHostRules)
	}
	return []string{
		"--host-resolver-rules=" + list,
		// A proxy would resolve names and connect in the browser's place.
		"--no-proxy-server",
		// Peers and their servers are spoken to by address, past the rules, but for
		// what goes over TCP. The second is the flag's name in older browsers.
		"--webrtc-ip-handling-policy=disable_non_proxied_udp",
		"--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
	}, nil
}

// covers tells whether a pattern is for all that another one is for.
func covers(pattern, other string) bool {
	end, wide := strings.CutPrefix(pattern, "*")
	return pattern == other || wide && strings.HasSuffix(other, end)
}

// inNames are the characters of names that are looked up.
const inNames = "abcdefghijklmnopqrstuvwxyz0123456789-_."

// without gives the patterns that are for all names with an end but the denied
// ones: those with each character before the end that leads to no denied name, and
// so on where one does.
func without(end string, denied []string) []string {
	var longer []string // that have this end
	itself := strings.HasPrefix(end, ".")
	for _, d := range denied {
		switch {
		case strings.HasPrefix(d, "*") && covers(d, end):
			return nil
		case d == end:
			itself = true
		case strings.HasSuffix(d, end):
			longer = append(longer, d)
		}
	}
	if longer == nil && !slices.Contains(denied, end) {
		return []string{"*" + end}
	}
	var patterns []string
	if !itself {
		patterns = append(patterns, end)
	}
	for _, c := range inNames {
		patterns = append(patterns, without(string(c)+end, longer)...)
	}
	return patterns
}
