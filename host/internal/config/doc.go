// Package config reads vant.yaml. It is strict: unknown keys, wrong types and
// bad values are refused, each with its place in the file, and several are
// reported at once. Package host calls it at the start and on a reload;
// `vantd check` shows its errors.
//
// A plugin's section, plugins.<name>, belongs to the plugin, save the key
// "host" in it, which belongs to the host. The plugin's part is turned to JSON
// without loss and checked later against the plugin's own schema. A plugin
// cannot have a section when its name is a key of "plugins" itself: dirs,
// order, verify, lock, defaults.
package config
