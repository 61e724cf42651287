package catalog

import (
	"fmt"
	"strings"
)

// Code says why a file is refused, for programs.
type Code string

// The codes of refusals.
const (
	CodeName          Code = "invalid_name"
	CodeFileType      Code = "not_a_file"
	CodeNotExecutable Code = "not_executable"
	CodeUnreadable    Code = "unreadable"
	CodeArchitecture  Code = "wrong_architecture"
	CodeNotProgram    Code = "not_a_program"
	CodeOwner         Code = "wrong_owner"
	CodeWritable      Code = "writable_by_others"
	CodeDangling      Code = "dangling_link"
	CodeEscape        Code = "escaping_link"
	CodeShadowed      Code = "shadowed"
	CodeChecksum      Code = "wrong_checksum"
	CodeUnpinned      Code = "not_pinned"
	CodeLimit         Code = "too_large"
	CodeDirectory     Code = "bad_directory"
)

// Refusal says that a file, or a whole directory, is not used and why. It
// holds until the file changes.
type Refusal struct {
	Name string // the plugin's, "" when the file names none
	File string // as the operator knows it
	Code Code
	// Reason is a sentence fragment that follows the file's name: what is wrong
	// and what to do about it.
	Reason string
}

func (r *Refusal) Error() string { return r.File + ": " + r.Reason }

// refuse makes a refusal without a name and a file; the scan fills them in.
func refuse(code Code, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Reason: fmt.Sprintf(format, args...)}
}

// quote makes s one word of a POSIX shell, for commands in reasons.
func quote(s string) string {
	plain := s != "" && strings.IndexFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("/._-+:@%,", r)
	}) < 0
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
