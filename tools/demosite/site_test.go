package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

func do(t *testing.T, h http.Handler, method, target, body, contentType string) (*http.Response, string) {
	t.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	resp := w.Result()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(b)
}

func post(t *testing.T, h http.Handler, v url.Values) (*http.Response, string) {
	t.Helper()
	return do(t, h, http.MethodPost, "/order", v.Encode(), "application/x-www-form-urlencoded")
}

func full(step string) url.Values {
	return url.Values{
		"step": {step}, "name": {"Ann <b>"}, "email": {"ann@example.com"}, "country": {"fr"}, "product": {"tea"}, "quantity": {"2"},
		"date": {"2030-02-28"}, "delivery": {"express"}, "gift": {"on"}, "note": {"Ring twice"}, "terms": {"on"},
	}
}

func TestPagesAndFiles(t *testing.T) {
	h := newSite()
	for path, want := range map[string]string{
		"/": "It works", "/order": "Full name", "/diagnostics": "Throw an error", "/more": "<iframe", "/newsletter": "Subscribe", "/static/order.js": "noValidate",
		"/static/site.css": "font:", "/static/icon.svg": "<svg", "/static/placed.js": "window.open", "/static/receipt.js": "window.close", "/static/diagnostics.js": "throw",
		"/static/more.js": "confirm", "/static/newsletter.js": "Subscribed",
	} {
		if resp, body := do(t, h, http.MethodGet, path, "", ""); resp.StatusCode != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %s, %.200q", path, resp.Status, body)
		}
	}
	for _, path := range []string{"/missing", "/orders/1", "/orders/x/receipt", "/static/none.js"} {
		if resp, _ := do(t, h, http.MethodGet, path, "", ""); resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s", path, resp.Status)
		}
	}
}

// Every page is complete without the network, and every field has a name.
func TestPagesStandAlone(t *testing.T) {
	h := newSite()
	place(t, h)
	outside := regexp.MustCompile(`(?i)(src|href|action)="(https?:)?//`)
	inline := regexp.MustCompile(`(?i)<script>| on[a-z]+=| style=`) // the policy refuses these
	control := regexp.MustCompile(`<(?:input|select|textarea) id="([a-z]+)"[^>]*>`)
	bodies := map[string]string{}
	for _, path := range []string{"/", "/order", "/diagnostics", "/more", "/newsletter", "/orders/1", "/orders/1/receipt"} {
		_, bodies[path] = do(t, h, http.MethodGet, path, "", "")
	}
	for _, step := range []string{"1", "2"} {
		_, bodies["step after "+step] = post(t, h, full(step))
	}
	fields := 0
	for name, body := range bodies {
		if m := outside.FindString(body) + inline.FindString(body); m != "" {
			t.Errorf("%s has %q", name, m)
		}
		for _, m := range control.FindAllStringSubmatch(body, -1) {
			fields++
			if !strings.Contains(body, `<label for="`+m[1]+`">`) && !strings.Contains(body, "<label>"+m[0]) {
				t.Errorf("%s: %s has no label", name, m[1])
			}
		}
	}
	if fields != 11 {
		t.Errorf("%d fields, want the form's 9 and 2 more", fields)
	}
}

func place(t *testing.T, h http.Handler) {
	t.Helper()
	if resp, body := post(t, h, full("3")); resp.StatusCode != http.StatusSeeOther || resp.Header.Get("Location") != "/orders/1" {
		t.Fatalf("%s to %q: %s", resp.Status, resp.Header.Get("Location"), body)
	}
}

func TestStepsLeadToAReceipt(t *testing.T) {
	h := newSite()
	for step, want := range map[string]string{"1": "step 2 of 3", "2": "2 × Tea"} {
		if resp, body := post(t, h, full(step)); resp.StatusCode != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("step %s: %s, no %q", step, resp.Status, want)
		}
	}
	place(t, h)
	for _, path := range []string{"/orders/1", "/orders/1/receipt"} {
		_, body := do(t, h, http.MethodGet, path, "", "")
		for _, want := range []string{"Ann &lt;b&gt;", "ann@example.com", "France", "2 × Tea", "Express, 2030-02-28", "Ring twice"} {
			if !strings.Contains(body, want) {
				t.Errorf("%s has no %q", path, want)
			}
		}
	}
}

