#!/usr/bin/env bash
# renew_schemas.sh: Writes the schemas in configs/schemas that `fatune schema` prints, or with --check lists stale ones.
#
#   tools/renew_schemas.sh build/dev/fatune [--check]
set -euo pipefail
fatune=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/../configs/schemas"

stale=0
for name in $("$fatune" schema); do
  if [[ ! -e $name.json ]]; then
    continue  # a format that nobody else validates against
  elif [[ ${2:-} != --check ]]; then
    "$fatune" schema "$name" > "$name.json"
  elif ! "$fatune" schema "$name" | diff -u "$name.json" -; then
    echo "configs/schemas/$name.json is stale: run \`make schemas\`"
    stale=1
  fi
done
exit $stale
