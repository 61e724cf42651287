package router

import (
	"context"
	"time"
)

// Catalog works on the files of plugins for an operator. A failure may be an
// *envelope.Error, to have a code of its own; any other is the operator's to
// read and becomes invalid_params.
type Catalog interface {
	// Rescan looks at the plugin directories now, waits until what is new serves
	// or has failed, and says what it changed and what does not run.
	Rescan(ctx context.Context) (Rescan, error)
	// Verify says what the host would do with a file, without doing it.
	Verify(ctx context.Context, path string) (Verdict, error)
	// Install checks a file, copies it into the user's plugin folder and returns
	// when it serves. A file that is refused is not copied, and the verdict says
	// why; so it does when the copy does not come to serve.
	Install(ctx context.Context, path string) (Verdict, error)
	// Remove takes a plugin out of the user's plugin folder.
	Remove(ctx context.Context, name string) error
	// Lock writes the lock file for what the plugin directories hold.
	Lock(ctx context.Context) (LockFile, error)
}

// Rescan is the result of plugins.rescan: names of plugins.
type Rescan struct {
	Started  []string      `json:"started"`
	Replaced []string      `json:"replaced"`
	Removed  []string      `json:"removed"`
	Refused  []RefusedFile `json:"refused"`
}

// RefusedFile is a file that the host does not run.
type RefusedFile struct {
	Name   string `json:"name,omitempty"`
	File   string `json:"file"`
	Reason string `json:"reason"`
}

// Verdict is what the host thinks of a file.
type Verdict struct {
	OK      bool     `json:"ok"`
	Action  string   `json:"action"`           // start, replace, none or refuse
	Reason  string   `json:"reason,omitempty"` // of a refusal, or of doing nothing: what to do about it
	File    string   `json:"file"`
	Name    string   `json:"name,omitempty"`
	Version string   `json:"version,omitempty"`
	SHA256  string   `json:"sha256,omitempty"`
	Methods []string `json:"methods"`
	Notes   []string `json:"notes,omitempty"` // what else would follow
}

// LockFile is a lock file and what stands in it.
type LockFile struct {
	File    string `json:"file"`
	Plugins []Pin  `json:"plugins"`
}

// Pin is a line of a lock file.
type Pin struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

// catalogBound bounds the methods that look at files and start plugins.
const catalogBound = 60 * time.Second

const (
	pathParam     = `"path":{"type":"string","minLength":1,"maxLength":4096,"description":"the file; absolute"}`
	verdictResult = `{"type":"object","required":["ok","action","file","methods"],"properties":{
		"ok":{"type":"boolean"},"action":{"enum":["start","replace","none","refuse"]},"reason":{"type":"string"},
		"file":{"type":"string"},"name":{"type":"string"},"version":{"type":"string"},"sha256":{"type":"string"},
		"methods":{"type":"array","items":{"type":"string"}},"notes":{"type":"array","items":{"type":"string"}}}}`
	namesResult = `{"type":"array","items":{"type":"string"}}`
)

func (r *Router) catalogMethods() []definition {
	cat := r.opt.Catalog
	if cat == nil {
		return nil
	}
	return []definition{{
		name: "plugins.rescan", summary: "Looks at the plugin folders now, and says what came of it when it has.",
		result: `{"type":"object","required":["started","replaced","removed","refused"],"properties":{
			"started":` + namesResult + `,"replaced":` + namesResult + `,"removed":` + namesResult + `,
			"refused":{"type":"array","items":{"type":"object","required":["file","reason"],"properties":{
				"name":{"type":"string"},"file":{"type":"string"},"reason":{"type":"string"}}}}}}`,
		returns: "object", idempotent: true, bound: catalogBound,
		run: func(ctx context.Context, _ *call) ([]byte, error) {
			out, err := cat.Rescan(ctx)
			if err != nil {
				return nil, refused(ctx, err)
			}
			for _, l := range []*[]string{&out.Started, &out.Replaced, &out.Removed} {
				*l = present(*l)
			}
			out.Refused = present(out.Refused)
			return encode(out)
		},
	}, {
		name: "plugins.verify", summary: "What the host would do with a file, and why; calls nothing of it.",
		params: "path:string", schema: pathParam, result: verdictResult,
		returns: "object", errors: "not_found invalid_params permission_denied", readOnly: true, idempotent: true,
		bound: catalogBound, run: byPath(cat.Verify),
	}, {
		name: "plugins.install", summary: "Checks a plugin and copies it into the user's plugin folder.",
		params: "path:string", schema: pathParam, result: verdictResult,
		returns: "object", errors: "not_found invalid_params permission_denied", idempotent: true,
		bound: catalogBound, run: byPath(cat.Install),
	}, {
		name: "plugins.remove", summary: "Takes a plugin out of the user's plugin folder.",
		params: "name:string", schema: nameParam, result: emptyResult,
		returns: "boolean", errors: "not_found invalid_params permission_denied",
		bound: catalogBound,
		run: func(ctx context.Context, c *call) ([]byte, error) {
			name, err := nameOf(c)
			if err != nil {
				return nil, err
			}
			if err := cat.Remove(ctx, name); err != nil {
				return nil, refused(ctx, err)
			}
			return yes, nil
		},
	}, {
		name: "plugins.lock", summary: "Pins what the plugin folders hold, by writing the lock file.",
		result: `{"type":"object","required":["file","plugins"],"properties":{"file":{"type":"string"},
			"plugins":{"type":"array","items":{"type":"object","required":["name","sha256"],"properties":{
				"name":{"type":"string"},"sha256":{"type":"string"}}}}}}`,
		returns: "object", errors: "permission_denied", idempotent: true, bound: catalogBound,
		run: func(ctx context.Context, _ *call) ([]byte, error) {
			out, err := cat.Lock(ctx)
			if err != nil {
				return nil, refused(ctx, err)
			}
			out.Plugins = present(out.Plugins)
			return encode(out)
		},
	}}
}

// byPath makes a built-in of a function that judges a file.
func byPath(judge func(context.Context, string) (Verdict, error)) builtin {
	return func(ctx context.Context, c *call) ([]byte, error) {
		var path string
		if err := readArgs(c.params, func(name string, v arg) {
			if name == "path" {
				path = v.text()
			}
		}); err != nil {
			return nil, err
		}
		out, err := judge(ctx, path)
		if err != nil {
			return nil, refused(ctx, err)
		}
		out.Methods = present(out.Methods)
		return encode(out)
	}
}

// present makes a list that is written as [] and not as null.
func present[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
