// Demosite is the site that the demo works on: a start page, an order form of
// several steps with a receipt in a pop-up, a page that fails on purpose, one
// with files, dialogs and a frame, and a small API. It needs nothing from outside. It prints its address and serves
// until it is ended.
package main

import (
	"fmt"
	"log"
	"net"
	"net/http"
	"time"
)

func main() {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("http://%s\n", ln.Addr())
	s := &http.Server{
		Handler: newSite(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 10 * time.Second, IdleTimeout: time.Minute,
	}
	log.Fatal(s.Serve(ln))
}
