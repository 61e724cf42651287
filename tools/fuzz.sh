#!/usr/bin/env bash
# Runs every fuzz target of the module for a while: tools/fuzz.sh 20s
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-20s}
found=0
while IFS=: read -r file target; do
	found=$((found + 1))
	echo "fuzz $target ($time) in $(dirname "$file")"
	go test "./$(dirname "$file")" -run '^$' -fuzz "^$target\$" -fuzztime "$time" -parallel 2
done < <(git ls-files '*_test.go' | xargs grep -hoHE '^func Fuzz[A-Za-z0-9_]+' | sed 's/:func /:/' | sort)
echo "$found fuzz targets ran"
[ "$found" -gt 0 ]