func TestBackKeepsWhatWasTyped(t *testing.T) {
	v := full("2")
	v.Set("back", "1")
	v.Set("quantity", "nonsense")
	resp, body := post(t, newSite(), v)
	if resp.StatusCode != http.StatusOK || !strings.Contains(body, "step 1 of 3") || !strings.Contains(body, `value="nonsense"`) || !strings.Contains(body, `value="fr" selected`) {
		t.Errorf("%s: %s", resp.Status, body)
	}
}

func TestServerChecksEveryField(t *testing.T) {
	tests := []struct{ field, value, step, problem string }{
		{"name", "", "1", "Enter a name"},
		{"name", " A ", "1", "Enter a name"},
		{"name", strings.Repeat("ü", 81), "1", "Enter a name"},
		{"email", "ann", "1", "Enter an e-mail"},
		{"email", "Ann <ann@example.com>", "1", "Enter an e-mail"},
		{"country", "xx", "1", "Choose a country"},
		{"product", "", "2", "Choose a product"},
		{"quantity", "0", "2", "Enter a quantity"},
		{"quantity", "100", "2", "Enter a quantity"},
		{"quantity", "1.5", "2", "Enter a quantity"},
		{"date", "", "2", "Choose a delivery date"},
		{"date", "2030-02-30", "2", "Choose a delivery date"},
		{"date", "1999-01-01", "2", "Choose a delivery date"},
		{"delivery", "pigeon", "2", "Choose how to deliver"},
		{"note", strings.Repeat("x", 501), "2", "Shorten the note"},
		{"terms", "", "3", "Accept the terms"},
	}
	for _, tt := range tests {
		t.Run(tt.field+" "+tt.value[:min(10, len(tt.value))], func(t *testing.T) {
			// Sent with its own step, and past it with the last one.
			for _, step := range []string{tt.step, "3"} {
				v := full(step)
				if v.Set(tt.field, tt.value); tt.field == "terms" {
					v.Del("terms")
				}
				resp, body := post(t, newSite(), v)
				if resp.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(body, tt.problem) ||
					!strings.Contains(body, "step "+tt.step+" of 3") || strings.Count(body, `class="problem"`) != 1 {
					t.Errorf("with step %s: %s, %s", step, resp.Status, body)
				}
			}
		})
	}
}

func TestBrokenForms(t *testing.T) {
	h := newSite()
	for _, step := range []string{"", "0", "4", "x"} {
		if resp, _ := post(t, h, full(step)); resp.StatusCode != http.StatusBadRequest {
			t.Errorf("step %q: %s", step, resp.Status)
		}
	}
	big := full("1")
	big.Set("note", strings.Repeat("x", 2<<20))
	if resp, _ := post(t, h, big); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("2 MiB: %s", resp.Status)
	}
}

func TestOldOrdersGo(t *testing.T) {
	s := &site{orders: map[int]order{}}
	for range kept + 5 {
		s.place(order{})
	}
	if _, old := s.orders[5]; len(s.orders) != kept || old {
		t.Errorf("%d orders are kept", len(s.orders))
	}
}

func TestItems(t *testing.T) {
	h := newSite()
	resp, body := do(t, h, http.MethodPost, "/api/items", `{"name":"x"}`, "application/json")
	if resp.StatusCode != http.StatusCreated || body != "{\"id\":1,\"name\":\"x\"}\n" || resp.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s %q", resp.Status, body)
	}
	for _, bad := range []string{"", "[]", "x"} {
		if resp, _ := do(t, h, http.MethodPost, "/api/items", bad, ""); resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%q: %s", bad, resp.Status)
		}
	}
	if resp, _ := do(t, h, http.MethodGet, "/api/items", "", ""); resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET: %s", resp.Status)
	}
}
