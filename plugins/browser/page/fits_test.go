package page

import "testing"

func TestAddressesFitAPart(t *testing.T) {
	tests := []struct {
		pattern, url string
		want         bool
	}{
		{"/done", "https://a.example/done?x", true},
		{"/done", "https://a.example/don", false},
		{"https://a.example/", "https://a.example/", true},
		{"*", "", true},
		{"*", "https://a.example/", true},
		{"**", "https://a.example/", true},
		{"https://*/done", "https://a.example/x/done", true},
		{"https://*/done", "https://a.example/done/", false},
		{"https://*/done", "http://a.example/done", false},
		{"https://*/done*", "https://a.example/done/", true},
		{"*done", "https://a.example/done", true},
		{"*done", "https://a.example/done?x", false},
		{"https://*", "https://a.example/", true},
		{"https://*", "xhttps://a.example/", false},
		{"a*a", "a", false},
		{"a*a", "aa", true},
		{"a*b*a", "aba", true},
		{"a*b*a", "aa", false},
		{"a*ab*b", "aab", false},
		{"a*ab*b", "aabb", true},
		{"*a*", "bab", true},
		{"*a*", "bbb", false},
		{"*b*c", "abcbc", true},
		{"*ab", "aab", true},
		{"?x=1", "https://a.example/?x=1", true},
		{"[a]", "https://a.example/a", false},
		{"*?x=*", "https://a.example/?x=1", true},
	}
	for _, test := range tests {
		if got := fits(test.pattern, test.url); got != test.want {
			t.Errorf("%q and %q: %v", test.pattern, test.url, got)
		}
	}
}
