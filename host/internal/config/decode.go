package config

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/vant-run/vant/host/internal/catalog"
	"github.com/vant-run/vant/internal/wire"
)

// decoder fills the structs of this package from nodes. Field tags say which
// key a field has (yaml), its bounds (min, max), its words (oneof) and what
// its texts are (is: path, plugin, variable).
type decoder struct {
	*faults
	// dir and home resolve relative paths and ~.
	dir, home string
}

var (
	durationType = reflect.TypeFor[time.Duration]()
	bytesType    = reflect.TypeFor[Bytes]()
	variable     = pattern(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// value decodes n into v, a field with the given tags. key names it.
func (d *decoder) value(n *node, v reflect.Value, tag reflect.StructTag, key string) {
	if v.Type() == reflect.TypeFor[Plugins]() {
		d.plugins(n, v.Addr().Interface().(*Plugins))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		if n.kind == kindNull {
			return // a heading over keys that are all commented out
		}
		if d.is(n, kindMap, key) {
			d.members(n.members, v, key)
		}
	case reflect.Slice:
		if !d.is(n, kindList, key) {
			return
		}
		for _, item := range n.items {
			if d.is(item, kindText, "an item of "+key) {
				if s, ok := d.text(item, tag, key); ok {
					v.Set(reflect.Append(v, reflect.ValueOf(s)))
				}
			}
		}
	case reflect.Map:
		d.variables(n, v.Addr().Interface().(*Secrets), key)
	case reflect.Bool:
		if d.is(n, kindBool, key) {
			v.SetBool(n.text == "true")
		}
	case reflect.String:
		if d.is(n, kindText, key) {
			if s, ok := d.text(n, tag, key); ok {
				v.SetString(s)
			}
		}
	default:
		if i, ok := d.number(n, v.Type(), key); ok && d.bounds(n, i, v.Type(), tag, key) {
			v.SetInt(i)
		}
	}
}

// is notes a fault unless n is of the kind.
func (d *decoder) is(n *node, want kind, key string) bool {
	if n.kind == want {
		return true
	}
	hint := ""
	switch {
	case want == kindText && (n.kind == kindNumber || n.kind == kindBool):
		hint = "; quote it"
	case want == kindBool && n.kind == kindText && oldBool[strings.ToLower(n.text)]:
		hint = "; write true or false"
	case want == kindList && n.kind == kindText:
		hint = "; write it in [ ]"
	}
	d.add(n.at, "%s takes %s, found %s%s", key, want, n.kind, hint)
	return false
}

var oldBool = map[string]bool{"yes": true, "no": true, "on": true, "off": true, "y": true, "n": true}

// members decodes the members of a mapping into the fields of v.
func (d *decoder) members(members []member, v reflect.Value, key string) {
	fields := fieldsOf(v.Type())
	for _, m := range members {
		f, known := fields.byKey[m.key]
		if !known {
			d.unknown(m, fields.keys)
			continue
		}
		d.value(m.value, v.FieldByIndex(f.Index), f.Tag, join(key, m.key))
	}
}

func (d *decoder) unknown(m member, known []string) {
	if near := wire.Nearest(m.key, known); near != "" {
		d.add(m.at, "unknown key %q; did you mean %q?", clip(m.key), near)
		return
	}
	d.add(m.at, "unknown key %q; known here: %s", clip(m.key), strings.Join(known, ", "))
}

func join(key, sub string) string {
	if key == "" {
		return sub
	}
	return key + "." + sub
}

type fields struct {
	keys  []string // in the order of the struct
	byKey map[string]reflect.StructField
}

// fieldsOf lists the keys of a struct, those of inlined structs among them.
func fieldsOf(t reflect.Type) fields {
	out := fields{byKey: map[string]reflect.StructField{}}
	for _, f := range reflect.VisibleFields(t) {
		key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if key == "" || key == "-" || strings.HasPrefix(key, "<") {
			continue
		}
		out.keys = append(out.keys, key)
		out.byKey[key] = f
	}
	return out
}

// plugins decodes "plugins": the host's own keys and the plugins' sections.
func (d *decoder) plugins(n *node, p *Plugins) {
	if n.kind == kindNull || !d.is(n, kindMap, "plugins") {
		return
	}
	v := reflect.ValueOf(p).Elem()
	own := fieldsOf(v.Type())
	for _, m := range n.members {
		if f, known := own.byKey[m.key]; known {
			d.value(m.value, v.FieldByIndex(f.Index), f.Tag, "plugins."+m.key)
			continue
		}
		section := m.value.kind == kindMap || m.value.kind == kindNull
		switch {
		case !catalog.ValidName(m.key) && !section:
			d.unknown(m, own.keys)
		case !catalog.ValidName(m.key):
			d.add(m.at, "%q is no plugin name: a letter a-z, then letters, digits and -, at most 32 in all", clip(m.key))
		case !section:
			if near := wire.Nearest(m.key, own.keys); near != "" {
				d.add(m.at, "unknown key %q; did you mean %q? (a plugin's section takes a mapping)", m.key, near)
			} else {
				d.is(m.value, kindMap, "plugins."+m.key)
			}
		default:
			p.Sections[m.key] = d.section(m.value, "plugins."+m.key)
		}
	}
}

// section parts a plugin's section into the host's and the plugin's own.
func (d *decoder) section(n *node, key string) Plugin {
	var p Plugin
	own := make([]member, 0, len(n.members))
	for _, m := range n.members {
		if m.key == "host" {
			d.value(m.value, reflect.ValueOf(&p.Host).Elem(), "", key+".host")
		} else {
			own = append(own, m)
		}
	}
	p.Config = appendObject(nil, own)
	return p
}

// variables decodes a mapping of environment variables. Numbers and truth
// values are taken as they are written: every variable is a text. Values are
// secrets and stay out of messages.
func (d *decoder) variables(n *node, s *Secrets, key string) {
	if n.kind == kindNull || !d.is(n, kindMap, key) {
		return
	}
	*s = make(Secrets, len(n.members))
	for _, m := range n.members {
		switch {
		case !variable().MatchString(m.key):
			d.add(m.at, "%q is no name of a variable", clip(m.key))
		case catalog.HostSet(m.key):
			d.hostSet(m.at, m.key, key)
		case m.value.kind == kindText, m.value.kind == kindNumber, m.value.kind == kindBool:
			(*s)[m.key] = m.value.written
		default:
			d.is(m.value, kindText, join(key, m.key))
		}
	}
}

// text checks a text by the field's tags and resolves paths.
func (d *decoder) text(n *node, tag reflect.StructTag, key string) (string, bool) {
	if words := tag.Get("oneof"); words != "" {
		list := strings.Fields(words)
		for _, w := range list {
			if n.text == w {
				return w, true
			}
		}
		if near := wire.Nearest(n.text, list); near != "" {
			d.add(n.at, "%s cannot be %q; did you mean %q?", key, clip(n.text), near)
		} else {
			d.add(n.at, "%s cannot be %q; use one of: %s", key, clip(n.text), strings.Join(list, ", "))
		}
		return "", false
	}
	switch tag.Get("is") {
	case "path":
		p, err := resolve(n.text, d.dir, d.home)
		if err != nil {
			d.add(n.at, "%s %v", key, err)
		}
		return p, err == nil
	case "plugin":
		if !catalog.ValidName(n.text) {
			d.add(n.at, "%s names %q, which is no plugin name", key, clip(n.text))
			return "", false
		}
	case "variable":
		// An "A=value" written here by mistake may hold a secret.
		if !variable().MatchString(n.text) {
			d.add(n.at, "%s takes names of variables, such as ANTHROPIC_API_KEY", key)
			return "", false
		}
		if catalog.Reserved(n.text) {
			d.add(n.at, "%s names %s, by which the service manager speaks to the host alone; leave it out", key, n.text)
			return "", false
		}
		if catalog.HostSet(n.text) {
			d.hostSet(n.at, n.text, key)
			return "", false
		}
	}
	return n.text, true
}

func (d *decoder) hostSet(at pos, name, key string) {
	d.add(at, "%s names %s, which the host itself sets for every plugin; leave it out", key, clip(name))
}

// number reads an integer, a duration or a size.
func (d *decoder) number(n *node, t reflect.Type, key string) (int64, bool) {
	switch t {
	case durationType:
		if n.kind == kindText {
			if v, err := time.ParseDuration(n.text); err == nil {
				return int64(v), true
			}
		}
		d.add(n.at, `%s takes a duration with its unit, such as "500ms", "5s" or "10m"`, key)
		return 0, false
	case bytesType:
		if v, ok := parseBytes(n); ok {
			return v, true
		}
		d.add(n.at, `%s takes a size, such as "512MiB" or "2GiB", or a number of bytes`, key)
		return 0, false
	}
	if !d.is(n, kindNumber, key) {
		return 0, false
	}
	v, err := strconv.ParseInt(n.text, 10, 64)
	if err != nil {
		d.add(n.at, "%s takes a whole number", key)
	}
	return v, err == nil
}

// units of sizes; the short ones are powers of 1024 too, as in systemd.
var units = map[string]int64{
	"": 1, "B": 1, "K": 1 << 10, "KiB": 1 << 10, "M": 1 << 20, "MiB": 1 << 20, "G": 1 << 30, "GiB": 1 << 30, "T": 1 << 40, "TiB": 1 << 40,
}

func parseBytes(n *node) (int64, bool) {
	if n.kind != kindNumber && n.kind != kindText {
		return 0, false
	}
	digits := strings.TrimRight(n.text, "KMGTiB")
	unit, known := units[n.text[len(digits):]]
	v, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
	if err != nil || !known || v < 0 || v > math.MaxInt64/unit {
		return 0, false
	}
	return v * unit, true
}

// bounds checks a number against the field's min and max.
func (d *decoder) bounds(n *node, v int64, t reflect.Type, tag reflect.StructTag, key string) bool {
	low, high := bound(t, tag.Get("min"), math.MinInt64), bound(t, tag.Get("max"), math.MaxInt64)
	if v >= low && v <= high {
		return true
	}
	d.add(n.at, "%s must be between %s and %s", key, show(t, low), show(t, high))
	return false
}

func bound(t reflect.Type, text string, none int64) int64 {
	if text == "" {
		return none
	}
	if t == durationType {
		v, err := time.ParseDuration(text)
		if err != nil {
			panic(fmt.Sprintf("config: bad bound %q", text)) // a tag of ours
		}
		return int64(v)
	}
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(fmt.Sprintf("config: bad bound %q", text))
	}
	return v
}

func show(t reflect.Type, v int64) string {
	switch {
	case t == durationType:
		s := time.Duration(v).String() // 5m0s
		if strings.HasSuffix(s, "m0s") {
			s = s[:len(s)-2]
		}
		if strings.HasSuffix(s, "h0m") {
			s = s[:len(s)-2]
		}
		return s
	case t == bytesType && v%(1<<40) == 0:
		return fmt.Sprintf("%dTiB", v>>40)
	case t == bytesType && v%(1<<20) == 0:
		return fmt.Sprintf("%dMiB", v>>20)
	}
	return strconv.FormatInt(v, 10)
}
