#!/usr/bin/env bash
# renew_schemas.sh - writes configs/schemas/*.json as `fatune schema` prints them, or with --check lists the stale ones.
#
#   tools/renew_schemas.sh build/dev/fatune [--check]
set -euo pipefail
fatune=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/../configs/schemas"

stale=0
for name in $("$fatune" schema); do
  if [[ ${2:-} != --check ]]; then
    "$fatune" schema "$name" > "$name.json"
  elif ! "$fatune" schema "$name" | diff -u "$name.json" -; then
    echo "configs/schemas/$name.json is stale: run \`make schemas\`"
    stale=1
  fi
done
exit $stale
