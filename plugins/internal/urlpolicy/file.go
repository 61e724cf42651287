package urlpolicy

import (
	"os"
	"path/filepath"
	"strings"
)

// file judges what follows "file:". Its answer names the file that was judged,
// without links, so that a link that is changed afterwards leads nowhere else.
func (n *Navigation) file(s string) (string, error) {
	outside := &Rejected{RuleFile, "local files are opened only below the folders of plugins.browser.allow_file in the configuration"}
	if len(n.folders) == 0 {
		return "", outside
	}
	var host string
	if len(s) > 1 && strings.Trim(s[:2], `/\`) == "" {
		host, s, _ = cutAny(s[2:], `/?#\`)
	}
	if host != "" && !strings.EqualFold(unescape(host), "localhost") {
		return "", &Rejected{RuleFile, "a file: URL must have no host; write it as in file:///folder/page.html"}
	}
	var a address
	a.split(s)
	// An escaped separator is a part of a name for some and none for others.
	path := unescape(a.path)
	if strings.Count(path, "/") != strings.Count(a.path, "/") || strings.ContainsAny(path, "\\\x00") {
		return "", &Rejected{RuleFile, "a file: URL must have no escaped separators or zeros in its path"}
	}
	path = filepath.Clean(path)
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		if n.below(path, false) {
			return "", &Rejected{RuleFile, "there is no such file, or it may not be read; look at its path"}
		}
		return "", outside
	}
	if !n.below(real, true) {
		return "", outside
	}
	info, err := os.Stat(real)
	if err != nil || !info.Mode().IsRegular() && !info.IsDir() || strings.Contains(real, `\`) {
		return "", &Rejected{RuleFile, "only regular files and folders are opened; look at its path"}
	}
	url := "file://" + escape(real, inPath+"%") + a.query + a.fragment
	if len(url) > MaxURL {
		return "", tooLong()
	}
	return url, nil
}

// below tells whether a path is one of the folders or inside. A folder may be
// given by a link, too.
func (n *Navigation) below(path string, resolve bool) bool {
	for _, f := range n.folders {
		if resolve {
			var err error
			if f, err = filepath.EvalSymlinks(f); err != nil {
				continue
			}
		}
		if rel, err := filepath.Rel(f, path); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}
