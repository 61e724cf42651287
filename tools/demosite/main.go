// Demosite is the site that the demo works on: a start page, an order form of
// several steps with a receipt in a pop-up, a page that fails on purpose, one
// with files, dialogs and a frame, and a small API. It needs nothing from outside.
// It serves at the address that is its argument, such as 127.0.0.1:8000, else at
// a free port of 127.0.0.1, prints where, and goes on until it is ended.
package main

import (
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"time"
)

func main() {
	address := "127.0.0.1:0"
	if len(os.Args) > 1 {
		address = os.Args[1]
	}
	ln, err := net.Listen("tcp", address)
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
