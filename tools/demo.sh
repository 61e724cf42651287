#!/usr/bin/env bash
# The main job on real input, each command shown with its output: starts a
# private host, fills a form in a browser, follows a pop-up, takes a picture,
# reads what went wrong, fetches from an API, and stops. Chromium is installed by
# apt where that can be done.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/install-chromium.sh

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

outline() {
	local command="vant agent call page.snapshot '{\"format\":\"outline\"}' | python3 -c 'import json, sys; print(json.load(sys.stdin)[\"outline\"])'"
	printf '\n$ %s\n' "$command"
	seen=$(bash -o pipefail -c "$command")
	echo "$seen"
}
# The ref of an element in the last outline.
ref() {
	[[ $seen =~ $1\ \"$2[^\"]*\"\ (@e[0-9_]+) ]] || { echo "the page shows no $2" >&2; return 1; }
	echo "${BASH_REMATCH[1]}"
}
act() { run "vant agent call page.interact '{\"ref\":\"$1\",\"action\":\"$2\"${3:+,\"value\":\"$3\"}}'"; }

run 'vant up'
run 'vant plugin list'
run "vant agent describe '{\"name\":\"browser.navigate\"}' | python3 -m json.tool | sed -n '1,12p'"

run "vant agent open $url/order"
outline
run "vant agent fill $(ref textbox 'Full name') 'Ada Lovelace'"
run "vant agent fill $(ref textbox 'E-mail') ada@example.com"
act "$(ref combobox Country)" select Germany
run "vant agent click $(ref button Continue)"

outline
act "$(ref combobox Product)" select Cocoa
run "vant agent fill $(ref spinbutton Quantity) 2"
run "vant agent fill '#date' 2026-12-24"
act "$(ref radio Express)" check
act "$(ref checkbox 'Wrap as a gift')" check
run "vant agent fill $(ref textbox Note) 'Second floor, please ring twice.'"
run "vant agent click $(ref button Continue)"

outline
act "$(ref checkbox 'I accept')" check
run "vant agent click $(ref button 'Place order')"
run "vant agent call page.wait '{\"text\":\"Thank you, Ada Lovelace\"}'"

outline
receipt=$(ref button 'Receipt in a pop-up')
printf '\n$ vant agent click %s\n' "$receipt"
clicked=$(vant agent click "$receipt")
echo "$clicked"
opened=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["opened"][0])' <<<"$clicked") || { echo "the pop-up was not seen" >&2; exit 1; }
run 'vant agent tabs | python3 -m json.tool'
run "vant agent call page.interact '{\"tab_id\":$opened,\"selector\":\"#confirm\",\"action\":\"click\"}'"
run "vant agent call page.inspect '{\"kind\":\"text\"}'"
run "vant agent call page.screenshot '{\"path\":\"$PWD/bin/demo.png\"}'"

run "vant agent open $url/diagnostics"
run "vant agent click '#throw'"
run "vant agent page.diagnostics '{\"level\":\"error\"}' | python3 -m json.tool"
run "vant agent click '#nowhere'; echo \"exit status \$?\""

run "vant agent fetch $url/api/items '{\"method\":\"POST\",\"body\":\"{}\"}' | python3 -m json.tool | sed -n '1,9p'"
run "python3 tools/vant_agent.py page.inspect '{\"kind\":\"metadata\"}' | sed -n '1,12p'"
run 'vant agent events | python3 -m json.tool | sed -n 1,14p'
run 'vant down'
echo
echo "done: a form was filled in a browser, step by step, and everything was stopped"
