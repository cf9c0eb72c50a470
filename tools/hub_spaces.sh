#!/usr/bin/env bash
# hub_spaces.sh - takes the Kernel Tuner caches of docs/search.md out of a clone of the benchmark hub.
#
#   tools/hub_spaces.sh HUB OUT
#
# HUB: a clone of AutoTuningAssociation/benchmark_hub, with or without a work tree. OUT: the folder for the files, named
# by kernel and GPU; their names in the hub are read at the commit that docs/search.md cites.
set -euo pipefail
hub=$1 out=$2
commit=8eeb99e

# take FOLDER KERNEL GPU...: FOLDER/GPU.json.gz becomes KERNEL-GPU.json.gz.
take() {
  local folder=$1 kernel=$2 gpu
  shift 2
  for gpu in "$@"; do
    git -C "$hub" show "$commit:$folder/$gpu.json.gz" >"$out/$kernel-$gpu.json.gz"
  done
}

mkdir -p "$out"
current=cachefiles unused="currently_unused/cachefiles" older="currently_unused/cachefiles/KernelTuner data"
take "$current/convolution_milo" convolution_milo A100 A100_T4 A4000 A6000 A6000_original MI250X W6600 W7800
take "$current/dedispersion_milo" dedispersion_milo A100 A4000 A6000 MI250X W6600 W7800
take "$unused/pnpoly" pnpoly RTX_2080_Ti
take "$older/convolution" convolution RTX_2080_Ti RTX_3060_laptop RTX_3090 RTX_Titan
take "$older/convolution_milo" convolution_milo_older a4000 mi50
take "$older/gemm" gemm RTX_2080_Ti RTX_3060_laptop RTX_3090 RTX_Titan
take "$older/pnpoly" pnpoly RTX_3060_laptop RTX_3090 RTX_Titan
