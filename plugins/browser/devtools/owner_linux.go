package devtools

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// owned refuses a connection whose other end is some other user's: anybody on this
// machine may listen where a browser is looked for. The superuser is trusted, it
// has this process anyway.
func owned(conn net.Conn, user int) error {
	at, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil {
		return err
	}
	var all listeners
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		f, err := os.Open(table)
		if errors.Is(err, fs.ErrNotExist) {
			continue // there is no such protocol
		}
		if err == nil {
			err = errors.Join(all.read(f, at), f.Close())
		}
		if err != nil {
			return fmt.Errorf("who listens there cannot be seen: %w", err)
		}
	}
	if len(all.users) == 0 {
		return errors.New("who listens there cannot be seen: nobody does any more")
	}
	for _, u := range all.users {
		if u != user && u != 0 {
			return fmt.Errorf("user %d listens there, not %d who runs this: attach to a browser of your own", u, user)
		}
	}
	return nil
}

// listeners are the users of the sockets that get what comes to an address: of
// those that listen the ones that fit it best.
type listeners struct {
	users []int
	rank  int // how well they fit, 0 is best
}

// listening is the state of a socket that waits for connections.
const listening = "0A"

// read takes in a table of the kernel: tcp or tcp6.
func (l *listeners) read(table io.Reader, at netip.AddrPort) error {
	lines := bufio.NewScanner(table)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 8 || f[3] != listening {
			continue
		}
		local, err := readAddress(f[1])
		if err != nil {
			return err
		}
		user, err := strconv.Atoi(f[7])
		if err != nil {
			return err
		}
		rank, ok := fits(local, at)
		switch {
		case !ok || len(l.users) > 0 && rank > l.rank:
		case len(l.users) > 0 && rank == l.rank:
			l.users = append(l.users, user)
		default:
			l.users, l.rank = []int{user}, rank
		}
	}
	return lines.Err()
}

// fits says whether a socket that listens at local gets what comes to an address,
// and how well it fits it: as the kernel chooses between several.
func fits(local, at netip.AddrPort) (rank int, ok bool) {
	own, same := local.Addr().Unmap(), local.Addr().Is4() == at.Addr().Unmap().Is4()
	switch {
	case local.Port() != at.Port():
		return 0, false
	case own == at.Addr().Unmap():
		return 0, true
	case !own.IsUnspecified():
		return 0, false
	case same:
		return 1, true
	}
	return 2, local.Addr().Is6() // which takes both protocols
}

// readAddress reads an address as the kernel writes it: words in the order of the
// processor, and the port.
func readAddress(text string) (netip.AddrPort, error) {
	host, number, _ := strings.Cut(text, ":")
	b, err := hex.DecodeString(host)
	port, err2 := strconv.ParseUint(number, 16, 16)
	if err := errors.Join(err, err2); err != nil {
		return netip.AddrPort{}, err
	}
	for w := b; len(w) >= 4; w = w[4:] {
		binary.NativeEndian.PutUint32(w, binary.BigEndian.Uint32(w))
	}
	addr, ok := netip.AddrFromSlice(b)
	if !ok {
		return netip.AddrPort{}, fmt.Errorf("%q is no address", text)
	}
	return netip.AddrPortFrom(addr, uint16(port)), nil
}
