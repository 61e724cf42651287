// Package client calls the methods of a running vant host over its Unix
// socket. Programs, tests and the vant command use it; it links neither gRPC
// nor any part of the host.
//
//	c, err := client.Dial(client.Options{})
//	if err != nil {
//		return err
//	}
//	var tabs []Tab
//	err = c.Call(ctx, "browser.tabs", nil, &tabs)
//
// Each call has a connection of its own, as the protocol asks, so a Client
// holds no connection, needs no closing, and may be used concurrently. A call
// is sent at most once: a call that fails after it was sent may have had its
// effect, and only the caller knows whether it may be repeated.
//
// Failures are of three kinds: the host's answer (*[Error]), no host
// ([ErrNoHost]), and an exchange that broke ([ErrNoReply],
// [ErrReplyTooLarge], [ErrBadReply], or the context's error).
package client
