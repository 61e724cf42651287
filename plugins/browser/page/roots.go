package page

import (
	"context"
	"time"
)

const (
	// seekAgain is how long a page that waits does not ask again for closed shadow
	// roots.
	seekAgain = 500 * time.Millisecond
	// seekRounds bounds how often a document is read again for them.
	seekRounds = 3
)

// openRoots makes the closed shadow roots that may be in what our code has found in a
// document known to it, and those in them. What cannot be asked stays closed.
func openRoots(ctx context.Context, at *place) {
	ctx, cancel := context.WithTimeout(ctx, closedBound)
	defer cancel()
	for {
		asked, _, err := at.frame.OpenRoots(ctx, at.world, "closedHosts", "openRoots")
		if err != nil || asked == 0 {
			return
		}
	}
}

// read has our code read a document, and again when it has closed shadow roots that
// were not known.
func (at *place) read(ctx context.Context, arg map[string]any, ans *inspected) error {
	for round := 0; ; round++ {
		*ans = inspected{}
		err := at.ask(ctx, "inspect", with(arg, "seek", round < seekRounds), ans)
		if err != nil || ans.Error != "closed" {
			return err
		}
		openRoots(ctx, at)
	}
}
