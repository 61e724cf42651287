package catalog

import (
	"bytes"
	"debug/elf"
	"debug/macho"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// headBytes is how much of a file's beginning is looked at. It holds a #!
// line: kernels read 256 bytes of it.
const headBytes = 256

// target is what programs this host runs must be built for.
type target struct{ os, arch string }

var hostTarget = target{runtime.GOOS, runtime.GOARCH}

// machines are the ELF and Mach-O names of the architectures Go knows.
var machines = map[string]struct {
	elf   elf.Machine
	class elf.Class
	order elf.Data
	macho macho.Cpu
}{
	"386":      {elf.EM_386, elf.ELFCLASS32, elf.ELFDATA2LSB, macho.Cpu386},
	"amd64":    {elf.EM_X86_64, elf.ELFCLASS64, elf.ELFDATA2LSB, macho.CpuAmd64},
	"arm":      {elf.EM_ARM, elf.ELFCLASS32, elf.ELFDATA2LSB, macho.CpuArm},
	"arm64":    {elf.EM_AARCH64, elf.ELFCLASS64, elf.ELFDATA2LSB, macho.CpuArm64},
	"loong64":  {elf.EM_LOONGARCH, elf.ELFCLASS64, elf.ELFDATA2LSB, 0},
	"mips64le": {elf.EM_MIPS, elf.ELFCLASS64, elf.ELFDATA2LSB, 0},
	"ppc64":    {elf.EM_PPC64, elf.ELFCLASS64, elf.ELFDATA2MSB, 0},
	"ppc64le":  {elf.EM_PPC64, elf.ELFCLASS64, elf.ELFDATA2LSB, 0},
	"riscv64":  {elf.EM_RISCV, elf.ELFCLASS64, elf.ELFDATA2LSB, 0},
	"s390x":    {elf.EM_S390, elf.ELFCLASS64, elf.ELFDATA2MSB, 0},
}

// judgeFormat refuses what the kernel could not execute: it reads the file's
// header and nothing else.
func judgeFormat(f io.ReaderAt, size int64, path string, t target) *Refusal {
	if size == 0 {
		return refuse(CodeNotProgram, "is empty; copy the program again")
	}
	head := make([]byte, headBytes)
	n, err := f.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return refuse(CodeUnreadable, "cannot be read: %v", err)
	}
	head = head[:n]

	switch {
	case bytes.HasPrefix(head, []byte(elf.ELFMAG)):
		return judgeELF(f, head, size, t)
	case isMachO(head):
		return judgeMachO(head, t)
	case bytes.HasPrefix(head, []byte("#!")):
		return judgeScript(head, path)
	case bytes.HasPrefix(head, []byte("MZ")):
		return refuse(CodeArchitecture, "is a Windows program, this host needs %s/%s; install that build", t.os, t.arch)
	case bytes.HasPrefix(head, []byte("\x00asm")):
		return refuse(CodeNotProgram, "is a WebAssembly module, not a program; plugins are native programs or scripts")
	case bytes.IndexByte(head, 0) < 0:
		return refuse(CodeNotProgram, "is not a program: a text without a #! line; let it begin with the interpreter, such as #!/usr/bin/env python3")
	}
	return refuse(CodeNotProgram, "is not a program: its format is unknown; install the %s/%s build", t.os, t.arch)
}

func judgeELF(f io.ReaderAt, head []byte, size int64, t target) *Refusal {
	if t.os == "darwin" {
		return refuse(CodeArchitecture, "is a Linux or BSD program (ELF), this host needs %s/%s; install that build", t.os, t.arch)
	}
	if len(head) < 52 || head[elf.EI_CLASS] == byte(elf.ELFCLASS64) && len(head) < 64 {
		return refuse(CodeNotProgram, "is cut off inside its header (%d bytes); copy it again", size)
	}
	var order binary.ByteOrder = binary.LittleEndian
	if elf.Data(head[elf.EI_DATA]) == elf.ELFDATA2MSB {
		order = binary.BigEndian
	}
	class := elf.Class(head[elf.EI_CLASS])
	typ, machine := elf.Type(order.Uint16(head[16:])), elf.Machine(order.Uint16(head[18:]))
	if want, known := machines[t.arch]; known &&
		(machine != want.elf || class != want.class || elf.Data(head[elf.EI_DATA]) != want.order) {
		return refuse(CodeArchitecture, "is built for %s, this host is %s; install the %s/%s build", elfName(machine, class), t.arch, t.os, t.arch)
	}
	if typ != elf.ET_EXEC && typ != elf.ET_DYN {
		return refuse(CodeNotProgram, "is not a program: an object file or a core dump; link it first")
	}

	// Segments that end behind the file mean a copy that stopped half-way.
	var off uint64
	var count, entry int
	if class == elf.ELFCLASS64 {
		off, entry, count = order.Uint64(head[32:]), int(order.Uint16(head[54:])), int(order.Uint16(head[56:]))
	} else {
		off, entry, count = uint64(order.Uint32(head[28:])), int(order.Uint16(head[42:])), int(order.Uint16(head[44:]))
	}
	want := 32
	if class == elf.ELFCLASS64 {
		want = 56
	}
	// The kernel takes nothing else, and neither do we set memory aside for it.
	if count == 0 || entry != want || entry*count > maxSegmentTable {
		return refuse(CodeNotProgram, "is not a program: it has no segments to load, or not as the kernel wants them")
	}
	end := segmentsEnd(f, order, class, off, entry, count)
	if end > uint64(size) {
		return refuse(CodeNotProgram, "is cut off: %d bytes where its header promises %d or more; copy it again", size, end)
	}
	return nil
}

