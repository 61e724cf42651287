package launch

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/go-plugin"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"

	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

// play is a plugin's side. What goes wrong ends it with status 99.
func play(role string) {
	socket := filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "s")
	switch role {
	case "good":
		if os.Getenv("LAUNCH_TEST_TIED") != "" {
			go func() {
				_, _ = io.Copy(io.Discard, os.Stdin)
				os.Exit(0)
			}()
		}
		serve()
	case "deaf":
		signal.Ignore(syscall.SIGTERM)
		serve()
	case "bare":
		serveBare(socket)
	case "print":
		fmt.Println(os.Getenv("LAUNCH_TEST_PRINT"))
		linger()
	case "print-nothing":
		linger()
	case "dirty-start": // lines on standard error first
		fmt.Fprintln(os.Stderr, `{"@level":"info","@message":"warming up","n":1}`)
		serve()
	case "exit":
		fmt.Fprintln(os.Stderr, "cannot open the frobnicator")
		code, err := strconv.Atoi(os.Getenv("LAUNCH_TEST_CODE"))
		must(err)
		os.Exit(code)
	case "panic": // in Go's own words, much of them
		for i := range 20 {
			fmt.Fprintln(os.Stderr, "preparing", i)
			go func() { select {} }()
		}
		panic("the frobnicator is upside down")
	case "leave": // leaves a process that is apart, and fails
		fmt.Fprintln(os.Stderr, "left", apart("hang"))
		os.Exit(3)
	case "eat": // memory
		n, err := strconv.Atoi(os.Getenv("LAUNCH_TEST_EAT"))
		must(err)
		eat(n)
		linger()
	case "hang":
		fmt.Fprintln(os.Stderr, "thinking")
		signal.Ignore(syscall.SIGTERM)
		linger()
	case "long-line":
		_, err := os.Stdout.Write(bytes.Repeat([]byte("x"), 70<<10))
		must(err)
		linger()
	case "handshake": // says it, with %s for the socket, and listens
		listen(socket)
		fmt.Printf(os.Getenv("LAUNCH_TEST_PRINT")+"\n", socket)
		linger()
	case "deaf-socket": // accepts and never answers
		l := listen(socket)
		go func() {
			for {
				c, err := l.Accept()
				must(err)
				held = append(held, c)
			}
		}()
		greet(socket)
		linger()
	case "babbling-socket": // no HTTP/2
		l := listen(socket)
		go func() {
			for {
				c, err := l.Accept()
				must(err)
				_, _ = c.Write([]byte("HELO plugin\r\n\r\n"))
			}
		}()
		greet(socket)
		linger()
	case "no-socket": // names one that it has closed again, file kept
		l := listen(socket)
		l.(*net.UnixListener).SetUnlinkOnClose(false)
		must(l.Close())
		greet(socket)
		linger()
	case "linked-socket":
		must(os.Symlink("/dev/null", socket))
		greet(socket)
		linger()
	case "certificate":
		listen(socket)
		fmt.Printf("1|1|unix|%s|grpc|%s\n", socket, certificate())
		linger()
	case "child-in-group", "child-apart": // another process serves
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), roleVar+"=good")
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		if role == "child-apart" {
			c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			// It ends with this process by the end of its standard input.
			c.Env = append(c.Env, "LAUNCH_TEST_TIED=1")
			_, err := c.StdinPipe()
			must(err)
		}
		must(c.Start())
		must(c.Wait())
	default:
		must(fmt.Errorf("no role %q", role))
	}
}

// apart starts a process in a session of its own that keeps the environment.
func apart(role string, env ...string) int {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), append(env, roleVar+"="+role)...)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	must(c.Start())
	return c.Process.Pid
}

// eaten keeps memory from being collected.
var eaten []byte

func eat(mib int) {
	eaten = make([]byte, mib<<20)
	for i := 0; i < len(eaten); i += 512 {
		eaten[i] = 1
	}
}

// limitsHere are open files and nice value.
func limitsHere() []int {
	var l unix.Rlimit
	must(unix.Getrlimit(unix.RLIMIT_NOFILE, &l))
	n, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	must(err)
	return []int{int(l.Cur), int(l.Max), 20 - n}
}

var held []net.Conn

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(99)
	}
}

func linger() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR2)
	<-c
}

func listen(socket string) net.Listener {
	l, err := net.Listen("unix", socket)
	must(err)
	return l
}

func greet(socket string) { fmt.Printf("1|1|unix|%s|grpc\n", socket) }

func certificate() string {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	must(err)
	return base64.RawStdEncoding.EncodeToString(der)
}

func serve() {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			ProtocolVersion: pluginv1.ProtocolVersion,
			MagicCookieKey:  pluginv1.MagicCookieKey, MagicCookieValue: pluginv1.MagicCookieValue,
		},
		Plugins: plugin.PluginSet{"vant": &served{}},
		GRPCServer: func(o []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(o, serverOptions()...)...)
		},
	})
}

func serverOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(32 << 20), grpc.MaxSendMsgSize(64 << 20),
		grpc.InitialWindowSize(1 << 20), grpc.InitialConnWindowSize(4 << 20),
	}
}

type served struct{ plugin.NetRPCUnsupportedPlugin }

func (*served) GRPCServer(b *plugin.GRPCBroker, s *grpc.Server) error {
	pluginv1.RegisterPluginServer(s, &pluginServer{broker: b})
	return nil
}

func (*served) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, nil
}

type pluginServer struct {
	pluginv1.UnimplementedPluginServer
	drained atomic.Bool
	broker  *plugin.GRPCBroker
}

