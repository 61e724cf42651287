// Package events holds what happened lately: a bounded ring of events that
// clients follow by sequence number, with long polls.
//
// The router appends the events that come with a call's answer and answers
// events.since and events.clear from the ring; the supervisor and the links of
// plugins append the others. The HTTP surfaces follow it as clients do. The
// package knows nothing of any of them.
//
// An event's data is a JSON text that passes through: it is never decoded,
// copied or changed.
package events
