package host

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/vant-run/vant/host/internal/catalog"
	"github.com/vant-run/vant/host/internal/cgroup"
	"github.com/vant-run/vant/host/internal/config"
	"github.com/vant-run/vant/host/internal/supervise"
	"github.com/vant-run/vant/proto/envelope"
)

// attachVar names plugins that run already, under a debugger for example:
// {"name":{"addr":"/path/of/its.sock"}}. The host uses them in place of files.
const attachVar = "VANT_REATTACH"

// attachScheme marks an address where a plugin's file would stand.
const attachScheme = "reattach:"

// parseAttached reads the variable's value strictly; "" is none.
func parseAttached(text string) (map[string]string, error) {
	if text == "" {
		return nil, nil
	}
	fault := func(format string, args ...any) error {
		return fmt.Errorf(`%s: %w; it must be like {"name":{"addr":"/path/of/its.sock"}}, as a plugin prints it when started with --debug`,
			attachVar, fmt.Errorf(format, args...))
	}
	var given map[string]struct {
		Addr string `json:"addr"`
	}
	if err := json.Unmarshal([]byte(text), &given, json.RejectUnknownMembers(true)); err != nil {
		return nil, fault("%w", err)
	}
	if len(given) == 0 {
		return nil, fault("%w", errors.New("it names no plugin"))
	}
	addrs := make(map[string]string, len(given))
	for _, name := range slices.Sorted(maps.Keys(given)) {
		addr := given[name].Addr
		switch {
		case !catalog.ValidName(name):
			return nil, fault("%q is not a plugin's name", name)
		case !filepath.IsAbs(addr):
			return nil, fault("addr of %q is %q, not the absolute path of a unix socket", name, addr)
		case len(addr) > envelope.MaxSocketPath:
			return nil, fault("addr of %q has %d bytes, at most %d are possible", name, len(addr), envelope.MaxSocketPath)
		}
		addrs[name] = addr
	}
	return addrs, nil
}

// attachedSpecs are the plugins that run already.
func (h *Host) attachedSpecs(cfg *config.Config) (specs []supervise.Spec, refused []supervise.Refusal) {
	for _, name := range slices.Sorted(maps.Keys(h.attached)) {
		addr := h.attached[name]
		spec, not := h.spec(cfg, catalog.Candidate{Name: name, File: attachScheme + addr})
		if not != nil {
			not.Name, not.File = name, attachScheme+addr
			refused = append(refused, *not)
			continue
		}
		spec.Attach = addr
		specs = append(specs, spec)
	}
	return specs, refused
}

// cgroups is the host's delegated control group, nil when there is none.
func (h *Host) cgroups() *cgroup.Tree {
	dir, err := cgroup.Own()
	if err != nil {
		h.log.Debug("no control groups for plugins", "reason", err)
		return nil
	}
	tree, err := cgroup.Open(dir, h.paths.id)
	if err != nil {
		h.log.Warn("no control groups for plugins", "reason", err)
		return nil
	}
	h.log.Info("plugins get control groups", "below", tree.String())
	return tree
}
