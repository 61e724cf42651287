//go:build race

package main_test

// raced is whether this run looks for races: then the host under test does too.
const raced = true
