#!/usr/bin/env bash
# wheel.sh - builds the preset portable, and makes of it the wheel that others install.
#
#   tools/wheel.sh [FOLDER]     where the wheel goes [build/wheel]
#
# A wheel's tag says on which systems pip takes it: auditwheel reads it off the libraries and versions of symbols that the
# program and libfatune_rt ask for. On Debian 12 that is glibc 2.34. stdout is the wheel's path, size and tag.
# Exit code 1: it asks for a library that manylinux does not promise.
set -euo pipefail
[[ $# -le 1 ]] || { echo "usage: wheel.sh [FOLDER]" >&2; exit 2; }
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=${1:-build/wheel}
tools=$PWD/.deps/wheel/bin

tools/bootstrap.sh wheel
[[ -x $tools/auditwheel ]] || { echo "wheel.sh: auditwheel is not there (build/bootstrap.log)" >&2; exit 3; }
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
"$tools/python" -I -m pip wheel . --no-build-isolation --no-deps --wheel-dir "$made" --disable-pip-version-check >&2

tag=$("$tools/auditwheel" show "$made"/fatune-*.whl | tr '\n' ' ' | sed -nE 's/.*platform tag to "(manylinux_[0-9a-z_]+)".*/\1/p')
if [[ -z $tag ]]; then
  "$tools/auditwheel" show "$made"/fatune-*.whl >&2
  echo "wheel.sh: the libraries above are not manylinux's" >&2
  exit 1
fi
"$tools/wheel" tags --remove --platform-tag "$tag" "$made"/fatune-*.whl >&2

mkdir -p "$folder"
rm -f "$folder"/fatune-*.whl
mv "$made"/fatune-*.whl "$folder"
for wheel in "$folder"/fatune-*.whl; do
  echo "$wheel: $(du -h --apparent-size "$wheel" | cut -f 1), $tag"
done
