#!/usr/bin/env bash
# install.sh PREFIX: copies bin/ to PREFIX/bin and PREFIX/lib/vant/plugins.
# install.sh --remove PREFIX: takes the same files away, and says which there were.
# Each file is written beside its place and renamed into it, so that a program
# that runs keeps its own and nobody ever sees a half-copied one.
set -euo pipefail
remove=
if [ "$1" = --remove ]; then
	remove=1
	shift
fi
prefix=$1
cd "$(dirname "$0")/.."
bin=$prefix/bin
plugins=$prefix/lib/vant/plugins

if [ -n "$remove" ]; then
	removed=
	take() {
		[ -e "$1" ] || [ -L "$1" ] || return 0
		rm -v "$1"
		removed=1
	}
	for f in "$bin/vant" "$bin/vantd"; do take "$f"; done
	for main in plugins/*/main.go; do take "$plugins/vant-plugin-$(basename "$(dirname "$main")")"; done
	[ -n "$removed" ] || echo "nothing of vant is below $prefix: name the folder of the install, as in make uninstall PREFIX=/usr/local"
	rmdir "$plugins" "$prefix/lib/vant" 2>/dev/null || true # other plugins may be there
	exit 0
fi

put() { # file folder
	local to=$2/$(basename "$1")
	install -m 0755 "$1" "$2/.$(basename "$1").part"
	mv -f "$2/.$(basename "$1").part" "$to"
	echo "$to"
}
# Group or world-writable plugin folders are refused by the host.
install -d -m 0755 "$bin" "$prefix/lib/vant" "$plugins"
put bin/vant "$bin"
put bin/vantd "$bin"
for f in bin/plugins/vant-plugin-*; do put "$f" "$plugins"; done
case ":$PATH:" in
*":$bin:"*) ;;
*) echo "add $bin to PATH to call vant by name" ;;
esac
