package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/vant-run/vant/plugins/browser/browsertest"
)

// serveAt serves the test site at another address of this machine, on the same
// port.
func serveAt(t *testing.T, host string) {
	t.Helper()
	l, err := net.Listen("tcp", host+site[strings.LastIndex(site, ":"):])
	if err != nil {
		t.Fatal(err)
	}
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: browsertest.Handler()}} //nolint:gosec // a test's, on loopback
	s.Start()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
}

func TestHostsAreKeptOut(t *testing.T) {
	port := site[strings.LastIndex(site, ":"):]
	serveAt(t, "127.0.0.2")
	serveAt(t, "[::1]")
	for name, test := range map[string]struct {
		config          string
		allowed, denied []string
	}{
		"denied names": {
			`{"deny_hosts":["denied.localhost","*.below.localhost"]}`,
			[]string{"localhost", "127.0.0.1", "other.localhost", "notbelow.localhost"},
			[]string{"denied.localhost", "DENIED.localhost", "denied.localhost.", "below.localhost", "a.below.localhost", "a.b.below.localhost"},
		},
		"denied addresses": {
			`{"deny_hosts":["127.0.0.2"]}`,
			[]string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "[::1]"},
			[]string{"127.0.0.2", "127.2", "0x7f000002", "[::ffff:127.0.0.2]", "[::ffff:7f00:2]"},
		},
		"denied addresses of IPv6": {
			`{"deny_hosts":["::1"]}`,
			[]string{"127.0.0.1", "127.0.0.2"},
			[]string{"[::1]", "[0:0::1]"},
		},
		"allowed addresses of IPv6": {
			`{"allow_hosts":["[::1]"]}`,
			[]string{"[::1]", "[0::1]"},
			[]string{"127.0.0.1", "127.0.0.2", "localhost"},
		},
		"allowed addresses": {
			`{"allow_hosts":["127.0.0.1"]}`,
			[]string{"127.0.0.1", "[::ffff:127.0.0.1]"},
			[]string{"127.0.0.2", "[::1]", "localhost", "[::ffff:127.0.0.2]"},
		},
		"denied below allowed": {
			`{"allow_hosts":["localhost","*.fine.localhost"],"deny_hosts":["bad.fine.localhost","*.worse.fine.localhost"]}`,
			[]string{"localhost", "fine.localhost", "a.fine.localhost", "ad.fine.localhost", "xbad.fine.localhost", "a.bad.fine.localhost", "bad.fine.localhost.fine.localhost", "xworse.fine.localhost"},
			[]string{"bad.fine.localhost", "bad.fine.localhost.", "worse.fine.localhost", "a.worse.fine.localhost", "127.0.0.1", "other.localhost"},
		},
		"allowed names": {
			`{"allow_hosts":["localhost","*.fine.localhost","127.0.0.1"]}`,
			[]string{"localhost", "fine.localhost", "a.fine.localhost", "127.0.0.1"},
			[]string{"other.localhost", "127.0.0.2", "notfine.localhost"},
		},
		"denied and allowed alike": {
			`{"allow_hosts":["localhost","127.0.0.1","a.localhost","c.b.localhost","*.d.localhost"],"deny_hosts":["a.localhost","*.b.localhost","*.d.localhost"]}`,
			[]string{"localhost", "127.0.0.1"},
			[]string{"a.localhost", "c.b.localhost", "d.localhost", "e.d.localhost"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := alone(t, test.config)
			p := c.open("about:blank")
			reach := func(host string) bool {
				t.Helper()
				base := "http://" + host + port
				return p.js(fmt.Sprintf("fetch(%q, {mode: 'no-cors'}).then(() => true, () => false)", base+"/beacon")) == true
			}
			if info := p.goTo("http://"+test.allowed[0]+port+"/pages/blank", nil); info.Title != "Blank" {
				t.Errorf("%s: %+v", test.allowed[0], info)
			}
			for _, host := range test.allowed[1:] {
				if !reach(host) {
					t.Errorf("a page does not reach %s", host)
				}
			}
			for _, host := range test.denied {
				if reach(host) {
					t.Errorf("a page reaches %s", host)
				}
			}
			for _, host := range test.denied {
				for _, method := range []string{"browser.navigate", "browser.tab.new", "browser.window.new"} {
					e := c.refused("navigation_rejected", method, map[string]any{"uri": "http://" + host + port + "/pages/blank"})
					if rule := e.Data.(json.RawMessage); !strings.Contains(string(rule), `_hosts"`) {
						t.Errorf("%s of %s says %s", method, host, rule)
					}
				}
			}
			for _, host := range test.denied { // a raw command is not judged by its name before
				var out struct{ ErrorText string }
				c.call("browser.cdp", p.with(map[string]any{"method": "Page.navigate", "params": map[string]any{"url": "http://" + host + port + "/pages/blank"}}), &out)
				if out.ErrorText != "net::ERR_NAME_NOT_RESOLVED" {
					t.Errorf("the browser goes to %s: %q", host, out.ErrorText)
				}
			}
			base, bad := "http://"+test.allowed[0]+port, "http://"+test.denied[0]+port
			e := c.refused("navigation_failed", "browser.navigate", p.with(map[string]any{"uri": base + "/redirect?to=" + bad + "/pages/blank"}))
			if got := netError(t, e); got != "net::ERR_NAME_NOT_RESOLVED" {
				t.Errorf("a redirect gives %s", got)
			}
			p.goTo(base+"/pages/blank", nil)
			for what, script := range map[string]string{
				"a frame": `new Promise(done => { const f = document.createElement('iframe'); f.src = BAD + '/pages/blank'; f.onload = () => {
					let other; try { other = f.contentDocument === null } catch { other = true }; done(other) }; document.body.append(f) })`,
				"an image":           `new Promise(done => { const i = new Image; i.onload = () => done('loaded'); i.onerror = () => done('failed'); i.src = BAD + '/x.png' })`,
				"a WebSocket":        `new Promise(done => { const w = new WebSocket(BAD.replace('http', 'ws')); w.onopen = () => done('open'); w.onerror = () => done('failed') })`,
				"a redirected fetch": `fetch('/redirect?to=' + BAD + '/beacon', {mode: 'no-cors'}).then(() => 'reached', () => 'failed')`,
				"a worker": `new Promise(done => { const w = new Worker(URL.createObjectURL(new Blob(["fetch('" + BAD + "/beacon', {mode: 'no-cors'}).then(() => postMessage('reached'), () => postMessage('failed'))"])));
					w.onmessage = e => done(e.data) })`,
			} {
				got := p.js("const BAD = " + fmt.Sprintf("%q", bad) + "; " + script)
				if got == "reached" || got == "loaded" || got == "open" {
					t.Errorf("%s reaches it: %v", what, got)
				}
			}
			var frames []struct{ ID, URI string }
			c.call("page.frames", p.with(nil), &frames)
			for _, f := range frames[1:] {
				var text any
				if err := c.try("page.javascript", p.with(map[string]any{"frame": f.ID, "script": "document.title"}), &text); err == nil && text == "Blank" {
					t.Errorf("the frame shows %s", f.URI)
				}
			}
		})
	}
}

