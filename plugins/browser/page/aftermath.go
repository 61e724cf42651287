package page

import (
	"context"
	"time"
)

// unseenBound is how long after its input was answered the page may take to say
// what came of it before it is asked once more. It says nothing when the input went
// to another document.
const unseenBound = 20 * time.Millisecond

// aftermath sends input and has a function of our code in the element's document
// tell what came of it. It is asked right behind the input, in the same trip, and
// answers when the page has dealt with so many inputs; without inputs it is asked
// afterwards. had: the page has had the input, so err is about what came of it.
func (a *actor) aftermath(ctx context.Context, in *input, inputs int, name string, arg map[string]any) (ans *answer, had bool, err error) {
	asking, end := context.WithCancel(ctx)
	var told chan struct{} // closed when early or refused holds
	var refused error
	at, early := a.at, &answer{}
	if inputs > 0 {
		in.then = func() {
			told = make(chan struct{})
			go func() {
				defer close(told)
				refused = at.ask(asking, name, with(arg, "inputs", inputs), early)
			}()
		}
	}
	if err := a.flush(ctx, in); err != nil {
		end()
		if told != nil {
			<-told
		}
		return nil, false, err
	}
	if told != nil {
		unseen := time.AfterFunc(unseenBound, end)
		<-told
		unseen.Stop()
		if refused == nil || gone(refused) {
			end()
			a.early = true
			return early, true, refused
		}
	}
	end()
	ans = &answer{}
	return ans, true, a.at.ask(ctx, name, arg, ans)
}
