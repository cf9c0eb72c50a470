#!/usr/bin/env bash
# format.sh - formats our C++ with clang-format 14, or with --check lists what is not formatted.
#
# Exit 1: something is not formatted. Exit 77: no clang-format 14 here (ctest counts it as skipped);
# other versions format differently.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tool=""
for candidate in clang-format-14 clang-format; do
  if "$candidate" --version 2>/dev/null | grep -q 'version 14\.'; then tool=$candidate; break; fi
done
if [[ -z $tool ]]; then
  echo "format: clang-format 14 is not installed: formatting neither checked nor changed"
  exit 77
fi

mapfile -d '' files < <(find src tests -name '*.[hc]pp' -print0)
case ${1:-} in
  --check) "$tool" --dry-run -Werror "${files[@]}" && echo "format: ${#files[@]} files" ;;
  "") "$tool" -i "${files[@]}" ;;
  *) echo "usage: tools/format.sh [--check]" >&2; exit 2 ;;
esac