func TestHostsThatCannotBeKeptOutAreRefused(t *testing.T) {
	t.Parallel()
	for config, want := range map[string]string{
		`{"deny_hosts":["10.0.0.0/8"]}`:         "10.0.0.0/8",
		`{"allow_hosts":["fd00::/8"]}`:          "fd00::/8",
		`{"deny_hosts":["a b"]}`:                "a b",
		`{"deny_hosts":["x, EXCLUDE *"]}`:       "EXCLUDE",
		`{"allow_hosts":["https://x.example"]}`: "x.example",
		`{"allow_hosts":[""]}`:                  "allow_hosts",
		`{"deny_hosts":["a,b"]}`:                "a,b",
		`{"deny_hosts":["a?c"]}`:                "a?c",
		`{"allow_hosts":["*.example"],"deny_hosts":["` + strings.Repeat("long.", 40) + `example"]}`: "fewer or shorter",
		`{"allow_file":["relative"]}`:  "relative",
		`{"upload_from":["relative"]}`: "relative",
		`{"write_to":["relative"]}`:    "relative",
		`{"profile":"relative"}`:       "relative",
		`{"args":["x"]}`:               "--",
	} {
		_, err := startPlugin(t, config)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v", config, err)
		}
	}
	for _, config := range []string{
		`{"deny_hosts":["10.0.0.1","::1","a.example","*.b.example"]}`, `{"allow_hosts":["10.0.0.0/32"]}`, `{"deny_hosts":["bücher.example"]}`,
		`{"allow_hosts":["a.example","*.b.example"],"deny_hosts":["*.example"]}`, `{"allow_hosts":["*.a.example"],"deny_hosts":["*.A.example","ba.example"]}`,
		`{"allow_hosts":["*.a.example"],"deny_hosts":["b.a.example","*.c.b.a.example"]}`,
	} {
		if _, err := startPlugin(t, config); err != nil {
			t.Errorf("%s: %v", config, err)
		}
	}
}

