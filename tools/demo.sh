#!/usr/bin/env bash
# The main job on real input, each command shown with its output: starts a
# private host, fetches a page through a plugin process, looks around, stops.
set -euo pipefail
cd "$(dirname "$0")/.."

echo '$ make build'
make --no-print-directory build

work=$(mktemp -d)
export XDG_RUNTIME_DIR=$work/run XDG_STATE_HOME=$work/state XDG_CACHE_HOME=$work/cache
export XDG_DATA_HOME=$work/data XDG_CONFIG_HOME=$work/config
export VANT_SOCKET=$work/run/vant.sock VANT_PLUGIN_PATH=$PWD/bin/plugins
mkdir -m 0700 "$XDG_RUNTIME_DIR"
PATH=$PWD/bin:$PATH

web=
finish() {
	vant down >/dev/null 2>&1 || true
	[ -z "$web" ] || kill "$web" 2>/dev/null || true
	rm -rf "$work"
}
trap finish EXIT

run() {
	printf '\n$'
	printf ' %q' "$@"
	printf '\n'
	"$@"
}

# A page to fetch, served on loopback by this repository itself.
go build -o "$work/demosite" ./tools/demosite
exec {site}< <(exec "$work/demosite" 2>"$work/demosite.log")
web=$!
read -rt 20 url <&"$site" || { echo "the demo's web server did not start" >&2; exit 1; }

run vant up
run vant agent status
run vant plugin list
run vant agent fetch "$url"
run vant agent fetch "$url/api/items" '{"method":"POST","headers":{"Content-Type":"application/json"},"body":"{\"name\":\"demo\"}"}'
run vant agent call describe '{"name":"net.fetch"}'
run python3 tools/vant_agent.py net.fetch "{\"url\":\"$url/missing\"}"
run vant agent events
run vant down
echo
echo "done: a host was started, called and stopped"
