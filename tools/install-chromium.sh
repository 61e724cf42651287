#!/usr/bin/env bash
# Installs Chromium, and a font, without which text has no widths, where either is
# missing and apt can be used.
set -euo pipefail

packages=()
command -v chromium chromium-browser google-chrome google-chrome-stable chrome >/dev/null || packages+=(chromium)
[ -n "$(find /usr/share/fonts /usr/local/share/fonts ~/.fonts ~/.local/share/fonts -name '*.[to]tf' -print -quit 2>/dev/null)" ] || packages+=(fonts-dejavu-core)
[ ${#packages[@]} -eq 0 ] && exit 0

if ! command -v apt-get >/dev/null; then
	echo "this needs ${packages[*]} (Debian's names): dnf install chromium, pacman -S chromium, apk add chromium, zypper install chromium, brew install --cask chromium" >&2
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