func (*pluginServer) Describe(context.Context, *pluginv1.DescribeRequest) (*pluginv1.DescribeResponse, error) {
	return &pluginv1.DescribeResponse{Name: "test", Version: "1.2.3"}, nil
}

func (s *pluginServer) Configure(_ context.Context, r *pluginv1.ConfigureRequest) (*pluginv1.ConfigureResponse, error) {
	if string(r.Config) == "bad" {
		return nil, fmt.Errorf("config is bad")
	}
	return &pluginv1.ConfigureResponse{}, nil
}

func (s *pluginServer) Drain(context.Context, *pluginv1.DrainRequest) (*pluginv1.DrainResponse, error) {
	s.drained.Store(true)
	return &pluginv1.DrainResponse{}, nil
}

func (s *pluginServer) Invoke(ctx context.Context, r *pluginv1.InvokeRequest) (*pluginv1.InvokeResponse, error) {
	n, _ := strconv.Atoi(string(r.Params))
	var result []byte
	switch r.Method {
	case "echo":
		result = r.Params
	case "wait": // says that it runs, then waits for the end of the call
		fmt.Fprintln(rawStderr, "waiting")
		<-ctx.Done()
		fmt.Fprintln(rawStderr, "wait over:", ctx.Err())
		return nil, ctx.Err()
	case "exit":
		os.Exit(n)
	case "stop":
		must(syscall.Kill(os.Getpid(), syscall.SIGSTOP))
	case "zeros":
		result = make([]byte, n)
	case "drained":
		result = strconv.AppendBool(nil, s.drained.Load())
	case "env":
		result = jsonText(os.Environ())
	case "fds":
		names, err := filepath.Glob("/proc/self/fd/*")
		must(err)
		var to []string
		for _, f := range names {
			if l, err := os.Readlink(f); err == nil {
				to = append(to, filepath.Base(f)+" "+l)
			}
		}
		result = jsonText(to)
	case "stderr", "fd1": // raw descriptors
		f := rawStderr
		if r.Method == "fd1" {
			f = rawStdout
		}
		_, err := f.Write(r.Params)
		must(err)
	case "os.Stdout":
		_, err := os.Stdout.Write(r.Params)
		must(err)
	case "flood": // n bytes of lines, on both descriptors
		line := []byte(strings.Repeat("flood ", 16) + "\n")
		chunk := bytes.Repeat(line, 64<<10/len(line))
		for _, f := range []*os.File{rawStdout, rawStderr} {
			for sent := 0; sent < n/2; sent += len(chunk) {
				_, err := f.Write(chunk)
				must(err)
			}
		}
	case "broker": // offers n connections past the one that was checked
		for i := range n {
			if l, err := s.broker.Accept(uint32(i)); err == nil {
				_ = l.Close() // complains of the file that it has removed itself
			}
		}
	case "hold": // a grandchild out of the group that holds every pipe
		c := exec.Command(os.Args[0])
		c.Env = []string{roleVar + "=hang"}
		c.Stdout, c.Stderr = rawStdout, rawStderr
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		must(c.Start())
		result = strconv.AppendInt(nil, int64(c.Process.Pid), 10)
	case "apart": // the same, but it has its environment, and n MiB
		result = strconv.AppendInt(nil, int64(apart("eat", "LAUNCH_TEST_EAT="+strconv.Itoa(n))), 10)
	case "eat":
		eat(n)
	case "limits":
		result = jsonText(limitsHere())
	}
	return &pluginv1.InvokeResponse{Result: result}, nil
}

// The descriptors themselves: go-plugin replaces os.Stdout and os.Stderr.
var rawStdout, rawStderr = os.Stdout, os.Stderr

func jsonText(v any) []byte {
	b, err := json.Marshal(v)
	must(err)
	return b
}

// Link: each event of the plugin is a count of calls to make at once; results
// come back as an event.
func (*pluginServer) Link(s grpc.BidiStreamingServer[pluginv1.LinkRequest, pluginv1.LinkResponse]) error {
	if os.Getenv("LAUNCH_TEST_LINK") == "" {
		return (&pluginv1.UnimplementedPluginServer{}).Link(s)
	}
	send := func(m *pluginv1.LinkResponse) { must(s.Send(m)) }
	for i := range 3 {
		send(&pluginv1.LinkResponse{Message: &pluginv1.LinkResponse_Event{
			Event: &pluginv1.Event{Type: "test.event", Data: strconv.AppendInt(nil, int64(i), 10)}}, EventNumber: uint64(i) * 7})
	}
	n, err := strconv.Atoi(os.Getenv("LAUNCH_TEST_LINK"))
	must(err)
	for i := range n {
		send(&pluginv1.LinkResponse{Message: &pluginv1.LinkResponse_Call{
			Call: &pluginv1.Call{Id: uint64(i + 1), Method: "test.call"}}})
	}
	for {
		m, err := s.Recv()
		if err != nil {
			return err
		}
		r := m.GetCallResult()
		data := fmt.Sprintf("%d %s%s", r.Id, r.Result, r.GetError().GetCode())
		send(&pluginv1.LinkResponse{Message: &pluginv1.LinkResponse_Event{
			Event: &pluginv1.Event{Type: "test.result", Data: []byte(data)}}})
		if r.GetError() != nil {
			// Refused: it takes its first call back.
			send(&pluginv1.LinkResponse{Message: &pluginv1.LinkResponse_CancelCall{
				CancelCall: &pluginv1.CancelCall{Id: 1}}})
		}
	}
}
