#!/usr/bin/env bash
# All tests with the race detector. A skipped test fails the run: what is not
# run proves nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
go build -o bin/testreport ./tools/testreport
set +e
go test -race -count=1 -timeout 40m -json "${@:-./...}" | bin/testreport
status=("${PIPESTATUS[@]}")
[ "${status[1]}" -eq 0 ] && [ "${status[0]}" -eq 0 ]
