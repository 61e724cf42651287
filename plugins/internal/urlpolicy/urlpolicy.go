// Package urlpolicy decides which hosts and addresses a plugin may talk to.
// Plugins that take URLs ask it twice: by name before anything is sent, and
// by address when a connection is dialled, so that a name that changes its
// address in between gains nothing.
//
// [Navigation] decides, on top of that, which URLs a browser's tabs may show,
// and gives them the form in which the browser reads them.
package urlpolicy

import (
	"fmt"
	"net/netip"
	"strings"

	"golang.org/x/net/idna"
)

// Config is the policy as operators write it.
type Config struct {
	// AllowHosts, when not empty, is all that may be reached. DenyHosts wins
	// over it. An entry is a host name ("example.com"), a name with all below it
	// ("*.example.com"), an address, or a CIDR block.
	AllowHosts []string
	DenyHosts  []string
	// DenyPrivate refuses loopback, private, link-local, metadata and other
	// addresses that are not public.
	DenyPrivate bool
	// NamesOnly: nobody looks at the address that a name leads to. An address
	// among the entries is that literal one, and allows no name.
	NamesOnly bool
}

// Policy is a checked Config. It may be used concurrently.
type Policy struct {
	allow, deny list
	denyPrivate bool
	namesOnly   bool
}

// Denied says which rule refused what.
type Denied struct{ Host, Rule string }

func (d *Denied) Error() string { return d.Host + " is refused by " + d.Rule }

// New checks a config. Its error names the entry that is wrong.
func New(c Config) (*Policy, error) {
	p := &Policy{denyPrivate: c.DenyPrivate, namesOnly: c.NamesOnly}
	var err error
	if p.allow, err = parse("allow_hosts", c.AllowHosts); err != nil {
		return nil, err
	}
	if p.deny, err = parse("deny_hosts", c.DenyHosts); err != nil {
		return nil, err
	}
	return p, nil
}

// NeedsAddress tells whether a name can be judged only by the address that is
// dialled for it. Behind a proxy nobody sees that one.
func (p *Policy) NeedsAddress() bool {
	return p.denyPrivate || len(p.allow.nets) > 0 || len(p.deny.nets) > 0
}

// CheckHost judges a URL's host, without its port. A name whose entries are
// addresses can only be judged when it is dialled: see CheckAddr. With NamesOnly
// it is judged here.
func (p *Policy) CheckHost(host string) error {
	name, addr := normal(host)
	if addr.IsValid() {
		return p.check(host, "", addr)
	}
	if p.deny.hasName(name) {
		return &Denied{host, "deny_hosts"}
	}
	if !p.allow.empty() && !p.allow.hasName(name) && (p.namesOnly || len(p.allow.nets) == 0) {
		return &Denied{host, "allow_hosts"}
	}
	return nil
}

// CheckAddr judges the address that is about to be dialled for host.
func (p *Policy) CheckAddr(host string, addr netip.Addr) error {
	name, literal := normal(host)
	if literal.IsValid() {
		name = ""
	}
	return p.check(host, name, addr)
}

func (p *Policy) check(host, name string, addr netip.Addr) error {
	addr = addr.Unmap().WithZone("")
	if p.deny.hasAddr(addr) {
		return &Denied{host, "deny_hosts"}
	}
	if !p.allow.empty() && !p.allow.hasName(name) && !p.allow.hasAddr(addr) {
		return &Denied{host, "allow_hosts"}
	}
	if p.denyPrivate && !Public(addr) {
		return &Denied{host, "deny_private"}
	}
	return nil
}

type list struct {
	exact map[string]bool
	below []string // ".example.com"
	nets  []netip.Prefix
}

func (l *list) empty() bool { return len(l.exact)+len(l.below)+len(l.nets) == 0 }

func (l *list) hasName(name string) bool {
	if name == "" {
		return false
	}
	if l.exact[name] {
		return true
	}
	for _, suffix := range l.below {
		if strings.HasSuffix(name, suffix) || name == suffix[1:] {
			return true
		}
	}
	return false
}

func (l *list) hasAddr(addr netip.Addr) bool {
	for _, n := range l.nets {
		if n.Contains(addr) {
			return true
		}
	}
	return false
}

func parse(key string, entries []string) (list, error) {
	l := list{exact: map[string]bool{}}
	for _, e := range entries {
		if prefix, err := netip.ParsePrefix(e); err == nil {
			l.nets = append(l.nets, prefix.Masked())
			continue
		}
		name, addr := normal(strings.TrimPrefix(e, "*."))
		switch {
		case addr.IsValid():
			l.nets = append(l.nets, netip.PrefixFrom(addr, addr.BitLen()))
		case name == "" || strings.ContainsAny(name, "*/:@ "):
			return list{}, fmt.Errorf("%s: %q is no host name, *.name, address or CIDR block", key, e)
		case strings.HasPrefix(e, "*."):
			l.below = append(l.below, "."+name)
		default:
			l.exact[name] = true
		}
	}
	return l, nil
}

// normal gives a host in the one form that is compared: an address, or a
// lower-case ASCII name without the root's dot.
func normal(host string) (string, netip.Addr) {
	if addr, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return "", addr.Unmap().WithZone("")
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	if ascii, err := idna.Lookup.ToASCII(name); err == nil {
		name = ascii
	}
	return name, netip.Addr{}
}
