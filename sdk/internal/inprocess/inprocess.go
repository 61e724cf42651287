// Package inprocess lets package plugintest drive a plugin inside the test's
// own process without package sdk exporting its wire types to plugin authors.
package inprocess

// Key opens (*sdk.Plugin).InProcess to the packages that can name this type.
type Key interface{ inProcess() }

type key struct{}

func (key) inProcess() {}

// Open is the key.
func Open() Key { return key{} }
