package urlpolicy

import "net/netip"

// notPublic lists what the registries set aside, beyond what netip knows, and
// the metadata service that a cloud serves on a public address.
var notPublic = func() []netip.Prefix {
	var out []netip.Prefix
	for _, s := range []string{
		"0.0.0.0/8",        // this network
		"100.64.0.0/10",    // carrier-grade NAT
		"192.0.0.0/24",     // protocol assignments
		"192.0.2.0/24",     // documentation
		"198.18.0.0/15",    // benchmarks
		"198.51.100.0/24",  // documentation
		"203.0.113.0/24",   // documentation
		"240.0.0.0/4",      // reserved and broadcast
		"168.63.129.16/32", // a cloud's metadata service
		"100::/64",         // discard
		"2001:db8::/32",    // documentation
		"fec0::/10",        // former site-local
	} {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}()

var (
	nat64 = netip.MustParsePrefix("64:ff9b::/96")
	sixTo = netip.MustParsePrefix("2002::/16")
)

// Public tells whether an address is one of the open internet.
func Public(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	if !addr.IsValid() || addr.IsUnspecified() || addr.IsLoopback() || addr.IsPrivate() ||
		addr.IsLinkLocalUnicast() || addr.IsMulticast() {
		return false
	}
	// Addresses that carry an IPv4 address reach what that one reaches.
	b := addr.As16()
	switch {
	case nat64.Contains(addr):
		return Public(netip.AddrFrom4([4]byte(b[12:16])))
	case sixTo.Contains(addr):
		return Public(netip.AddrFrom4([4]byte(b[2:6])))
	}
	for _, n := range notPublic {
		if n.Contains(addr) {
			return false
		}
	}
	return true
}
