// Package python holds plugins written in Python and the tests that show that
// the contract can be spoken without Go: the handshake, the health service and
// the plugin service are all that a plugin needs.
package python
