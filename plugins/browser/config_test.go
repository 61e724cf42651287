package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHostRulesMeanWhatThePolicyMeans(t *testing.T) {
	for _, tc := range []struct {
		c    config
		want string
	}{
		{config{}, ""},
		{config{DenyHosts: []string{"a.test", "*.b.test"}}, "MAP a.test ~NOTFOUND, MAP b.test ~NOTFOUND, MAP *.b.test ~NOTFOUND"},
		{config{AllowHosts: []string{"*.a.test", "192.0.2.1"}}, "MAP * ~NOTFOUND, EXCLUDE a.test, EXCLUDE *.a.test, EXCLUDE 192.0.2.1"},
		{config{AllowHosts: []string{"a.test"}, DenyHosts: []string{"b.a.test"}}, "MAP b.a.test ~NOTFOUND, MAP * ~NOTFOUND, EXCLUDE a.test"},
	} {
		got := strings.Join(hostRules(tc.c), " ")
		if diff := cmp.Diff(tc.want, strings.TrimPrefix(got, "--host-resolver-rules=")); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", tc.c, diff)
		}
	}
}

func TestConfigurationThatCannotHoldIsRefused(t *testing.T) {
	for want, c := range map[string]config{
		"is not an absolute path": {Profile: "profile"},
		"pages is not":            {AllowFile: []string{"pages"}},
		"must begin with --":      {Args: []string{"incognito"}},
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
