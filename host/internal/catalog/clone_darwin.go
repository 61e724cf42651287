package catalog

import "os"

// clone is not offered for open files here.
func clone(_, _ *os.File) bool { return false }
