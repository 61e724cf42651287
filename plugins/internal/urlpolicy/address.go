package urlpolicy

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// address is a URL of http or https in the form that the URL standard
// (url.spec.whatwg.org) gives it. net/url follows another one, by which it
// reads other hosts than a browser does from the same text: one function has
// to find the host that is judged and the host that is dialled.
type address struct {
	scheme, user, host, port string // host: ASCII, an IPv6 literal in brackets
	path, query, fragment    string // with their first characters

	addr netip.Addr // of a literal
}

func (a *address) String() string {
	s := a.scheme + "://" + a.user + a.host
	if a.port != "" {
		s += ":" + a.port
	}
	return s + a.path + a.query + a.fragment
}

// trim does what the standard does to every text before it looks at it.
func trim(s string) string {
	s = strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
	if strings.ContainsAny(s, "\t\n\r") {
		s = strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(s)
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// cutScheme cuts a scheme off, in lower case and without its colon.
func cutScheme(s string) (scheme, rest string, found bool) {
	for i := range len(s) {
		switch c := s[i] | 0x20; {
		case c >= 'a' && c <= 'z':
		case i > 0 && (s[i] >= '0' && s[i] <= '9' || s[i] == '+' || s[i] == '-' || s[i] == '.'):
		case i > 0 && s[i] == ':':
			return strings.ToLower(s[:i]), s[i+1:], true
		default:
			return "", s, false
		}
	}
	return "", s, false
}

// cutAny cuts s at the first of the characters, which the rest keeps.
func cutAny(s, chars string) (before, rest string, found bool) {
	if i := strings.IndexAny(s, chars); i >= 0 {
		return s[:i], s[i:], true
	}
	return s, "", false
}

// parseAddress reads what follows the scheme of an http or https URL.
func parseAddress(scheme, s string) (*address, *Rejected) {
	a := &address{scheme: scheme}
	authority, rest, _ := cutAny(strings.TrimLeft(s, `/\`), `/?#\`)
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		a.user = userinfo(authority[:at])
		authority = authority[at+1:]
	}
	host, port := authority, ""
	if i := strings.IndexByte(authority[strings.LastIndexByte(authority, ']')+1:], ':'); i >= 0 {
		i += strings.LastIndexByte(authority, ']') + 1
		host, port = authority[:i], authority[i+1:]
	}
	var bad *Rejected
	if a.host, a.addr, bad = parseHost(host); bad != nil {
		return nil, bad
	}
	if a.port, bad = parsePort(scheme, port); bad != nil {
		return nil, bad
	}
	a.split(rest)
	return a, nil
}

// split takes the URL's end apart and escapes it.
func (a *address) split(s string) {
	s, fragment, _ := cutAny(s, "#")
	path, query, _ := cutAny(s, "?")
	a.path = clean(path)
	if query != "" {
		a.query = "?" + escape(query[1:], inQuery)
	}
	if fragment != "" {
		a.fragment = "#" + escape(fragment[1:], inFragment)
	}
}

func userinfo(s string) string {
	name, password, _ := strings.Cut(s, ":")
	name, password = escape(name, inUserinfo), escape(password, inUserinfo)
	switch {
	case password != "":
		return name + ":" + password + "@"
	case name != "":
		return name + "@"
	}
	return ""
}

func parsePort(scheme, s string) (string, *Rejected) {
	if s == "" {
		return "", nil
	}
	digits := strings.TrimLeft(s, "0")
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || n == 0 {
		return "", &Rejected{RulePort, "the port must be a number from 1 to 65535"}
	}
	if scheme == "http" && n == 80 || scheme == "https" && n == 443 {
		return "", nil
	}
	return digits, nil
}

// domains maps names as browsers do: without transitional forms, and with
// what only registries refuse.
var domains = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.CheckJoiners(true),
	idna.Transitional(false), idna.StrictDomainName(false), idna.CheckHyphens(false), idna.VerifyDNSLength(false))

// maxHost bounds the work on a host. No name has more than 253 characters,
// each of which can be written with at most twelve bytes.
const maxHost = 4096

// parseHost gives a host in the form in which it is looked up.
func parseHost(s string) (string, netip.Addr, *Rejected) {
	bad := func(what string) (string, netip.Addr, *Rejected) {
		return "", netip.Addr{}, &Rejected{RuleHost, "the URL's host " + what + "; write it as in https://example.com/"}
	}
	if len(s) > maxHost {
		return bad("is too long")
	}
	if strings.HasPrefix(s, "[") {
		addr, err := netip.ParseAddr(strings.TrimSuffix(s[1:], "]"))
		if err != nil || !addr.Is6() || addr.Zone() != "" || !strings.HasSuffix(s, "]") {
			return bad("is no IPv6 address")
		}
		return "[" + text6(addr) + "]", addr, nil
	}
	name := strings.ToValidUTF8(unescape(s), "\uFFFD")
	if name == "" {
		return bad("is missing")
	}
	if ascii(name) && !strings.Contains(strings.ToLower(name), "xn--") {
		name = strings.ToLower(name)
	} else {
		mapped, err := domains.ToASCII(name)
		if err != nil || mapped == "" || halfEncoded(name) {
			return bad("is no name that can be looked up")
		}
		name = mapped
	}
	if strings.IndexFunc(name, notInHost) >= 0 {
		return bad("has characters that no host has")
	}
	if strings.HasPrefix(name, ".") || strings.Contains(name, "..") {
		return bad("has an empty label") // with a dot more, a denied name would be another one
	}
	if !endsInNumber(name) {
		return name, netip.Addr{}, nil
	}
	addr, ok := parse4(name)
	if !ok {
		return bad("ends in a number and is no IPv4 address")
	}
	return addr.String(), addr, nil
}

func ascii(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= 0x80 }) < 0
}

