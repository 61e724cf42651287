package urlpolicy

import (
	"net/netip"
	"testing"
)

func TestHostRules(t *testing.T) {
	tests := []struct {
		name    string
		config  Config
		host    string
		allowed bool
	}{
		{"no rules allow all", Config{}, "example.com", true},
		{"an allowed name", Config{AllowHosts: []string{"example.com"}}, "EXAMPLE.com.", true},
		{"allow means nothing else", Config{AllowHosts: []string{"example.com"}}, "example.org", false},
		{"an exact name does not cover what is below", Config{AllowHosts: []string{"example.com"}}, "a.example.com", false},
		{"a star covers what is below", Config{AllowHosts: []string{"*.example.com"}}, "a.b.example.com", true},
		{"a star covers the name itself", Config{AllowHosts: []string{"*.example.com"}}, "example.com", true},
		{"a suffix is not a part of a label", Config{AllowHosts: []string{"*.example.com"}}, "badexample.com", false},
		{"deny wins", Config{AllowHosts: []string{"*.example.com"}, DenyHosts: []string{"x.example.com"}}, "x.example.com", false},
		{"international names meet their ASCII form", Config{DenyHosts: []string{"bücher.example"}}, "xn--bcher-kva.example", false},
		{"an address literal by block", Config{DenyHosts: []string{"10.0.0.0/8"}}, "10.1.2.3", false},
		{"a mapped literal is its IPv4 address", Config{DenyHosts: []string{"127.0.0.1"}}, "[::ffff:127.0.0.1]", false},
		{"a loopback literal with deny_private", Config{DenyPrivate: true}, "127.0.0.1", false},
		{"a name waits for its address when blocks are allowed", Config{AllowHosts: []string{"10.0.0.0/8"}}, "intranet", true},
		{"a name waits for nothing where only names are judged", Config{AllowHosts: []string{"10.0.0.1"}, NamesOnly: true}, "intranet", false},
		{"an allowed name where only names are judged", Config{AllowHosts: []string{"10.0.0.1", "*.example.com"}, NamesOnly: true}, "a.example.com", true},
		{"an allowed literal where only names are judged", Config{AllowHosts: []string{"10.0.0.1"}, NamesOnly: true}, "10.0.0.1", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := New(tt.config)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.CheckHost(tt.host); (err == nil) != tt.allowed {
				t.Errorf("CheckHost(%q) = %v, want allowed %v", tt.host, err, tt.allowed)
			}
		})
	}
}

func TestDialledAddressIsJudged(t *testing.T) {
	tests := []struct {
		name    string
		config  Config
		host    string
		addr    string
		allowed bool
	}{
		{"a name that turns out to be loopback", Config{DenyPrivate: true}, "rebind.example", "127.0.0.1", false},
		{"metadata", Config{DenyPrivate: true}, "m.example", "169.254.169.254", false},
		{"public", Config{DenyPrivate: true}, "a.example", "93.184.216.34", true},
		{"a denied address under another name", Config{DenyHosts: []string{"10.0.0.1"}}, "a.example", "10.0.0.1", false},
		{"an allowed name with any address", Config{AllowHosts: []string{"a.example"}}, "a.example", "10.0.0.1", true},
		{"an allowed block", Config{AllowHosts: []string{"10.0.0.0/8"}}, "intranet", "10.0.0.1", true},
		{"outside the allowed block", Config{AllowHosts: []string{"10.0.0.0/8"}}, "intranet", "11.0.0.1", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := New(tt.config)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.CheckAddr(tt.host, netip.MustParseAddr(tt.addr)); (err == nil) != tt.allowed {
				t.Errorf("CheckAddr(%q, %s) = %v, want allowed %v", tt.host, tt.addr, err, tt.allowed)
			}
		})
	}
}

func TestPublic(t *testing.T) {
	for addr, want := range map[string]bool{
		"8.8.8.8": true, "2606:4700::1111": true,
		"127.0.0.1": false, "10.0.0.1": false, "172.16.0.1": false, "192.168.1.1": false, "169.254.169.254": false,
		"100.100.100.200": false, "168.63.129.16": false, "0.0.0.0": false, "255.255.255.255": false, "224.0.0.1": false,
		"::1": false, "::": false, "fe80::1": false, "fd00:ec2::254": false, "::ffff:10.0.0.1": false,
		"64:ff9b::a00:1": false, "64:ff9b::808:808": true, "2002:7f00:1::": false,
	} {
		if got := Public(netip.MustParseAddr(addr)); got != want {
			t.Errorf("Public(%s) = %v, want %v", addr, got, want)
		}
	}
}

func TestBadEntriesAreNamed(t *testing.T) {
	for _, e := range []string{"", "*", "http://example.com", "a b", "example.com:80", "*.*.com"} {
		if _, err := New(Config{DenyHosts: []string{e}}); err == nil {
			t.Errorf("New accepted %q", e)
		}
	}
}
