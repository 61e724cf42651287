package catalog

import (
	"fmt"
	"os"
	"time"
)

// settleTime is how long a file must not have changed to count as complete
// where the kernel cannot say that nobody is writing it.
const settleTime = 500 * time.Millisecond

// Complete says whether nobody is still writing f, a regular file open for
// reading. On Linux it asks for a read lease and gives it back at once. Where
// leases do not work, a file is complete whose size and times have stood still
// for 500 ms; its change time tells that without waiting, save when the
// file's clock is ahead of ours: then Complete watches it for 500 ms.
func Complete(f *os.File) (bool, error) {
	free, known, err := noWriter(f)
	if err != nil {
		return false, fmt.Errorf("check whether %s is complete: %w", f.Name(), err)
	}
	if known {
		return free, nil
	}
	return settled(f, time.Now())
}

func settled(f *os.File, now time.Time) (bool, error) {
	before, err := f.Stat()
	if err != nil {
		return false, fmt.Errorf("check whether %s is complete: %w", f.Name(), err)
	}
	age := now.Sub(time.Unix(0, metaOf(before).id.CTime))
	if age >= 0 {
		return age >= settleTime, nil
	}
	time.Sleep(settleTime)
	after, err := f.Stat()
	if err != nil {
		return false, fmt.Errorf("check whether %s is complete: %w", f.Name(), err)
	}
	return metaOf(before).id == metaOf(after).id, nil
}
