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
		Name: "describe", Args: "[JSON]", max: 1, Short: "Show methods: parameters, results, errors, bounds",
		Long: "Show what can be called at this host at this moment: every method, or the one\n" +
			"that JSON names, with parameters, results, errors and bounds.",
		Example: "  vant agent describe\n  vant agent describe '{\"name\":\"net.fetch\"}'",
		build:   calls("describe"),
	},
	{
		Name: "tabs", Short: "List the browser's tabs",
		Example: "  vant agent tabs",
		build:   plain("browser.tabs"),
	},
	{
		Name: "open", Args: "URI [TAB]", min: 1, max: 2, Short: "Open an address, in tab TAB or in the current one",
		Long: "Open an address in tab TAB, else in the current tab, whatever that shows, and in\n" +
			"a new one when there is none. For one more tab: vant agent browser.tab.new JSON.",
		Example: "  vant agent open https://example.com\n  vant agent open https://example.com 1",
		build:   (*builder).open,
	},
	{
		Name: "snapshot", Args: "[TAB]", max: 1, Short: "List a page's elements with their refs",
		Long: "List a page's elements with their refs, as JSON. Everything but TAB is a\n" +
			"parameter of the method page.snapshot: an outline for people is one.",
		Example: "  vant agent snapshot\n  vant agent snapshot 1\n" +
			"  vant agent page.snapshot '{\"format\":\"outline\"}' | jq -r .outline",
		build: tabOnly("page.snapshot", `vant agent page.snapshot '{"format":"outline"}' | jq -r .outline`),
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
		Long: "Show a page's console messages and errors. Everything but TAB is a parameter of\n" +
			"the method page.diagnostics.",
		Example: "  vant agent diagnostics 1\n  vant agent page.diagnostics '{\"level\":\"error\"}'",
		build:   tabOnly("page.diagnostics", `vant agent page.diagnostics '{"level":"error"}'`),
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
			"argument, a file (--file), or standard input (no argument, or \"-\"). The tab is\n" +
			"named by --tab, and not behind the script as for other commands.",
		Example: "  vant agent js 'document.title'\n  vant agent js --tab 2 --file script.js\n  echo '1+1' | vant agent js",
		build:   (*builder).js,
	},
}

// Find gives the command of a name. A dotted name is the call of that method.
func Find(name string) (Command, bool) {
	for _, c := range commands {
		if c.Name == name {
			return c, true
		}
	}
	if dotted(name) {
		return Command{
			Name: name, Args: "[JSON]", max: 1, Short: "Call the method " + name,
			Long: "Call the method " + name + " with an object of parameters: JSON, \"-\" for\n" +
				"standard input, or @FILE; {} when it is left out. The host describes it:\n" +
				"parameters, result, errors and bound.",
			Example: "  vant agent describe '{\"name\":\"" + name + "\"}'\n  vant agent " + name + " '{}'",
			build:   calls(name),
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
