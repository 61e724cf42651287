#!/usr/bin/env bash
# Installs what the tests need and the machine lacks: a C compiler for the race
# detector, Python's gRPC for the plugin in a second language, jq for the documents'
# examples, a screen that nobody sees, and a browser.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=()
command -v gcc >/dev/null || packages+=(gcc libc6-dev)
[ -x /usr/bin/python3 ] || packages+=(python3)
/usr/bin/python3 -c 'import grpc, google.protobuf' 2>/dev/null || packages+=(python3-grpcio python3-protobuf)
command -v protoc >/dev/null || packages+=(protobuf-compiler)
command -v Xvfb >/dev/null || packages+=(xvfb)
command -v jq >/dev/null || packages+=(jq)
tools/install-chromium.sh
[ ${#packages[@]} -eq 0 ] && exit 0

if ! command -v apt-get >/dev/null; then
	echo "the tests need: ${packages[*]} (Debian's names); install them and run make test again" >&2
	exit 1
fi
sudo=()
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null || { echo "run as root: apt-get install ${packages[*]}" >&2; exit 1; }
	sudo=(sudo)
fi
echo "installing ${packages[*]}"
"${sudo[@]}" apt-get update -q
"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${packages[@]}"
