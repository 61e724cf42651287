package fetch

import (
	"net/http"
	"net/url"
	"strings"
)

// credentials never follow a redirect to another origin.
var credentials = []string{"Authorization", "Cookie", "Proxy-Authorization"}

// redirect gives the request that an answer asks for, nil when it asks for none.
func (r *request) redirect(resp *http.Response) *request {
	location := resp.Header.Get("Location")
	if location == "" {
		return nil
	}
	next := &request{method: r.method, header: r.header.Clone(), body: r.body, sends: r.sends}
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound:
		if r.method == http.MethodPost {
			next.withoutBody(http.MethodGet)
		}
	case http.StatusSeeOther:
		if r.method != http.MethodGet && r.method != http.MethodHead {
			next.withoutBody(http.MethodGet)
		}
	case http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil
	}
	to, err := r.url.Parse(location)
	if err != nil {
		return nil
	}
	to.Scheme = strings.ToLower(to.Scheme)
	to.Fragment, to.RawFragment = "", ""
	next.url = to
	if origin(to) == origin(r.url) {
		next.host = r.host
		if to.User == nil {
			to.User = r.url.User
		}
	} else {
		for _, name := range credentials {
			delete(next.header, name)
		}
	}
	return next
}

func (r *request) withoutBody(method string) {
	r.method, r.body, r.sends = method, nil, false
	for name := range r.header {
		if strings.HasPrefix(name, "Content-") {
			delete(r.header, name)
		}
	}
}

func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}
