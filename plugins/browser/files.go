package main

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/vant-run/vant/sdk"
)

// folders are those below which files may be read, or written; nil: wherever this
// user may.
type folders struct {
	key  string // of the configuration
	list []string
}

func (l *life) uploads() folders { return folders{"upload_from", l.c.UploadFrom} }
func (l *life) writes() folders  { return folders{"write_to", l.c.WriteTo} }

// readable gives the files' own paths, without symbolic links: a link that is
// changed afterwards leads nowhere else.
func (f folders) readable(files []string) ([]string, error) {
	if f.list == nil {
		return files, nil
	}
	real := make([]string, len(files))
	for i, path := range files {
		at, err := filepath.EvalSymlinks(path)
		if err != nil {
			at = filepath.Clean(path) // of what is missing nobody outside is told
		}
		if !filepath.IsAbs(path) || !f.have(at) {
			return nil, f.denied(path)
		}
		real[i] = at
	}
	return real, nil
}

// writable gives the path of the file that path stands for: where it is a link, that
// is where the link leads, whether or not there is a file yet.
func (f folders) writable(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return path, nil // a path that cannot be is told later
	}
	at := filepath.Clean(path)
	for range maxLinks {
		link, err := os.Readlink(at)
		if err != nil {
			break
		}
		if !filepath.IsAbs(link) {
			link = filepath.Join(folderOf(at), link)
		}
		at = link
	}
	if f.list == nil {
		return at, nil
	}
	at = filepath.Join(folderOf(at), filepath.Base(at))
	if !f.have(at) {
		return "", f.denied(path)
	}
	return at, nil
}

// maxLinks is how many links one after another are followed.
const maxLinks = 40

// folderOf gives the folder that a path is in, without symbolic links.
func folderOf(path string) string {
	folder := filepath.Dir(path)
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		return real
	}
	return folder
}

// have tells whether a path without links is one of the folders or below.
func (f folders) have(path string) bool {
	for _, folder := range f.list {
		real, err := filepath.EvalSymlinks(folder)
		if err != nil {
			continue // it is not there
		}
		if rel, err := filepath.Rel(real, path); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

func (f folders) denied(path string) error {
	return sdk.Errorf("permission_denied", "%s is not below a folder of plugins.browser.%s in the configuration", path, f.key).From(sdk.Caller)
}

// rawFiles judges the files of a raw command as those of an upload.
func (f folders) rawFiles(method string, params json.RawMessage) (json.RawMessage, error) {
	if f.list == nil || method != "DOM.setFileInputFiles" {
		return params, nil
	}
	var all map[string]json.RawMessage
	var files []string
	err := json.Unmarshal(params, &all)
	if err == nil {
		err = json.Unmarshal(all["files"], &files)
	}
	if err != nil {
		return nil, sdk.Errorf("invalid_params", "/params/files: expected a list of paths").From(sdk.Caller)
	}
	if files, err = f.readable(files); err != nil {
		return nil, err
	}
	if all["files"], err = json.Marshal(files); err != nil {
		return nil, err
	}
	return json.Marshal(all)
}
