package urlpolicy

import (
	"fmt"
	"net/netip"
	"strings"
)

// Patterns gives the host patterns that entries of a Config stand for, with * for
// any text, to programs that compare hosts by themselves. An address has several:
// an IPv6 one with brackets and without, an IPv4 one also as IPv6 can say it. Its
// error names an entry that cannot be one: a block of addresses.
func Patterns(entries []string) ([]string, error) {
	var list []string
	for _, e := range entries {
		text := e
		if prefix, err := netip.ParsePrefix(e); err == nil {
			if !prefix.IsSingleIP() {
				return nil, fmt.Errorf("%q is a block of addresses, which cannot be looked for here: give names, *.names or single addresses", e)
			}
			text = prefix.Addr().String()
		}
		name, addr := normal(strings.TrimPrefix(text, "*."))
		switch {
		case addr.Is4():
			mapped := text6(netip.AddrFrom16(addr.As16()))
			list = append(list, addr.String(), mapped, "["+mapped+"]")
		case addr.IsValid():
			list = append(list, text6(addr), "["+text6(addr)+"]")
		case name == "" || strings.IndexFunc(name, notInHost) >= 0 || strings.ContainsAny(name, "*,"):
			return nil, fmt.Errorf("%q is no host name, *.name or address", e)
		default:
			// With the root's dot it is the same host.
			list = append(list, name, name+".")
			if strings.HasPrefix(text, "*.") {
				list = append(list, "*."+name, "*."+name+".")
			}
		}
	}
	return list, nil
}