// maxSegmentTable is the kernel's own bound, in bytes.
const maxSegmentTable = 64 << 10

// segmentsEnd gives the least size the file must have to hold its segments.
func segmentsEnd(f io.ReaderAt, order binary.ByteOrder, class elf.Class, off uint64, entry, count int) uint64 {
	end := off + uint64(entry)*uint64(count)
	if end < off || end > 1<<62 {
		return 1 << 62
	}
	table := make([]byte, entry*count)
	if _, err := f.ReadAt(table, int64(off)); err != nil {
		return end
	}
	for i := range count {
		p := table[i*entry:]
		var at, n uint64
		if class == elf.ELFCLASS64 {
			at, n = order.Uint64(p[8:]), order.Uint64(p[32:])
		} else {
			at, n = uint64(order.Uint32(p[4:])), uint64(order.Uint32(p[16:]))
		}
		if at > 1<<62 || n > 1<<62 {
			return 1 << 62
		}
		end = max(end, at+n)
	}
	return end
}

func elfName(m elf.Machine, c elf.Class) string {
	for arch, known := range machines {
		if known.elf == m && known.class == c && arch != "ppc64" && arch != "mips64le" {
			return arch
		}
	}
	return "another machine (" + m.String() + ")"
}

func isMachO(head []byte) bool {
	if len(head) < 8 {
		return false
	}
	le, be := binary.LittleEndian.Uint32(head), binary.BigEndian.Uint32(head)
	// A Java class file has the universal magic too, with a larger count.
	return le == macho.Magic32 || le == macho.Magic64 ||
		be == macho.MagicFat && binary.BigEndian.Uint32(head[4:]) < 32
}

func judgeMachO(head []byte, t target) *Refusal {
	if t.os != "darwin" {
		return refuse(CodeArchitecture, "is a macOS program, this host needs %s/%s; install that build", t.os, t.arch)
	}
	want := machines[t.arch].macho
	if binary.BigEndian.Uint32(head) == macho.MagicFat {
		count := int(binary.BigEndian.Uint32(head[4:]))
		for i := range count {
			if at := 8 + 20*i; at+4 <= len(head) && macho.Cpu(binary.BigEndian.Uint32(head[at:])) == want {
				return nil
			}
		}
		return refuse(CodeArchitecture, "is a universal program without %s; install the %s/%s build", t.arch, t.os, t.arch)
	}
	if cpu := macho.Cpu(binary.LittleEndian.Uint32(head[4:])); cpu != want {
		return refuse(CodeArchitecture, "is built for %s, this host is %s; install the %s/%s build", cpu, t.arch, t.os, t.arch)
	}
	return nil
}

// judgeScript checks the #! line: the interpreter must be there.
func judgeScript(head []byte, path string) *Refusal {
	line, _, whole := bytes.Cut(head[2:], []byte("\n"))
	if !whole && len(head) == headBytes {
		return refuse(CodeNotProgram, "has a #! line longer than %d bytes; shorten it", headBytes-2)
	}
	if bytes.HasSuffix(line, []byte("\r")) {
		return refuse(CodeNotProgram, `has Windows line ends, its interpreter cannot be found; run: sed -i 's/\r$//' %s`, quote(path))
	}
	words := strings.Fields(string(line))
	if len(words) == 0 || !filepath.IsAbs(words[0]) {
		return refuse(CodeNotProgram, "has a #! line without an absolute path of an interpreter; write for example #!/usr/bin/env python3")
	}
	if _, err := os.Stat(words[0]); err != nil {
		return refuse(CodeNotProgram, "needs the interpreter %s, which is not installed; install it or correct the #! line", strings.ToValidUTF8(words[0], "?"))
	}
	return nil
}
