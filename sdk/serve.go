package sdk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"

	"github.com/vant-run/vant/proto/envelope"
	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

const (
	// stopBound is how long the process takes at most to end by itself once it
	// is told to, or once the host is gone.
	stopBound = 2 * time.Second
	// flushBound is how long answers and the last events may take to leave.
	flushBound = 500 * time.Millisecond
	// firstConnection is how long a host may take to connect; a host that died
	// before it did leaves no other trace when the parent is not watched.
	firstConnection = 30 * time.Second
)

// Serve runs the plugin and does not return: call it last in main. Under a
// host it serves until the host stops it or goes away. Run by hand it prints
// what the plugin is and exits 1; --describe prints the catalogue as JSON,
// --version the version, and --debug [SOCKET] serves without a host, printing
// what VANT_REATTACH must be for the host to use this very process.
func Serve(p *Plugin) {
	os.Exit(run(p, os.Args[1:]))
}

// run gives the exit status.
func run(p *Plugin, args []string) int {
	if len(args) > 0 && len(args) < 3 && args[0] == "--debug" {
		return serveDebug(p, strings.Join(args[1:], ""))
	}
	if os.Getenv(pluginv1.MagicCookieKey) != pluginv1.MagicCookieValue || len(args) > 0 {
		return byHand(p, args, os.Stdout, os.Stderr)
	}
	log := newLogger(p)
	if os.Getenv("PLUGIN_CLIENT_CERT") != "" {
		log.Error("the host asks for TLS, which plugins of vant do not speak: switch AutoMTLS off")
		return 1
	}
	stdout, err := takeStdout()
	if err != nil {
		log.Error("cannot set standard output aside", "error", err.Error())
		return 1
	}
	l, err := listen(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"))
	if err != nil {
		log.Error("cannot listen", "error", err.Error())
		return 1
	}
	// The host decides about Ctrl-C, and a SIGTERM that comes when the end is done
	// must not become another one. Caught, not ignored: what is ignored stays
	// ignored in child processes. Nobody reads the channel.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt, syscall.SIGTERM, syscall.SIGPIPE)
	s := newServer(p, log)
	w := newWatch(os.Getppid(), os.Getppid, firstConnection)
	err = serve(s, w.listen(l), w.run(s.life), func() error {
		line := fmt.Sprintf("1|%d|unix|%s|grpc\n", pluginv1.ProtocolVersion, l.path)
		_, err := io.WriteString(stdout, line)
		// Nothing else goes there: the host need not go on reading.
		return errors.Join(err, stdout.Close())
	})
	if err != nil {
		log.Error("serving ended", "error", err.Error())
		return 1
	}
	return 0
}

// serveDebug serves under a debugger, for a host that attaches: at path, or at
// a new one when it is "".
func serveDebug(p *Plugin, path string) int {
	log := hclog.New(&hclog.LoggerOptions{Name: p.name, Level: hclog.Debug, Output: os.Stderr})
	var l *listener
	var err error
	if path == "" {
		l, err = listen("")
	} else {
		l, err = listenAt(path)
	}
	if err != nil {
		log.Error("cannot listen", "error", err.Error())
		return 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	s := newServer(p, log)
	s.again = true
	err = serve(s, l, ctx.Done(), func() error {
		_, err := fmt.Printf("VANT_REATTACH='{%q:{\"addr\":%q}}'\n", p.name, l.path)
		return err
	})
	if err != nil {
		log.Error("serving ended", "error", err.Error())
		return 1
	}
	return 0
}

// newLogger writes JSON lines to standard error, where the host reads them.
func newLogger(p *Plugin) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{
		Name: p.name, Level: hclog.Info, Output: os.Stderr, JSONFormat: true,
	})
}

// listener removes its file and folder when it closes, and tells when its
// connections come and go.
type listener struct {
	net.Listener
	path   string
	folder string // of our own, "" when the host gave one
}

// listen opens a socket that only this user can reach. Without a folder from
// the host it makes one.
func listen(folder string) (*listener, error) {
	l := &listener{}
	if folder == "" {
		var err error
		if l.folder, err = os.MkdirTemp("", "vant-plugin-"); err != nil {
			return nil, err
		}
		folder = l.folder
	}
	// One process has one socket, and a folder of the host's is one start's.
	l.path = filepath.Join(folder, fmt.Sprintf("plugin%d", os.Getpid()))
	return l.open()
}

// listenAt opens a socket at a path of somebody's choice. One that a killed
// process left there is replaced.
func listenAt(path string) (*listener, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if c, err := net.Dial("unix", path); err == nil {
		c.Close()
		return nil, fmt.Errorf("a process serves at %s already", path)
	} else if errors.Is(err, syscall.ECONNREFUSED) {
		if fi, err := os.Lstat(path); err == nil && fi.Mode().Type() == os.ModeSocket {
			if err := os.Remove(path); err != nil {
				return nil, err
			}
		}
	}
	return (&listener{path: path}).open()
}

func (l *listener) open() (*listener, error) {
	if len(l.path) > envelope.MaxSocketPath {
		l.removeFolder()
		return nil, fmt.Errorf("socket path %s has %d bytes, at most %d are possible: use a shorter folder",
			l.path, len(l.path), envelope.MaxSocketPath)
	}
	inner, err := net.Listen("unix", l.path)
	if err != nil {
		l.removeFolder()
		return nil, err
	}
	l.Listener = inner
	if err := os.Chmod(l.path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func (l *listener) removeFolder() {
	if l.folder != "" {
		_ = os.Remove(l.folder) // left behind it is empty and private
	}
}

// Close closes the socket, which removes its file, and the folder.
func (l *listener) Close() error {
	err := l.Listener.Close()
	l.removeFolder()
	return err
}

// serve answers on l until it is told to end: by a signal, by the host's
// Shutdown, or by gone. ready is called when connections are taken.
func serve(s *server, l net.Listener, gone <-chan struct{}, ready func() error) error {
	defer s.end()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM)
	defer signal.Stop(signals)
	// A write to a broken pipe becomes an error and not the process's end.
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)

	shutdown := make(chan struct{}, 1)
	g := newGRPC(s, shutdown)
	var served error
	ended := make(chan struct{}) // served is set
	go func() {
		defer close(ended)
		served = g.Serve(l)
	}()
	if err := ready(); err != nil {
		g.Stop()
		<-ended
		return fmt.Errorf("the handshake could not be written: %w", err)
	}

	select {
	case <-ended:
		return served
	case <-signals:
		s.log.Debug("ending: SIGTERM")
	case <-shutdown:
		s.log.Debug("ending: the host says so")
	case <-gone:
		s.log.Info("ending: the host is gone")
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		s.drain(context.Background(), stopBound)
	}()
	select {
	case <-stopped:
	case <-signals: // told twice: now
	}
	s.end()
	stopGRPC(g)
	<-ended
	return nil
}

// stopGRPC lets answers leave, but not for long.
func stopGRPC(g *grpc.Server) {
	timer := time.AfterFunc(flushBound, g.Stop)
	defer timer.Stop()
	g.GracefulStop()
}