// TestHostRulesDivideNames takes all short names of two letters and compares what
// the rules let pass with what the lists say.
func TestHostRulesDivideNames(t *testing.T) {
	var names []string
	for _, label := range []string{"", "a.", "b.", "ab.", "a.b.", "b.a.", "aa.bb."} {
		for _, above := range []string{"", "a.", "b.", "ab."} {
			for _, zone := range []string{"t", "u", "a", "bt"} {
				names = append(names, label+above+zone)
			}
		}
	}
	for _, c := range []config{
		{AllowHosts: []string{"*.t"}},
		{AllowHosts: []string{"*.t"}, DenyHosts: []string{"a.t"}},
		{AllowHosts: []string{"*.t"}, DenyHosts: []string{"*.a.t", "b.t"}},
		{AllowHosts: []string{"*.t"}, DenyHosts: []string{"a.b.t", "ab.t", "*.b.a.t"}},
		{AllowHosts: []string{"*.t", "a.u"}, DenyHosts: []string{"a.a.t", "a.u", "t"}},
		{AllowHosts: []string{"*.a.t", "*.t"}, DenyHosts: []string{"a.t"}},
		{AllowHosts: []string{"*.a.t", "b.t"}, DenyHosts: []string{"*.t"}},
		{DenyHosts: []string{"a.t", "*.b.t"}},
		{AllowHosts: []string{"127.0.0.1", "::1"}},
		{AllowHosts: []string{"127.0.0.1", "a.t"}, DenyHosts: []string{"10.0.0.1"}},
	} {
		flags, err := hostRules(c)
		if err != nil {
			t.Fatal(err)
		}
		policy, err := c.hosts()
		if err != nil {
			t.Fatal(err)
		}
		rules := strings.Split(strings.TrimPrefix(flags[0], "--host-resolver-rules="), ",")
		for _, name := range names {
			for _, host := range []string{name, name + "."} {
				if want := policy.CheckHost(host) == nil; passes(rules, host) != want {
					t.Errorf("%v, but %v: %s passes: %v", c.AllowHosts, c.DenyHosts, host, !want)
				}
			}
		}
	}
}

// passes reads rules as the browser does: what is excluded from one is from all.
func passes(rules []string, host string) bool {
	mapped := false
	for _, rule := range rules {
		words := strings.Fields(rule)
		if covers(words[1], host) {
			if words[0] == "EXCLUDE" {
				return true
			}
			mapped = true
		}
	}
	return !mapped
}

