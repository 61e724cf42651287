package proc

import (
	"iter"
	"os"
)

// Table is what the system said of its processes, one after the other: not
// all of it was true at one moment. Dead ones are not in it.
type Table struct {
	rows map[int]stat
	// children and groups list pids by parent and by process group.
	children, groups map[int][]int
}

// ReadTable reads one small file a process.
func ReadTable() (*Table, error) {
	pids, err := allPids()
	if err != nil {
		return nil, err
	}
	t := &Table{rows: make(map[int]stat, len(pids)), children: map[int][]int{}, groups: map[int][]int{}}
	for _, pid := range pids {
		s, err := readStat(pid)
		if err != nil || s.dead() {
			continue
		}
		t.rows[pid] = s
		t.children[s.ppid] = append(t.children[s.ppid], pid)
		t.groups[s.pgrp] = append(t.groups[s.pgrp], pid)
	}
	return t, nil
}

// All gives every process.
func (t *Table) All() iter.Seq[Identity] {
	return func(yield func(Identity) bool) {
		for pid, s := range t.rows {
			if !yield(Identity{Pid: pid, Start: s.start}) {
				return
			}
		}
	}
}

// Family gives those of roots that are in the table, what is in the groups
// that they lead, and the descendants of them all.
func (t *Table) Family(roots ...Identity) []Identity {
	w := walk{t: t, seen: map[int]bool{}}
	for _, id := range roots {
		// A pid that now is somebody else's leads nowhere; a pid that is taken is
		// no other group's number.
		if s, ok := t.rows[id.Pid]; ok && s.start == id.Start {
			w.add(id.Pid)
			for _, pid := range t.groups[id.Pid] {
				w.add(pid)
			}
		}
	}
	return w.down()
}

// below gives the descendants of pid.
func (t *Table) below(pid int) []Identity {
	w := walk{t: t, seen: map[int]bool{pid: true}}
	for _, c := range t.children[pid] {
		w.add(c)
	}
	return w.down()
}

// walk goes from parents to children. Pids that were used again while the
// table was read could make a circle.
type walk struct {
	t     *Table
	seen  map[int]bool
	found []Identity
}

func (w *walk) add(pid int) {
	if !w.seen[pid] {
		w.seen[pid] = true
		w.found = append(w.found, Identity{Pid: pid, Start: w.t.rows[pid].start})
	}
}

func (w *walk) down() []Identity {
	for i := 0; i < len(w.found); i++ {
		for _, c := range w.t.children[w.found[i].Pid] {
			w.add(c)
		}
	}
	return w.found
}

// RSS sums the memory of processes in bytes. What several of them share counts
// for each.
func (t *Table) RSS(ids []Identity) int64 {
	var pages int64
	for _, id := range ids {
		if s, ok := t.rows[id.Pid]; ok && s.start == id.Start {
			pages += s.rss
		}
	}
	return pages * int64(os.Getpagesize())
}
