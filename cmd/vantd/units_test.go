package main_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// unit is a unit file of systemd: its assignments by section and key.
type unit map[string]map[string]string

func readUnit(t *testing.T, name string) unit {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "configs", "systemd", name))
	if err != nil {
		t.Fatal(err)
	}
	u, section := unit{}, ""
	for i, line := range strings.Split(string(b), "\n") {
		line = strings.TrimSpace(line)
		key, value, assigned := strings.Cut(line, "=")
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '[' && line[len(line)-1] == ']':
			section = line[1 : len(line)-1]
			u[section] = map[string]string{}
		case !assigned || section == "" || u[section][key] != "":
			t.Fatalf("%s:%d: %q is no assignment, outside of a section, or the second one", name, i+1, line)
		default:
			u[section][key] = value
		}
	}
	return u
}

// home is a home folder with vantd where make install puts it.
func home(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "vu") // sockets need a short path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	bin := filepath.Join(dir, ".local", "bin")
	err = errors.Join(os.MkdirAll(bin, 0o700), os.Mkdir(filepath.Join(dir, "run"), 0o700), os.Mkdir(filepath.Join(dir, "plugins"), 0o700))
	if err == nil {
		err = os.Symlink(built.vantd, filepath.Join(bin, "vantd"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// specifiers are those that the units use.
func specifiers(home string) *strings.Replacer {
	return strings.NewReplacer("%h", home, "%t", filepath.Join(home, "run"), "%U", strconv.Itoa(os.Getuid()))
}

func hostEnv(home string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_RUNTIME_DIR=" + filepath.Join(home, "run"), "VANT_PLUGIN_PATH=" + filepath.Join(home, "plugins"),
	}
}

func TestUnitsAreWhatTheHostNeeds(t *testing.T) {
	service, socket := readUnit(t, "vantd.service"), readUnit(t, "vantd.socket")
	got := map[string]string{}
	for _, key := range []string{"Type", "KillMode", "Delegate", "OOMPolicy"} {
		got[key] = service["Service"][key]
	}
	for _, key := range []string{"FileDescriptorName", "SocketMode", "Accept"} {
		got[key] = socket["Socket"][key]
	}
	for _, key := range []string{"Requires", "After"} {
		got[key] = service["Unit"][key]
	}
	if diff := cmp.Diff(map[string]string{
		"Type": "notify", "KillMode": "mixed", "Delegate": "yes", "OOMPolicy": "continue",
		"FileDescriptorName": "vant", "SocketMode": "0600", "Accept": "",
		"Requires": "vantd.socket", "After": "vantd.socket",
	}, got); diff != "" {
		t.Error(diff)
	}
	// The host ends within 10 s and asks itself for at most 2 s.
	for key, least := range map[string]int{"TimeoutStopSec": 11, "WatchdogSec": 10, "TimeoutStartSec": 10} {
		if n, err := strconv.Atoi(service["Service"][key]); err != nil || n < least {
			t.Errorf("%s=%s, want at least %d", key, service["Service"][key], least)
		}
	}
	// These keep Chromium or a JIT from running, or need rights that a user's
	// manager has not.
	for _, key := range []string{"MemoryDenyWriteExecute", "RestrictNamespaces", "SystemCallFilter", "PrivateUsers", "ProtectHome", "PrivateNetwork", "DynamicUser", "User"} {
		if v, there := service["Service"][key]; there {
			t.Errorf("%s=%s is not for plugins to live with", key, v)
		}
	}
}

// systemd itself reads the units, where it is installed.
func TestUnitsAreValid(t *testing.T) {
	dir := home(t)
	folder := filepath.Join(dir, "units")
	if err := os.CopyFS(folder, os.DirFS(filepath.Join("..", "..", "configs", "systemd"))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"vantd.service", "vantd.socket"} {
		u := readUnit(t, name)
		for section, kv := range u {
			for key, value := range kv {
				if value == "" || strings.ContainsAny(key, " \t") {
					t.Errorf("%s: [%s] %s=%s", name, section, key, value)
				}
			}
		}
		analyze, err := exec.LookPath("systemd-analyze")
		if err != nil {
			continue
		}
		cmd := exec.Command(analyze, "--user", "verify", filepath.Join(folder, name))
		cmd.Env = hostEnv(dir)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// The units' own words start a host: the first call, sent before there is one,
// is answered, and the manager hears of start and reload.
func TestUnitsActivateAHost(t *testing.T) {
	dir := home(t)
	expand := specifiers(dir).Replace
	service, socket := readUnit(t, "vantd.service")["Service"], readUnit(t, "vantd.socket")["Socket"]
	path, notify := expand(socket["ListenStream"]), filepath.Join(dir, "notify")
	mode, err := strconv.ParseUint(socket["SocketMode"], 8, 32)
	if err != nil {
		t.Fatal(err)
	}
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: notify, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	passed, err := listener.File()
	if err := errors.Join(err, os.Chmod(path, os.FileMode(mode))); err != nil {
		t.Fatal(err)
	}
	defer passed.Close()
	type first struct {
		reply string
		err   error
	}
	replied := make(chan first, 1)
	go func() {
		reply, err := reference(path, `{"version":1,"id":1,"method":"status"}`+"\n")
		replied <- first{reply, err}
	}()

	var log bytes.Buffer
	cmd := exec.Command("/bin/sh", "-c", "LISTEN_PID=$$ WATCHDOG_PID=$$ exec "+expand(service["ExecStart"]))
	cmd.Env = append(hostEnv(dir), "LISTEN_FDS=1", "LISTEN_FDNAMES="+socket["FileDescriptorName"], "NOTIFY_SOCKET="+notify, "WATCHDOG_USEC="+service["WatchdogSec"]+"000000")
	cmd.ExtraFiles = []*os.File{passed}
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may not have started
		if err := cmd.Wait(); err != nil || strings.Contains(log.String(), "[ERROR]") {
			t.Errorf("the host ended with %v:\n%s", err, log.String())
		}
		if _, err := os.Stat(path); err != nil {
			t.Errorf("the manager's socket: %v", err)
		}
	}()
	got := <-replied
	if want := fmt.Sprintf(`"socket":%q,"pid":%d`, path, cmd.Process.Pid); got.err != nil || !strings.Contains(got.reply, want) {
		t.Fatalf("the first call got %q, %v, want %s", got.reply, got.err, want)
	}
	if err := manager.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	hear := func(want string) {
		t.Helper()
		buf := make([]byte, 512)
		for said := ""; !strings.HasPrefix(said, want); {
			n, err := manager.Read(buf)
			if err != nil {
				t.Fatalf("the manager did not hear %s: %v", want, err)
			}
			said = string(buf[:n])
		}
	}
	hear("READY=1")
	reload := exec.Command("/bin/sh", "-c", service["ExecReload"])
	reload.Env = []string{fmt.Sprintf("MAINPID=%d", cmd.Process.Pid)}
	if out, err := reload.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	hear("RELOADING=1")
	hear("READY=1")
}

// plist reads a property list's dictionary: strings, numbers and truths, lists
// of strings, and dictionaries of these.
func plist(t *testing.T, b []byte) map[string]any {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(b))
	var value func(start xml.StartElement) any
	next := func() xml.Token {
		for {
			tok, err := d.Token()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				t.Fatal(err)
			}
			switch tok := tok.(type) {
			case xml.StartElement, xml.EndElement:
				return tok
			case xml.CharData:
				if text := strings.TrimSpace(string(tok)); text != "" {
					t.Fatalf("stray text %q", text)
				}
			}
		}
	}
	text := func(start xml.StartElement) string {
		var s string
		if err := d.DecodeElement(&s, &start); err != nil {
			t.Fatal(err)
		}
		return s
	}
	value = func(start xml.StartElement) any {
		switch start.Name.Local {
		case "string":
			return text(start)
		case "integer":
			n, err := strconv.Atoi(text(start))
			if err != nil {
				t.Fatal(err)
			}
			return n
		case "true", "false":
			text(start)
			return start.Name.Local == "true"
		case "array":
			list := []any{}
			for {
				item, more := next().(xml.StartElement)
				if !more {
					return list
				}
				list = append(list, value(item))
			}
		case "dict":
			dict := map[string]any{}
			for {
				key, more := next().(xml.StartElement)
				if !more {
					return dict
				}
				name := text(key)
				item, ok := next().(xml.StartElement)
				if _, twice := dict[name]; key.Name.Local != "key" || !ok || twice {
					t.Fatalf("<%s>%s is no key with a value of its own", key.Name.Local, name)
				}
				dict[name] = value(item)
			}
		}
		t.Fatalf("<%s> is not known", start.Name.Local)
		return nil
	}
	root, ok := next().(xml.StartElement)
	if !ok || root.Name.Local != "plist" {
		t.Fatal("no property list")
	}
	top, ok := next().(xml.StartElement)
	if !ok {
		t.Fatal("an empty property list")
	}
	dict, ok := value(top).(map[string]any)
	if _, end := next().(xml.EndElement); !ok || !end {
		t.Fatal("no dictionary, or more than one")
	}
	return dict
}

// What launchd would run is run here, by the same shell.
func TestLaunchdPropertyListStartsAHost(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "configs", "launchd", "run.vant.vantd.plist"))
	if err != nil {
		t.Fatal(err)
	}
	job := plist(t, b)
	args, _ := job["ProgramArguments"].([]any)
	if len(args) == 0 {
		t.Fatal("no ProgramArguments")
	}
	delete(job, "ProgramArguments")
	if diff := cmp.Diff(map[string]any{
		"Label": "run.vant.vantd", "RunAtLoad": true, "KeepAlive": map[string]any{"SuccessfulExit": false},
		"ThrottleInterval": 5, "ExitTimeOut": 15, "Umask": 0o077, "ProcessType": "Interactive",
	}, job); diff != "" {
		t.Error(diff)
	}
	dir := home(t)
	logs := filepath.Join(dir, "Library", "Logs")
	if err := os.MkdirAll(logs, 0o700); err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, a := range args {
		words = append(words, a.(string))
	}
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env = hostEnv(dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "run", fmt.Sprintf("vantage-agent-%d.sock", os.Getuid()))
	var reply string
	var callErr error
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if reply, callErr = reference(path, `{"version":1,"id":1,"method":"host.stop"}`+"\n"); callErr == nil {
			break
		}
	}
	if callErr != nil {
		_ = cmd.Process.Kill()
	}
	err = cmd.Wait()
	log, lerr := os.ReadFile(filepath.Join(logs, "vantd.log"))
	// After a stop that was asked for it must not be started again.
	if callErr != nil || err != nil || lerr != nil || !strings.Contains(reply, `"ok":true`) || !strings.Contains(string(log), "serving") {
		t.Errorf("reply %q, %v; the host ended with %v; its log, %v:\n%s", reply, callErr, err, lerr, log)
	}
}
