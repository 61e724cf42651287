package wire

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
)

// name is a member name of an open object. Key holds its first eight bytes, so
// that most comparisons need no more than it and the length.
type name struct {
	key    uint64
	off, n int
	own    bool // in the arena, because it had escapes; else in the text
}

// push adds the name text[start:end].
func (c *checker) push(start, end int, escaped bool) {
	nm := name{off: start, n: end - start}
	src := c.text
	if escaped {
		nm.own, nm.off = true, len(c.arena)
		c.arena = unescape(c.arena, c.text[start:end], true)
		nm.n = len(c.arena) - nm.off
		src = c.arena
	}
	nm.key = nameKey(src, nm.off, nm.n)
	c.names = append(c.names, nm)
}

// nameKey gives the first eight bytes of p[off:off+n], zeros behind a shorter
// name.
func nameKey(p []byte, off, n int) uint64 {
	if off+8 <= len(p) {
		w := binary.LittleEndian.Uint64(p[off:])
		if n < 8 {
			w &= 1<<(8*n) - 1
		}
		return w
	}
	var w uint64
	for i := range min(n, 8) {
		w |= uint64(p[off+i]) << (8 * i)
	}
	return w
}

func (c *checker) bytes(nm *name) []byte {
	if nm.own {
		return c.arena[nm.off : nm.off+nm.n]
	}
	return c.text[nm.off : nm.off+nm.n]
}

func (c *checker) same(a, b *name) bool {
	return a.key == b.key && a.n == b.n && (a.n <= 8 || bytes.Equal(c.bytes(a), c.bytes(b)))
}

// few is how many names are compared one by one; larger objects get a set.
const few = 16

// twice says whether the last name stands in its object already.
func (c *checker) twice(base int, large **nameSet) bool {
	last := len(c.names) - 1
	if last-base < few {
		nm := &c.names[last]
		for i := base; i < last; i++ {
			if c.same(&c.names[i], nm) {
				return true
			}
		}
		return false
	}
	if *large == nil {
		*large = new(nameSet)
		(*large).grow(c, base, last)
	}
	return (*large).add(c, base, last)
}

// nameSet is a hash table of the names of one large object. Its seed is the
// process's own: nobody can choose names that collide.
type nameSet struct {
	slots []int32 // index behind base, plus one; 0 is free
	count int
}

var seed = maphash.MakeSeed()

// grow makes room for twice as many names and puts those before end in.
func (s *nameSet) grow(c *checker, base, end int) {
	size := max(4*few, 2*len(s.slots))
	s.slots = make([]int32, size)
	s.count = 0
	for i := base; i < end; i++ {
		s.insert(c, base, i)
	}
}

// add puts name i in; true when it was there.
func (s *nameSet) add(c *checker, base, i int) bool {
	if 2*s.count >= len(s.slots) {
		s.grow(c, base, i)
	}
	return s.insert(c, base, i)
}

func (s *nameSet) insert(c *checker, base, i int) bool {
	nm := &c.names[i]
	mask := len(s.slots) - 1
	h := int(maphash.Bytes(seed, c.bytes(nm))) & mask
	for s.slots[h] != 0 {
		if c.same(&c.names[base+int(s.slots[h])-1], nm) {
			return true
		}
		h = (h + 1) & mask
	}
	s.slots[h] = int32(i - base + 1)
	s.count++
	return false
}
