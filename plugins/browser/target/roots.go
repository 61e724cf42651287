package target

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/chromedp/cdproto/cdp"

	"github.com/vant-run/vant/plugins/browser/transport"
)

// OpenRoots finds the closed shadow roots of the nodes in the list that a function
// of our code gives, and hands the nodes that have one to another, with their
// roots, and the whole list. It says how many nodes there were, and how many had one;
// when not all were answered it fails, and hands over nothing. What can be asked
// together is sent together.
func (f *Frame) OpenRoots(ctx context.Context, world, list, give string) (asked, opened int, err error) {
	ctx, end := f.tab.guard(ctx)
	defer end()
	b := f.tab.browser
	b.mu.Lock()
	s, err := f.ready()
	number, same := f.context, f.installed && f.world == world
	b.mu.Unlock()
	if err != nil {
		return 0, 0, err
	}
	if !same {
		return 0, 0, ErrNavigated
	}
	asked, opened, err = openRoots(ctx, s, rootsAsked{world, number, fmt.Sprintf("roots %s %d", f.ID, f.asked.Add(1)), list, give})
	return asked, opened, f.failed(s, err)
}

type rootsAsked struct {
	world      string
	number     int64  // of the world, in its process
	group      string // what is held meanwhile
	list, give string
}

func openRoots(ctx context.Context, s *transport.Session, q rootsAsked) (asked, opened int, err error) {
	defer s.Start("Runtime.releaseObjectGroup", map[string]string{"objectGroup": q.group})
	var list remote
	err = s.Call(ctx, "Runtime.evaluate", map[string]any{
		"expression": "__vant." + q.list + "()", "uniqueContextId": q.world, "objectGroup": q.group,
	}, &list)
	if err != nil {
		return 0, 0, err
	}
	var items struct {
		Result []struct {
			Name  string `json:"name"`
			Value struct {
				ObjectID string `json:"objectId"`
			} `json:"value"`
		} `json:"result"`
	}
	err = s.Call(ctx, "Runtime.getProperties", map[string]any{"objectId": list.Result.ObjectID, "ownProperties": true}, &items)
	if err != nil {
		return 0, 0, err
	}
	hosts := make([]string, 0, len(items.Result))
	described := make([]*transport.Pending, 0, len(items.Result))
	for _, item := range items.Result {
		if id := item.Value.ObjectID; id != "" {
			hosts = append(hosts, id)
			described = append(described, s.Start("DOM.describeNode", map[string]any{"objectId": id, "depth": 0}))
		}
	}
	type object struct {
		ID string `json:"objectId"`
	}
	type hosted struct {
		host string
		root *transport.Pending
	}
	var found []hosted
	for i, p := range described {
		root, err := closedRoot(ctx, p)
		if err != nil {
			return 0, 0, err
		}
		if root != 0 {
			found = append(found, hosted{hosts[i], s.Start("DOM.resolveNode", map[string]any{
				"backendNodeId": root, "executionContextId": q.number, "objectGroup": q.group,
			})})
		}
	}
	var nodes, roots []any
	for _, f := range found {
		raw, err := f.root.Wait(ctx)
		if wentMeanwhile(err) {
			continue
		}
		if err != nil {
			return 0, 0, err
		}
		nodes = append(nodes, object{f.host})
		roots = append(roots, decode[struct {
			Object object `json:"object"`
		}](raw).Object)
	}
	if len(hosts) == 0 {
		return 0, 0, nil
	}
	given := map[string]any{
		"functionDeclaration": "function(name, n, ...all) { __vant[name](all.slice(0, n), all.slice(n), this) }",
		"objectId":            list.Result.ObjectID,
		"arguments":           slices.Concat([]any{map[string]any{"value": q.give}, map[string]any{"value": len(nodes)}}, nodes, roots),
	}
	if len(nodes) == 0 {
		s.Start("Runtime.callFunctionOn", given) // nothing depends on it
		return len(hosts), 0, nil
	}
	var r remote
	err = s.Call(ctx, "Runtime.callFunctionOn", given, &r)
	if err == nil && r.Exception != nil {
		err = fmt.Errorf("our code in the page failed: %w", r.Exception)
	}
	return len(hosts), len(nodes), err
}

// wentMeanwhile: the browser has answered, but has no such node any more, or one too
// large to tell of.
func wentMeanwhile(err error) bool {
	var refused *transport.Error
	return errors.As(err, &refused) || errors.Is(err, transport.ErrTooLarge)
}

// closedRoot is the closed shadow root of a node that was described, 0 when it has
// none, or has gone.
func closedRoot(ctx context.Context, described *transport.Pending) (cdp.BackendNodeID, error) {
	raw, err := described.Wait(ctx)
	if wentMeanwhile(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	node := decode[struct {
		Node struct {
			ShadowRoots []struct {
				BackendNodeID cdp.BackendNodeID `json:"backendNodeId"`
				Type          string            `json:"shadowRootType"`
			} `json:"shadowRoots"`
		} `json:"node"`
	}](raw).Node
	for _, root := range node.ShadowRoots {
		if root.Type == "closed" {
			return root.BackendNodeID, nil
		}
	}
	return 0, nil
}
