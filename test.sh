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

tools/bootstrap.sh test
cmake --preset dev
cmake --build --preset dev
ctest --preset dev -j "$(nproc)"
tools/slowest_tests.py build/dev/junit.xml
if [[ $gpu == yes ]]; then
  ctest --preset gpu
fi
