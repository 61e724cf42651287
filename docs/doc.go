// Package docs has no code: its tests hold the documents to the programs. They
// send the documented requests to a host, run the documented commands, build
// the documented programs, and follow the links.
package docs
