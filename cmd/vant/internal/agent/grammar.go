// Package agent is the command "vant agent": it turns arguments into one call
// of the host and prints the answer. The main package runs it directly, past
// the tree of the other commands: arguments are taken verbatim, and a command
// costs a round trip on a socket and nothing else. Package command takes the
// texts of the help from here.
package agent

// Command describes one command of "vant agent".
type Command struct {
	Name    string
	Args    string // the arguments as the usage line shows them
	Short   string
	Long    string
	Example string
	// Script: the flags --file and --tab are known too.
	Script bool
	// Follow: events are printed for ever.
	Follow bool

	min, max int // how many arguments
	build    func(b *builder, args []string) (method string, params []byte, err error)
}

// Commands gives all commands in the order of the help.
func Commands() []Command { return commands[:] }

var commands = [...]Command{
	{
		Name: "status", Short: "Show the host: socket, pid, uptime, plugins",
		Example: "  vant agent status\n  vant agent --json status",
		build:   plain("status"),
	},
	{
		Name: "version", Short: "Show the versions of the host and its plugins",
		Example: "  vant agent version",
		build:   plain("version"),
	},
	{
		Name: "capabilities", Short: "Show namespaces, features and limits",
		Example: "  vant agent capabilities",
		build:   plain("capabilities"),
	},
	{
		Name: "tabs", Short: "List the browser's tabs",
		Example: "  vant agent tabs",
		build:   plain("browser.tabs"),
	},
	{
		Name: "open", Args: "URI [TAB]", min: 1, max: 2, Short: "Open an address, in tab TAB or in the current one",
		Example: "  vant agent open https://example.com\n  vant agent open https://example.com 1",
		build:   (*builder).open,
	},
	{
		Name: "snapshot", Args: "[TAB]", max: 1, Short: "List a page's elements with their refs",
		Example: "  vant agent snapshot\n  vant agent snapshot 1",
		build:   tabOnly("page.snapshot"),
	},
	{
		Name: "click", Args: "REF [TAB]", min: 1, max: 2, Short: "Click an element",
		Long:    "Click an element. REF is a ref of a snapshot when it begins with @, else a\nCSS selector.",
		Example: "  vant agent click @e2_5\n  vant agent click 'button.buy' 1",
		build:   (*builder).click,
	},
	{
		Name: "fill", Args: "REF VALUE [TAB]", min: 2, max: 3, Short: "Fill a field with a value",
		Long: "Fill a field with a value. REF is a ref of a snapshot when it begins with @,\n" +
			"else a CSS selector. VALUE is taken as it is, also when it looks like a flag.",
		Example: "  vant agent fill @e2_7 'hello world'\n  vant agent fill 'input[name=q]' -5 1",
		build:   (*builder).fill,
	},
	{
		Name: "fetch", Args: "URL [OPTIONS_JSON]", min: 1, max: 2, Short: "Make an HTTP request",
		Long: "Make an HTTP request, without the browser. OPTIONS_JSON is an object with\n" +
			"further parameters of net.fetch; URL wins over a url in it.",
		Example: "  vant agent fetch https://api.example.com/status\n  vant agent fetch https://api.example.com/items '{\"method\":\"POST\",\"body\":\"{}\"}'",
		build:   (*builder).fetch,
	},
	{
		Name: "diagnostics", Args: "[TAB]", max: 1, Short: "Show a page's console messages and errors",
		Example: "  vant agent diagnostics 1",
		build:   tabOnly("page.diagnostics"),
	},
	{
		Name: "events", Short: "Show the events that the host keeps",
		Example: "  vant agent events",
		build:   fixed("events.since", `{"after":0}`),
	},
	{
		Name: "watch", Follow: true, Short: "Print events as they happen, one a line",
		Long: "Print the events that the host keeps, and then each one as it happens, one a\n" +
			"line, until interrupted. When the host goes away, a restart is awaited for 5 s.",
		Example: "  vant agent watch\n  vant agent watch | jq -r .type",
		build:   plain("events.since"),
	},
	{
		Name: "call", Args: "METHOD [JSON]", min: 1, max: 2, Short: "Call any method",
		Long: "Call any method with an object of parameters: JSON, \"-\" for standard input,\n" +
			"or @FILE; {} when it is left out. A method's name works as a command too.",
		Example: "  vant agent call net.fetch '{\"url\":\"https://example.com\"}'\n" +
			"  vant agent call net.fetch @request.json\n" +
			"  vant agent net.fetch '{\"url\":\"https://example.com\"}'\n" +
			"  vant agent describe",
		build: (*builder).call,
	},
	{
		Name: "js", Args: "[SCRIPT|-]", max: 1, Script: true, Short: "Run JavaScript in a page",
		Long: "Run JavaScript in a page and print its completion value. The script is the\n" +
			"argument, a file (--file), or standard input (no argument, or \"-\").",
		Example: "  vant agent js 'document.title'\n  vant agent js --tab 2 --file script.js\n  echo '1+1' | vant agent js",
		build:   (*builder).js,
	},
}

// find gives the command of a name. A dotted name, and describe, is the call of
// that method.
func find(name string) (Command, bool) {
	for _, c := range commands {
		if c.Name == name {
			return c, true
		}
	}
	if name == "describe" || dotted(name) {
		return Command{
			Name: name, Args: "[JSON]", max: 1,
			build: func(b *builder, args []string) (string, []byte, error) {
				return b.call(append([]string{name}, args...))
			},
		}, true
	}
	return Command{}, false
}

// dotted says whether a name may be a method's: letters, digits and
// underscores with dots between them. The host knows whether it exists.
func dotted(name string) bool {
	dots, last := 0, byte('.')
	for i := range len(name) {
		c := name[i]
		switch {
		case c == '.':
			if last == '.' {
				return false
			}
			dots++
		case c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z'):
			return false
		}
		last = c
	}
	return dots > 0 && last != '.'
}
