package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"html/template"
	"io/fs"
	"log"
	"net/http"
	"strconv"
	"sync"
)

//go:embed site
var files embed.FS

var pages = template.Must(template.ParseFS(files, "site/*.html"))

const (
	maxBody = 1 << 20
	kept    = 1000 // orders; the oldest go first
)

// site keeps the orders that were placed.
type site struct {
	mu     sync.Mutex
	last   int // the number of the last order
	orders map[int]order
}

func newSite() http.Handler {
	s := &site{orders: map[int]order{}}
	static, err := fs.Sub(files, "site/static")
	if err != nil {
		panic(err) // the name is wrong
	}
	mux := http.NewServeMux()
	mux.Handle("GET /static/", http.StripPrefix("/static/", http.FileServerFS(static)))
	mux.HandleFunc("GET /{$}", show("start.html"))
	mux.HandleFunc("GET /diagnostics", show("diagnostics.html"))
	mux.HandleFunc("GET /more", show("more.html"))
	mux.HandleFunc("GET /newsletter", show("newsletter.html"))
	mux.HandleFunc("GET /order", func(w http.ResponseWriter, _ *http.Request) {
		render(w, http.StatusOK, "order.html", form{Step: 1, Order: order{Quantity: "1", Delivery: "standard"}})
	})
	mux.HandleFunc("POST /order", s.post)
	mux.HandleFunc("GET /orders/{number}", s.get("placed.html"))
	mux.HandleFunc("GET /orders/{number}/receipt", s.get("receipt.html"))
	mux.HandleFunc("POST /api/items", addItem)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'self'; frame-ancestors 'self'; form-action 'self'; base-uri 'none'")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		mux.ServeHTTP(w, r)
	})
}

func show(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { render(w, http.StatusOK, name, nil) }
}

func render(w http.ResponseWriter, code int, name string, data any) {
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, name, data); err != nil {
		log.Print(err)
		http.Error(w, "the page could not be made", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	if _, err := w.Write(b.Bytes()); err != nil {
		log.Print(err)
	}
}

// post takes one step of the form: what it carries of the steps before is
// checked again.
func (s *site) post(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		http.Error(w, "expected a form", http.StatusBadRequest)
		return
	}
	step, err := strconv.Atoi(r.PostForm.Get("step"))
	if err != nil || step < 1 || step > steps {
		http.Error(w, "expected a step from 1 to 3", http.StatusBadRequest)
		return
	}
	o := read(r.PostForm)
	if r.PostForm.Has("back") {
		render(w, http.StatusOK, "order.html", form{Step: max(1, step-1), Order: o})
		return
	}
	for done := 1; done <= step; done++ {
		if problems := o.check(done); len(problems) > 0 {
			render(w, http.StatusUnprocessableEntity, "order.html", form{Step: done, Order: o, Problems: problems})
			return
		}
	}
	if step < steps {
		render(w, http.StatusOK, "order.html", form{Step: step + 1, Order: o})
		return
	}
	// By a redirect, so that a reload places no second order.
	http.Redirect(w, r, "/orders/"+strconv.Itoa(s.place(o)), http.StatusSeeOther)
}

func (s *site) place(o order) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	s.orders[s.last] = o
	delete(s.orders, s.last-kept)
	return s.last
}

func (s *site) get(page string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		number, err := strconv.Atoi(r.PathValue("number"))
		s.mu.Lock()
		o, ok := s.orders[number]
		s.mu.Unlock()
		if err != nil || !ok {
			http.Error(w, "there is no such order", http.StatusNotFound)
			return
		}
		render(w, http.StatusOK, page, placed{number, o})
	}
}

func addItem(w http.ResponseWriter, r *http.Request) {
	var item struct {
		Name string `json:"name"`
	}
	if err := json.NewDecoder(r.Body).Decode(&item); err != nil {
		http.Error(w, "expected a JSON object with a name", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	if err := json.NewEncoder(w).Encode(map[string]any{"id": 1, "name": item.Name}); err != nil {
		log.Print(err)
	}
}
