#!/usr/bin/env bash
# The main job on real input, each command shown with its output: starts a
# private host, fetches a page through a plugin process, looks around, stops.
set -euo pipefail
cd "$(dirname "$0")/.."

echo '$ make build'
make --no-print-directory build

work=$(mktemp -d)
go build -o "$work/demosite" ./tools/demosite # with the user's own build cache
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

run() { # a command as it is typed
	printf '\n$ %s\n' "$1"
	bash -o pipefail -c "$1"
}

# A page to fetch, served on loopback by this repository itself.
exec {site}< <(exec "$work/demosite" 2>"$work/demosite.log")
web=$!
read -rt 20 url <&"$site" || { echo "the demo's web server did not start" >&2; exit 1; }

run 'vant up'
run 'vant agent status'
run 'vant plugin list'
run "vant agent fetch $url | python3 -m json.tool | sed -n '1,11p'"
run "vant agent fetch $url/api/items '{\"method\":\"POST\",\"body\":\"{}\"}' | python3 -m json.tool | sed -n '1,9p'"
run "vant agent describe '{\"name\":\"net.fetch\"}' | python3 -m json.tool | sed -n '1,16p'"
run "python3 tools/vant_agent.py net.fetch '{\"url\":\"$url/missing\",\"max_bytes\":9}' | sed -n '1,9p'"
run "vant agent events | python3 -m json.tool | sed -n '1,14p'"
run 'vant down'
echo
echo "done: a host was started, called and stopped"
