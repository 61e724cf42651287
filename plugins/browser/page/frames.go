package page

import (
	"context"
	"errors"
	"time"

	"github.com/vant-run/vant/plugins/browser/target"
)

const (
	// maxFrames bounds the frames that one call looks into.
	maxFrames = 100
	// frameBound is how long frames inside of the page may take to be known and to
	// answer a look. One that is busy holds up no more.
	frameBound = 6 * time.Second
	// lateBound is how long frames are waited for that say nothing when the time
	// of a question is over, and the page itself has answered.
	lateBound = time.Second
	// nearBound is how long a nearer frame may take to say what another has said.
	nearBound = 50 * time.Millisecond
	// againBound is how long a frame between two documents is left alone.
	againBound = 50 * time.Millisecond
)

// frames are those of the tab that can be looked into, nearest first, and how many
// there are beyond.
func frames(t *target.Tab) (list []*target.Frame, beyond int) {
	list = append([]*target.Frame{t.Main()}, t.Main().Below()...)
	n := min(len(list), maxFrames+1)
	return list[:n], len(list) - n
}

// firsts are those of the frames that are looked into.
func firsts(below []*target.Frame) []*target.Frame { return below[:min(len(below), maxFrames)] }

// reply is what one frame has said.
type reply struct {
	at   place
	rank int // of the frame, in the order of frames
	yes  bool
	err  error
}

// firstFrame asks every frame of the tab at once, those that come meanwhile too,
// until one says yes. ok is false when none has said so until end.
func firstFrame(ctx context.Context, t *target.Tab, end time.Time, ask func(context.Context, *place) (bool, error)) (at place, ok bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	replies := make(chan reply)
	asked := make(map[*target.Frame]bool)
	open := make(map[int]bool) // ranks of those that have not answered
	defer func() {
		cancel() // what is still asked is stopped
		for range open {
			<-replies
		}
	}()
	var (
		best *reply
		said bool             // by the page itself, at the end of the time
		over <-chan time.Time // no reply that comes later counts
	)
	for {
		changed := t.Changed()
		list, _ := frames(t)
		for _, f := range list {
			if asked[f] || len(open) > maxFrames {
				continue
			}
			rank := len(asked)
			asked[f], open[rank] = true, true
			go func() {
				r := askAgain(ctx, f, end, ask)
				r.rank = rank
				replies <- r
			}()
		}
		select {
		case r := <-replies:
			delete(open, r.rank)
			main := r.at.frame == t.Main()
			switch {
			case r.yes && (best == nil || r.rank < best.rank):
				best = &r
			case main && r.err != nil && !errors.Is(r.err, target.ErrNavigated):
				return place{}, false, r.err
			case main && !r.yes:
				said, over = true, time.After(lateBound)
			}
			switch {
			case best != nil && nearest(best.rank, open):
				return best.at, true, nil
			case best != nil:
				over = time.After(nearBound)
			case said && len(open) == 0:
				return place{}, false, nil
			}
		case <-over:
			if best != nil {
				return best.at, true, nil
			}
			return place{}, false, nil
		case <-changed:
		case <-ctx.Done():
			return place{}, false, context.Cause(ctx)
		}
	}
}

// nearest tells whether no frame of a lower rank is open.
func nearest(rank int, open map[int]bool) bool {
	for other := range open {
		if other < rank {
			return false
		}
	}
	return true
}

// askAgain asks a frame, and while there is time in its next documents.
func askAgain(ctx context.Context, f *target.Frame, end time.Time, ask func(context.Context, *place) (bool, error)) reply {
	for {
		changed := f.Tab().Changed()
		at := place{frame: f}
		yes, err := ask(ctx, &at)
		goesOn := errors.Is(err, target.ErrNavigated) || errors.Is(err, target.ErrFrameGone) && there(f)
		if !goesOn || !time.Now().Before(end) {
			return reply{at: at, yes: yes, err: err}
		}
		if err := pause(ctx, changed); err != nil {
			return reply{at: at, err: err}
		}
	}
}

// there tells whether the tab still has the frame: one that goes to another process
// leaves its session.
func there(f *target.Frame) bool {
	now, err := f.Tab().Frame(string(f.ID))
	return err == nil && now == f
}

// pause waits for the tab to change, or a moment.
func pause(ctx context.Context, changed <-chan struct{}) error {
	moment := time.NewTimer(againBound)
	defer moment.Stop()
	select {
	case <-changed:
	case <-moment.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// outside carries points of a frame's viewport into the main frame's.
func outside(ctx context.Context, f *target.Frame, points []Point) ([]Point, error) {
	for ; f.Parent() != nil && len(points) > 0; f = f.Parent() {
		if err := f.Bind(ctx); err != nil {
			return nil, err
		}
		var ans struct {
			Failure
			Points []Point `json:"points"`
		}
		around := place{frame: f.Parent()}
		if err := around.ask(ctx, "outside", map[string]any{"frame": f.ID, "points": points}, &ans); err != nil {
			return nil, err
		}
		if !ans.OK || len(ans.Points) != len(points) {
			return nil, target.ErrFrameGone
		}
		points = ans.Points
	}
	return points, nil
}

// box is a rectangle, in CSS pixels.
type box struct {
	X      float64 `json:"x"`
	Y      float64 `json:"y"`
	Width  float64 `json:"width"`
	Height float64 `json:"height"`
}

// outsideBoxes carries boxes of a frame's viewport into the main frame's: they are
// what is around them there.
func outsideBoxes(ctx context.Context, f *target.Frame, boxes []box) ([]box, error) {
	if f.Parent() == nil {
		return boxes, nil
	}
	corners := make([]Point, 0, 4*len(boxes))
	for _, b := range boxes {
		corners = append(corners, Point{b.X, b.Y}, Point{b.X + b.Width, b.Y}, Point{b.X, b.Y + b.Height}, Point{b.X + b.Width, b.Y + b.Height})
	}
	corners, err := outside(ctx, f, corners)
	if err != nil {
		return nil, err
	}
	around := make([]box, len(boxes))
	for i := range boxes {
		c := corners[4*i : 4*i+4]
		left, right := min(c[0].X, c[1].X, c[2].X, c[3].X), max(c[0].X, c[1].X, c[2].X, c[3].X)
		top, bottom := min(c[0].Y, c[1].Y, c[2].Y, c[3].Y), max(c[0].Y, c[1].Y, c[2].Y, c[3].Y)
		around[i] = box{left, top, right - left, bottom - top}
	}
	return around, nil
}
