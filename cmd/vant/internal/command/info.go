package command

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/vant-run/vant/cmd/vant/internal/output"
)

// pluginInfo prints a row of plugins.info, its limits and times in units that
// people read.
func (a *app) pluginInfo(raw json.RawMessage) error {
	var b strings.Builder
	err := eachMember(raw, func(name string, value json.RawMessage) error {
		b.WriteString(output.OneLine(name) + ":")
		switch name {
		case "limits":
			return appendLimits(&b, value)
		case "latency":
			return appendLatency(&b, value)
		}
		return appendValue(&b, value, "")
	})
	if err != nil {
		return err
	}
	return a.Stdout.Text(strings.TrimSuffix(b.String(), "\n"))
}

func appendLimits(b *strings.Builder, raw json.RawMessage) error {
	b.WriteByte('\n')
	return eachMember(raw, func(name string, value json.RawMessage) error {
		fmt.Fprintf(b, "  %s:", output.OneLine(name))
		text := ""
		switch name {
		case "memory_max", "cpu_weight", "nofile":
			if string(value) == "0" {
				text = "no limit"
			} else if name == "memory_max" {
				text = size(value)
			}
		case "rss_bytes":
			text = size(value)
		case "memory_by", "cpu_by":
			if string(value) == `""` {
				text = "-"
			}
		}
		if text == "" {
			return appendValue(b, value, "  ")
		}
		b.WriteString(" " + text + "\n")
		return nil
	})
}

// size gives a number of bytes as MiB, "" for what is none.
func size(raw json.RawMessage) string {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(strconv.FormatFloat(float64(n)/(1<<20), 'f', 1, 64), ".0") + " MiB"
}

// appendLatency writes a histogram in steps of ten: how many calls took less
// than each, and not less than the step before.
func appendLatency(b *strings.Builder, raw json.RawMessage) error {
	var buckets []struct {
		BelowUS int64  `json:"below_us"`
		Count   uint64 `json:"count"`
	}
	if err := json.Unmarshal(raw, &buckets); err != nil {
		return err
	}
	if len(buckets) == 0 {
		b.WriteString(" none\n")
		return nil
	}
	between := " "
	for us, i := int64(100), 0; i < len(buckets) && us < 1e12; us *= 10 {
		var n uint64
		for ; i < len(buckets) && buckets[i].BelowUS <= us; i++ {
			n += buckets[i].Count
		}
		if n > 0 {
			fmt.Fprintf(b, "%s%d below %v", between, n, time.Duration(us)*time.Microsecond)
			between = ", "
		}
	}
	b.WriteByte('\n')
	return nil
}
