#!/usr/bin/env bash
# configure.sh - configures a preset: tools/configure.sh PRESET
#
# Of a checkout that was moved or copied, CMake's cache names the folder that it was made in; that cache
# is begun anew.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=build/$1
fresh=()
if [[ -f $build/CMakeCache.txt &&
  $(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$build/CMakeCache.txt") != "$(pwd -P)" ]]; then
  fresh=(--fresh)
  rm -rf "$build"/_deps/*-subbuild
fi
exec cmake "${fresh[@]}" --preset "$1"
