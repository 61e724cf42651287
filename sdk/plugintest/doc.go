// Package plugintest tests plugins written with package sdk, in three rings:
//
//   - [New] runs a plugin inside the test, with the host's schema checks, and
//     records its events and its calls to other methods.
//   - [Host] runs plugin binaries under a real host with private folders,
//     and checks at the end that nothing of them is left.
//   - [Transcript] replays a file of requests and expected replies against
//     such a host.
//
// [Build] makes a binary of a plugin's package.
package plugintest
