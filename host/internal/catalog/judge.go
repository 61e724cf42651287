package catalog

import (
	"io/fs"
	"os"
	"syscall"
)

// meta is what the checks need to know of a file. It comes from fstat of the
// descriptor that is read afterwards, never from a path.
type meta struct {
	mode     fs.FileMode
	uid, gid uint32
	id       identity
}

// identity changes whenever a file's content can have changed. The change
// time cannot be set by a program, unlike the modification time.
type identity struct {
	Dev   uint64 `json:"dev"`
	Ino   uint64 `json:"ino"`
	Size  int64  `json:"size"`
	MTime int64  `json:"mtime"` // nanoseconds since 1970
	CTime int64  `json:"ctime"` // nanoseconds since 1970
}

func metaOf(info fs.FileInfo) meta {
	st := info.Sys().(*syscall.Stat_t)
	return meta{
		mode: info.Mode(),
		uid:  st.Uid,
		gid:  st.Gid,
		id: identity{
			Dev:   uint64(st.Dev), //nolint:unconvert // its type differs between systems
			Ino:   st.Ino,
			Size:  info.Size(),
			MTime: info.ModTime().UnixNano(),
			CTime: changeTime(st),
		},
	}
}

// CheckAccess refuses a file or folder that another user than this process's
// and root owns or can change; info comes from fstat of what is used, path is
// its name for the reason. Package config judges its file by it too.
func CheckAccess(info fs.FileInfo, path string) *Refusal {
	r := judgeAccess(metaOf(info), uint32(os.Geteuid()), path)
	if r != nil {
		r.File = path
	}
	return r
}

// judgeAccess refuses what another user than uid and root owns or can change.
// A group may write when it is the owner's own (gid = uid).
func judgeAccess(m meta, uid uint32, path string) *Refusal {
	perm := m.mode.Perm()
	switch {
	case m.uid != uid && m.uid != 0:
		return refuse(CodeOwner, "belongs to user %d, neither to you (user %d) nor to root; run: sudo chown %d %s",
			m.uid, uid, uid, quote(path))
	case perm&0o002 != 0:
		return refuse(CodeWritable, "can be changed by every user (mode %04o); run: chmod o-w %s", perm, quote(path))
	case perm&0o020 != 0 && m.gid != m.uid:
		return refuse(CodeWritable, "can be changed by group %d (mode %04o); run: chmod g-w %s", m.gid, perm, quote(path))
	}
	return nil
}

// judgeType refuses everything that is not a regular file.
func judgeType(mode fs.FileMode, path string) *Refusal {
	var what string
	switch mode.Type() {
	case 0:
		return nil
	case fs.ModeNamedPipe:
		what = "a named pipe"
	case fs.ModeSocket:
		what = "a socket"
	case fs.ModeDir:
		what = "a directory"
	case fs.ModeSymlink:
		what = "a symbolic link"
	default:
		what = "a device"
	}
	return refuse(CodeFileType, "is %s, not a program; remove it: rm %s", what, quote(path))
}