// halfEncoded tells whether a label says that it is encoded and is not: idna
// and browsers disagree about those.
func halfEncoded(name string) bool {
	for label := range strings.FieldsFuncSeq(strings.ToLower(name), func(r rune) bool { return strings.ContainsRune(".。．｡", r) }) {
		if strings.HasPrefix(label, "xn--") && !ascii(label) {
			return true
		}
	}
	return false
}

// notInHost leaves the standard's characters but for a few that net/url refuses
// or Chromium escapes: no name that can be looked up has them.
func notInHost(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("-._~!$&'()+,;=", r)
}

// text6 writes an address as the standard does: it knows no dotted end.
func text6(addr netip.Addr) string {
	if b := addr.As16(); addr.Is4In6() {
		return fmt.Sprintf("::ffff:%x:%x", uint(b[12])<<8|uint(b[13]), uint(b[14])<<8|uint(b[15]))
	}
	return addr.String()
}

func endsInNumber(name string) bool {
	name = strings.TrimSuffix(name, ".")
	last := name[strings.LastIndexByte(name, '.')+1:]
	if last != "" && strings.Trim(last, "0123456789") == "" {
		return true
	}
	hex, found := strings.CutPrefix(last, "0x")
	return found && strings.Trim(hex, "0123456789abcdef") == ""
}

// parse4 reads the numeric forms of an IPv4 address: one to four parts, each
// decimal, octal or hexadecimal, the last of which fills what is left.
func parse4(name string) (netip.Addr, bool) {
	parts := strings.Split(strings.TrimSuffix(name, "."), ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var all uint64
	for i, p := range parts {
		n, ok := parseNumber(p)
		bits := 8
		if i == len(parts)-1 {
			bits = 8 * (5 - len(parts))
		}
		if !ok || n >= 1<<bits {
			return netip.Addr{}, false
		}
		all = all<<bits | n
	}
	return netip.AddrFrom4([4]byte{byte(all >> 24), byte(all >> 16), byte(all >> 8), byte(all)}), true
}

func parseNumber(s string) (uint64, bool) {
	base, digits := 10, s
	if hex, found := strings.CutPrefix(s, "0x"); found {
		base, digits = 16, hex
	} else if len(s) > 1 && s[0] == '0' {
		base, digits = 8, s[1:]
	}
	if digits == "" {
		return 0, s != "" // "0x" is zero
	}
	n, err := strconv.ParseUint(digits, base, 64)
	return n, err == nil
}

// clean resolves a path's dots, which may be escaped, and escapes the rest.
func clean(path string) string {
	parts := strings.Split(strings.ReplaceAll(path, `\`, "/"), "/")
	out := []string{""} // the part before the first slash
	for i, p := range parts {
		last := i == len(parts)-1
		switch dots := strings.ReplaceAll(strings.ToLower(p), "%2e", "."); {
		case i == 0 && p == "":
		case dots == ".":
			if last {
				out = append(out, "")
			}
		case dots == "..":
			out = out[:max(1, len(out)-1)]
			if last {
				out = append(out, "")
			}
		default:
			out = append(out, escape(p, inPath))
		}
	}
	if len(out) == 1 {
		return "/"
	}
	return strings.Join(out, "/")
}

// The characters that are escaped in each part, beyond controls and whatever
// is not ASCII.
const (
	inFragment = " \"<>`"
	inQuery    = " \"#<>'"
	inPath     = " \"#<>?^`{}"
	inUserinfo = inPath + "/:;=@[\\]|"
)

func escape(s, chars string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c > 0x7e || strings.IndexByte(chars, c) >= 0 {
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// unescape leaves what is no escape as it is.
func unescape(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(n))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
