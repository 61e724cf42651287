package main

import (
	"strings"
	"testing"
)

func TestConfigurationThatCannotHoldIsRefused(t *testing.T) {
	for want, c := range map[string]config{
		"is not an absolute path": {Profile: "profile"},
		"pages is not":            {AllowFile: []string{"pages"}},
		"must begin with --":      {Args: []string{"incognito"}},
		"would not hold":          {Args: []string{"--proxy-server=http://p.test"}, DenyHosts: []string{"a.test"}},
		"block of addresses":      {AllowHosts: []string{"192.0.2.0/24"}},
		"is a block":              {DenyHosts: []string{"2001:db8::/32"}},
		"is no host name":         {DenyHosts: []string{"https://a.test"}},
	} {
		err := c.check()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", c, err, want)
		}
	}
	if err := (config{Profile: "/p", AllowFile: []string{"/f"}, Args: []string{"--x"}, AllowHosts: []string{"*.a.test", "::1"}}).check(); err != nil {
		t.Error(err)
	}
}
