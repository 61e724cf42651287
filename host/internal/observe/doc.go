// Package observe keeps what the host and its plugins have to say: the last
// lines of every plugin in memory (plugins.logs reads them) and in rotating
// files, the call log, and the host's own logger. Package launch delivers
// plugins' lines through package host; package router reads them.
//
// Nothing here makes a caller wait for a disk: files are written behind
// bounded queues, and what does not fit is dropped and counted.
package observe
