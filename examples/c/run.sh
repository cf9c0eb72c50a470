#!/usr/bin/env bash
# run.sh - exports each problem of best.json files as a C header, builds attention.c with it and runs it on the GPU here.
#
#   examples/c/run.sh results/h200/mission/best.json results/h200/suite-decode/best.json
#
# FATUNE names the program [./build/release/fatune], CUDA_HOME the toolkit [/usr/local/cuda]. Exit 1: a kernel failed or was wrong; 3: built, not run.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
fatune=${FATUNE:-$here/../../build/release/fatune}
cuda=${CUDA_HOME:-/usr/local/cuda}
[[ $# -gt 0 ]] || { echo "usage: run.sh best.json ..." >&2; exit 2; }
[[ -x $fatune ]] || { echo "run.sh: $fatune is not there; build it, or name it with FATUNE=" >&2; exit 3; }

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$fatune" export "$@" --to header -o "$folder" | grep -v '^wrote' >"$folder/summary.txt"
cat "$folder/summary.txt"

# Without a driver, the toolkit's stub is linked, and nothing runs.
driver=$(ldconfig -p | sed -n 's/.*libcuda\.so\.1 .*=> //p' | head -n 1)
library=${driver:-$cuda/lib64/stubs/libcuda.so}
[[ -e $library ]] || { echo "run.sh: there is neither an NVIDIA driver (libcuda.so.1) nor $library" >&2; exit 3; }
flags=(-std=c99 -O2 -Wall -Wextra -isystem "$cuda/include")
wrong=0
for header in "$folder"/*.h; do
  name=$(basename "$header" .h)
  mkdir "$folder/$name"
  # The example calls its kernel `attention`.
  sed "s/${name^^}/ATTENTION/g; s/$name/attention/g" "$header" >"$folder/$name/attention.h"
  cc "${flags[@]}" -I"$folder/$name" "$here/attention.c" -o "$folder/$name/attention" "$library" -lm
  echo "$name"
  [[ -n $driver ]] || continue
  "$folder/$name/attention" | sed 's/^/  /' || wrong=1
done
[[ -n $driver ]] || { echo "run.sh: built, but not run: there is no NVIDIA driver here (libcuda.so.1)" >&2; exit 3; }
exit $wrong
