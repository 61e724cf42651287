package urlpolicy

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
)

// MaxURL is the longest URL in bytes, before and after it is normalised:
// Chromium opens none that is longer.
const MaxURL = 2 << 20

// Navigation decides which URLs a browser's tabs may show. The zero value
// allows every host and no local file. It may be used concurrently.
type Navigation struct {
	hosts   *Policy
	folders []string
}

// NewNavigation makes the policy. With hosts nil every host is allowed.
// Local files are opened only below the folders of allowFile, which must be
// absolute; its error names the one that is not.
func NewNavigation(hosts *Policy, allowFile []string) (*Navigation, error) {
	n := &Navigation{hosts: hosts}
	for _, f := range allowFile {
		if !filepath.IsAbs(f) {
			return nil, fmt.Errorf("allow_file: %q is no absolute folder", f)
		}
		n.folders = append(n.folders, filepath.Clean(f))
	}
	return n, nil
}

// Source says where a URL comes from.
type Source int

const (
	// Typed is what a caller gave: a scheme may be missing.
	Typed Source = iota
	// Page is what a page itself goes to: absolute URLs only.
	Page
)

// Rule names what refused an address.
type Rule string

const (
	RuleLength  Rule = "length"  // longer than MaxURL
	RuleAddress Rule = "address" // no address: words, a relative URL
	RuleScheme  Rule = "scheme"  // a scheme that no tab may show
	RuleHost    Rule = "host"    // no host, or one that cannot be
	RulePort    Rule = "port"    // no port from 1 to 65535
	RuleFile    Rule = "file"    // a file outside of allow_file, or none
)

// Rejected is an address that is never opened. The text says what is wrong
// and what to do, and has nothing of the address but a scheme that is known: it
// may hold a password.
type Rejected struct {
	Rule Rule
	Text string
}

func (r *Rejected) Error() string { return r.Text }

// External is an address that belongs to another program.
type External struct{ Scheme string }

func (e *External) Error() string {
	return e.Scheme + ": addresses belong to another program; open it there"
}

// Check gives the URL to open for s, normalised as the URL standard says, or
// a *Rejected, *External or *Denied. A host that the policy can only judge by
// its address is allowed here: see [Policy.NeedsAddress]. A file's URL is that
// of the file itself, with every symbolic link resolved.
func (n *Navigation) Check(s string, from Source) (string, error) {
	if len(s) > MaxURL {
		return "", tooLong()
	}
	s = trim(s)
	if addr, err := netip.ParseAddr(s); err == nil && addr.Is6() && from == Typed {
		s = "[" + s + "]"
	}
	scheme, rest, found := cutScheme(s)
	switch {
	case !found && from == Page:
		return "", &Rejected{RuleAddress, "the page's URL is not absolute: it needs a scheme, as in https://example.com/"}
	case !found || from == Typed && !knownScheme(scheme) && startsWithPort(scheme, rest):
		return n.guess(s)
	}
	switch scheme {
	case "http", "https":
		u, err := parseAddress(scheme, rest)
		if err != nil {
			return "", err
		}
		return n.allow(u)
	case "about":
		if page, _, _ := cutAny(rest, "?#"); strings.EqualFold(page, "blank") {
			return "about:blank", nil
		}
		return "", &Rejected{RuleScheme, "of the about: pages only about:blank can be opened"}
	case "vantage":
		if from == Typed && strings.EqualFold(rest, "new") {
			return "about:blank", nil
		}
		return "", &Rejected{RuleScheme, "of the vantage: pages only vantage:new can be opened, and not by a page"}
	case "file":
		return n.file(rest)
	}
	if external(scheme) {
		return "", &External{scheme}
	}
	if !internal[scheme] {
		scheme = "unknown" // it may be a user's name
	}
	return "", &Rejected{RuleScheme, scheme + ": addresses are not opened; use http, https or about:blank"}
}

// guess completes an address without a scheme: a name with a dot is https, an
// address literal, localhost and a word with a port are http.
func (n *Navigation) guess(s string) (string, error) {
	no := &Rejected{RuleAddress, "this is no address; write a whole URL, as in https://example.com/"}
	authority, _, _ := cutAny(s, `/?#\`)
	if authority == "" || strings.Contains(authority, "@") {
		return "", no
	}
	u, err := parseAddress("https", s)
	if err != nil {
		if err.Rule == RuleHost {
			err = no
		}
		return "", err
	}
	name, plain := strings.TrimSuffix(u.host, "."), false
	switch {
	case u.addr.Is4() && u.addr.As4()[0] == 0 && !strings.HasPrefix(authority, "0.0.0.0"):
		return "", no // a small number, not one of an address
	case u.addr.IsValid(), name == "localhost", strings.HasSuffix(name, ".localhost"):
		plain = true
	case !strings.Contains(name, ".") && !strings.Contains(authority, ":"):
		return "", no
	case !strings.Contains(name, "."), u.port == "80":
		plain = true
	}
	if plain && !strings.HasSuffix(authority, ":443") {
		// Another port is the default one now.
		if u, err = parseAddress("http", s); err != nil {
			return "", err
		}
	}
	return n.allow(u)
}

func (n *Navigation) allow(u *address) (string, error) {
	if n.hosts != nil {
		if err := n.hosts.CheckHost(u.host); err != nil {
			return "", err
		}
	}
	s := u.String()
	if len(s) > MaxURL {
		return "", tooLong()
	}
	return s, nil
}

func tooLong() *Rejected {
	return &Rejected{RuleLength, fmt.Sprintf("the URL is longer than %d bytes; shorten it", MaxURL)}
}

// startsWithPort tells localhost:3000 from mailto:ann. Nothing but a name with
// a dot can leave the number out.
func startsWithPort(name, rest string) bool {
	port, _, _ := cutAny(rest, `/?#\`)
	if port == "" {
		return strings.Contains(name, ".")
	}
	return strings.Trim(port, "0123456789") == ""
}
