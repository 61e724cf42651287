// Package catalog decides which plugin programs may run. It looks through the
// plugin directories, judges every candidate without starting it, and copies
// what it accepts into a private store, so that what was hashed is what runs.
// Package host calls it at the start and whenever the directories may have
// changed (Watcher), and hands the result to package supervise. It also puts
// plugins into a directory for an operator, and takes them out.
//
// The threat it guards against is another user of the machine, and accidents:
// half-copied files, wrong builds, wrong permissions. Programs of the user's
// own are trusted as far as the user is; pins (Lock) narrow that.
package catalog