// TestNothingPassesRoundTheHostRules: peers are spoken to by address, and names are
// looked up before a page asks for them.
func TestNothingPassesRoundTheHostRules(t *testing.T) {
	port := site[strings.LastIndex(site, ":"):]
	for name, test := range map[string]struct {
		config string
		kept   bool
	}{
		"without lists":  {"", false},
		"denied hosts":   {`,"deny_hosts":["127.0.0.1","secret.localhost"]`, true},
		"an allowed one": {`,"allow_hosts":["fine.localhost"]`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := filepath.Join(t.TempDir(), "net.json")
			udp, err := net.ListenPacket("udp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer udp.Close()
			tcp, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer tcp.Close()
			came := make(chan string, 64)
			go func() {
				for {
					if _, _, err := udp.ReadFrom(make([]byte, 2048)); err != nil {
						return
					}
					came <- "UDP"
				}
			}()
			go func() {
				for {
					c, err := tcp.Accept()
					if err != nil {
						return
					}
					c.Close()
					came <- "TCP"
				}
			}()
			c := alone(t, fmt.Sprintf(`{"args":["--log-net-log=%s","--allow-loopback-in-peer-connection"]%s}`, log, test.config))
			p := c.open("http://fine.localhost" + port + "/pages/blank")
			p.js(fmt.Sprintf(`const turn = { username: 'u', credential: 'p' }, udp = %d, tcp = %d;
				const peer = new RTCPeerConnection({ iceServers: [{ urls: 'stun:127.0.0.1:' + udp }, { urls: 'stun:secret.localhost:' + udp },
					{ urls: 'turn:127.0.0.1:' + udp, ...turn }, { urls: 'turn:127.0.0.1:' + tcp + '?transport=tcp', ...turn }] });
				peer.createDataChannel('x');
				await peer.setLocalDescription();
				// A page that is given the other side's words talks to any address in them.
				const other = new RTCPeerConnection;
				await other.setRemoteDescription(peer.localDescription);
				await other.setLocalDescription();
				await peer.setRemoteDescription(other.localDescription);
				await peer.addIceCandidate({ sdpMid: '0', candidate: 'candidate:1 1 udp 2122260223 127.0.0.1 ' + udp + ' typ host' });
				1`,
				udp.LocalAddr().(*net.UDPAddr).Port, tcp.Addr().(*net.TCPAddr).Port))
			p.js(`for (const rel of ['dns-prefetch', 'preconnect', 'prefetch', 'prerender'])
				document.head.insertAdjacentHTML('beforeend', '<link rel="' + rel + '" href="http://secret.localhost` + port + `/x">'); 1`)
			p.js(`new Promise(done => setTimeout(done, 2000))`) // they are not told of
			for seen := ""; !test.kept && seen != "UDP"; {
				select {
				case seen = <-came:
				case <-time.After(patience):
					t.Fatal("the check sees nothing come that nothing keeps")
				}
			}
			c.Stop()
			udp.Close()
			tcp.Close()
			close(came)
			seen := map[string]int{}
			for what := range came {
				seen[what]++
			}
			if test.kept && len(seen) > 0 {
				t.Errorf("it came to what is denied: %v", seen)
			}
			if names := lookedUp(t, log); strings.Contains(names, "secret.localhost") == test.kept || !strings.Contains(names, "fine.localhost") {
				t.Errorf("looked up were %s", names)
			}
		})
	}
}

// lookedUp are the names that the browser's log of the network says were looked up:
// its constants, and then an event a line. One that was killed has not ended it.
func lookedUp(t *testing.T, log string) string {
	t.Helper()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	number := regexp.MustCompile(`"HOST_RESOLVER_MANAGER_REQUEST":(\d+)`).FindSubmatch(text)
	if number == nil {
		t.Fatalf("the log does not begin as it should: %.200s", text)
	}
	var names []string
	for line := range strings.Lines(string(text)) {
		var e struct {
			Type   json.Number
			Params struct{ Host string }
		}
		if json.Unmarshal([]byte(strings.TrimRight(line, ",\n")), &e) == nil && e.Type.String() == string(number[1]) && e.Params.Host != "" {
			names = append(names, e.Params.Host)
		}
	}
	return strings.Join(names, " ")
}
