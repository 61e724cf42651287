package sdk

import (
	"fmt"
	"io"
	"os"
	"text/tabwriter"
)

// byHand answers a person. Its result is the exit status.
func byHand(p *Plugin, args []string, stdout, stderr io.Writer) int {
	if len(args) == 1 {
		switch args[0] {
		case "--describe":
			text, err := p.catalogueJSON()
			if err == nil {
				_, err = fmt.Fprintf(stdout, "%s\n", text)
			}
			return exitStatus(err, stderr)
		case "--version":
			_, err := fmt.Fprintf(stdout, "%s %s\n", p.name, p.version)
			return exitStatus(err, stderr)
		}
	}
	file, err := os.Executable()
	if err != nil {
		file = "vant-plugin-" + p.name
	}
	fmt.Fprintf(stderr, "%s %s: %s\n\n", p.name, p.version, p.summary)
	fmt.Fprintf(stderr, "This is a plugin of vant. The host, vantd, starts it; by itself it does nothing.\n\n")
	fmt.Fprintf(stderr, "Methods:\n")
	w := tabwriter.NewWriter(stderr, 0, 8, 2, ' ', 0)
	for _, m := range p.methods {
		fmt.Fprintf(w, "  %s\t%s\n", m.name, m.summary)
	}
	_ = w.Flush() // to standard error: there is nowhere left to complain
	fmt.Fprintf(stderr, "\nInstall:    vant plugin install %s\n", file)
	fmt.Fprintf(stderr, "Catalogue:  %s --describe\n", file)
	fmt.Fprintf(stderr, "Debug:      %s --debug [SOCKET]\n", file)
	return 1
}

func exitStatus(err error, stderr io.Writer) int {
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}
