package catalog

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// index remembers what was hashed, so that an unchanged file is not read again
// at the next start.
//
// Why it may be trusted: it lies in a folder that only the user can enter, who
// could as well replace the copies. An entry holds only while the source has
// the same device, inode, size, modification and change time. Every write sets
// the change time, and no call sets it back, so other content under the same
// identity takes a write within the clock's granularity after the hash: sources
// changed less than racyWindow before they were hashed are not remembered. The
// copy's identity is compared too, so one that a crash or a hand damaged is
// made anew.
type index struct {
	Version int                    `json:"version"`
	Sources map[string]sourceEntry `json:"sources"` // by path
	Copies  map[string]string      `json:"copies"`  // copyKey to signature
}

type sourceEntry struct {
	Signature string `json:"signature"`
	SHA256    string `json:"sha256"`
}

const (
	indexVersion  = 1
	maxIndexBytes = 4 << 20
	// racyWindow is longer than any file system's clock tick.
	racyWindow = 2 * time.Second
)

func copyKey(sha, name string) string { return sha + "/" + name }

// readIndex reads an index. One that is missing or damaged is empty: all it
// costs is hashing again.
func readIndex(file string) index {
	empty := index{Version: indexVersion, Sources: map[string]sourceEntry{}, Copies: map[string]string{}}
	f, err := os.Open(file)
	if err != nil {
		return empty
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxIndexBytes+1))
	if err != nil || len(data) > maxIndexBytes {
		return empty
	}
	var x index
	if json.Unmarshal(data, &x) != nil || x.Version != indexVersion || x.Sources == nil || x.Copies == nil {
		return empty
	}
	for _, src := range x.Sources {
		if !validSHA256(src.SHA256) {
			return empty
		}
	}
	return x
}

func (x *index) encode() ([]byte, error) { return json.Marshal(x) }

// forget drops everything about copies that are not wanted.
func (x *index) forget(wanted map[Copy]bool) (changed bool) {
	before := len(x.Sources) + len(x.Copies)
	maps.DeleteFunc(x.Sources, func(file string, src sourceEntry) bool {
		return !wanted[Copy{Name: strings.TrimPrefix(filepath.Base(file), Prefix), SHA256: src.SHA256}]
	})
	maps.DeleteFunc(x.Copies, func(key, _ string) bool {
		sha, name, _ := strings.Cut(key, "/")
		return !wanted[Copy{Name: name, SHA256: sha}]
	})
	return len(x.Sources)+len(x.Copies) != before
}

// signature is the text form of an identity.
func (id identity) signature() string {
	return fmt.Sprintf("%x.%x.%x.%x.%x", id.Dev, id.Ino, id.Size, id.MTime, id.CTime)
}

// racy says that the file changed too recently for its identity to be proof.
func (id identity) racy(now time.Time) bool {
	return now.Sub(time.Unix(0, id.CTime)) < racyWindow
}
