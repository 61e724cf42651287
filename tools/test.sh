#!/usr/bin/env bash
# All tests with the race detector, or those of the packages that are named. A
# skipped test fails the run: what is not run proves nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
go build -o bin/testreport ./tools/testreport

flags=(-race -count=1 -timeout 40m -json)
all() {
	if [ $# -gt 0 ]; then
		go test "${flags[@]}" "$@"
		return
	fi
	local status=0
	go test "${flags[@]}" $(go list ./... | grep -v /plugins/browser) || status=1
	# Each of these keeps browsers busy: one package after the other.
	go test "${flags[@]}" -p 1 ./plugins/browser/... || status=1
	return $status
}
set +e
all "$@" | bin/testreport
status=("${PIPESTATUS[@]}")
[ "${status[1]}" -eq 0 ] && [ "${status[0]}" -eq 0 ]
