#!/usr/bin/env bash
# Runs every fuzz target of the module for a while: tools/fuzz.sh 20s
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-20s}
found=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT
while IFS=: read -r file target; do
	found=$((found + 1))
	echo "fuzz $target ($time) in $(dirname "$file")"
	if ! go test "./$(dirname "$file")" -run '^$' -fuzz "^$target\$" -fuzztime "$time" -parallel 2 2>&1 | tee "$log"; then
		# The go command reports a worker that is still busy when the time is over
		# as a failure of the target, though it found nothing: then, and only
		# then, there is this line and no failing input.
		grep -qx '    context deadline exceeded' "$log" || exit 1
		if grep -q 'Failing input' "$log"; then exit 1; fi
	fi
done < <(git ls-files '*_test.go' | xargs grep -hoHE '^func Fuzz[A-Za-z0-9_]+' | sed 's/:func /:/' | sort)
echo "$found fuzz targets ran"
[ "$found" -gt 0 ]
