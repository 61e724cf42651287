// Testreport reads `go test -json` and prints what a person needs: a line a
// package, the whole output of what failed, and a count. It exits 1 when a
// test failed or was skipped, or when none ran.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strings"
)

type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
	ImportPath                    string
}

func main() {
	var passed, failed int
	var skipped []string
	output := map[string]*strings.Builder{}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var e event
		if err := json.Unmarshal(in.Bytes(), &e); err != nil {
			fmt.Println(in.Text()) // a build error, printed as it came
			continue
		}
		key := e.Package + " " + e.Test
		switch e.Action {
		case "output":
			if output[key] == nil {
				output[key] = &strings.Builder{}
			}
			output[key].WriteString(e.Output)
		case "build-output":
			fmt.Print(e.Output)
		case "pass", "fail", "skip":
			end(e, output, key, &passed, &failed, &skipped)
			delete(output, key)
		}
	}
	if err := in.Err(); err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
		os.Exit(1)
	}
	sort.Strings(skipped)
	for _, s := range skipped {
		fmt.Println("SKIPPED", s)
	}
	fmt.Printf("%d passed, %d failed, %d skipped\n", passed, failed, len(skipped))
	if failed > 0 || len(skipped) > 0 || passed == 0 {
		os.Exit(1)
	}
}

func end(e event, output map[string]*strings.Builder, key string, passed, failed *int, skipped *[]string) {
	text := ""
	if b := output[key]; b != nil {
		text = b.String()
	}
	if e.Test == "" {
		if e.Action == "fail" {
			*failed++
			fmt.Print(text)
		}
		if !strings.Contains(text, "[no test files]") {
			fmt.Printf("%-5s %s %.1fs\n", e.Action, e.Package, e.Elapsed)
		}
		return
	}
	switch e.Action {
	case "pass":
		*passed++
	case "fail":
		*failed++
		fmt.Print(text)
	case "skip":
		*skipped = append(*skipped, strings.TrimSpace(key))
	}
}
