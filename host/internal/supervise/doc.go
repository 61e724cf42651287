// Package supervise runs plugins: one state machine a plugin, one generation
// a process.
//
// Package host builds a Supervisor and hands it what the catalog found with
// Apply; the router gets the plugins that can be called through
// Options.Publish and calls them with (*Plugin).Invoke; package launch makes
// the processes behind the Launcher interface.
//
// A plugin's machine is a goroutine of its own: it alone starts, replaces and
// retires generations. Calls never meet it: they take the current generation
// from an atomic pointer and a slot from that generation's bulkhead, and only
// look at the plugin's gate when there is no current one. A call that has a
// slot ends on the generation it began on; a generation is stopped when its
// last call has ended or its drain bound has passed.
//
// Supervisor.mu guards all that is not on the path of a call. It is never held
// over a call of Launcher, Process or a function of Options.
package supervise
