#!/usr/bin/env bash
# test.sh - installs what is missing, builds the dev preset and runs its tests (unit, cli, lint).
#
#   ./test.sh          without a GPU
#   ./test.sh --gpu    also the tests that need one
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

gpu=no
case ${1:-} in
  "") ;;
  --gpu) gpu=yes ;;
  *) echo "usage: ./test.sh [--gpu]" >&2; exit 2 ;;
esac

{ mkdir -p build && : >>build/dev.lock; } 2>/dev/null || {
  echo "test.sh: nothing can be written below $PWD: tests are built where that can be done" >&2
  exit 3
}
exec {lock}>>build/dev.lock
flock --nonblock "$lock" || { echo "test.sh: another one is at work here; waiting for it" >&2; flock "$lock"; }
(exec {lock}>&- && tools/bootstrap.sh test)
tools/configure.sh dev
cmake --build --preset dev
ctest --preset dev -j "$(nproc)"
tests/slowest_tests.py build/dev/junit.xml
if [[ $gpu == yes ]]; then
  ctest --preset gpu
fi
