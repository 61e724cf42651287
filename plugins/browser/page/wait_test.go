package page

import "testing"

func TestAddressesFitPatterns(t *testing.T) {
	const url = "https://example.com/a/b?q=1#x"
	for pattern, want := range map[string]bool{
		"": true, "example": true, "/a/b": true, url: true, "/c": false, "Example": false,
		"*": true, "**": true, "https://*": true, "*#x": true, "*/a/*": true, "https://*/b?q=*x": true, "https*com*b*1*": true,
		"http://*": false, "*/a": false, "a*": false, "*?q=1": false, "*b*a*": false, url + "*": true, "*" + url: true, url + "*x": false,
		"https://example.com/a/b?q=1#x*#x": false, // the end is not used twice
	} {
		if got := fits(pattern, url); got != want {
			t.Errorf("%q fits: %v", pattern, got)
		}
	}
}
