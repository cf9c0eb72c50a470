#!/usr/bin/env bash
# replay_evidence.sh - scores the search strategies on recorded spaces; needs no GPU.
#
#   tools/replay_evidence.sh FATUNE CACHEFILES [STEP...]
#
# FATUNE: the program. CACHEFILES: a folder with the files of docs/search.md, which names their source. STEPs: those of
# `steps` below, all of them when none is named, and `hub` and `kernel-tuner-hub`, which need all spaces that
# tools/hub_spaces.sh takes out of the benchmark hub. Writes results/replay/*.json and docs/search-curves.svg, and brings
# docs/search.md up to date. kernel-tuner needs `tools/bootstrap.sh test` and takes an hour, the rest some minutes.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
fatune=$(realpath "$1") files=$(realpath "$2")
shift 2
steps=("$@")
[[ ${#steps[@]} -gt 0 ]] || steps=(spaces other published batch one-lever journals sweeps kernel-tuner)
out=$root/results/replay
mkdir -p "$out"

spaces=(convolution_milo-A100.json.gz dedispersion_milo-A100.json.gz gemm-RTX_3090.json.gz pnpoly-RTX_2080_Ti.json.gz)
small=(ktt-coulomb3d-RTX2080.json)
in_flight=(1 4 8 16 32)
chief=genetic_algorithm,dual_annealing,hybrid_vndx,adaptive_tabu_greywolf,bayes_opt  # the best of Kernel Tuner on `spaces`, and its genetic_algorithm
other=(convolution_milo-A100_T4.json.gz gemm_milo-A6000-early.json.gz hyperparam-genetic_algorithm.json)

# score NAME ARGS...: keeps the JSON, which has the command. It is run where the files lie, so that the command names no
# folder of this machine.
score() {
  local name=$1
  shift
  "$fatune" replay "$@" ${plot:+--plot "$plot"} --json | sed "s#$root/##g" >"$out/$name.json.new"
  mv "$out/$name.json.new" "$out/$name.json"
}

# Into `rest`: the hub's spaces that `spaces` has not.
list_rest() { mapfile -t rest < <(printf '%s\n' *.json.gz | grep -vxF "$(printf '%s\n' "${spaces[@]}" "${other[@]}")"); }

run_step() {
  case $1 in
    spaces) cd "$files" && plot=$root/docs/search-curves.svg score spaces "${spaces[@]}" "${small[@]}" ;;
    other) cd "$files" && score other "${other[@]}" ;;
    published) cd "$files" && score published "${spaces[@]}" --published --repeats 25 ;;
    batch)
      cd "$files"
      for batch in 4 16 32; do score "batch-$batch" "${spaces[@]}" --strategy evo --batch $batch; done ;;
    one-lever) cd "$files" && score one-lever "${spaces[@]}" --strategy evo --one-lever ;;
    journals)
      cd "$root"
      local journals=(configs/recorded/*.jsonl.gz results/h200/space-*/journal.jsonl.gz)
      score journals "${journals[@]}" --strategy evo --budget 650
      for batch in "${in_flight[@]}"; do score "journals-60-$batch" "${journals[@]}" --strategy evo --budget 60 --batch "$batch"; done ;;
    sweeps)
      cd "$root"
      local spaces=(mission=configs/recorded/h200-mission.jsonl.gz) name
      for name in single wide small long stress; do spaces+=("$name=results/h200/space-$name/journal.jsonl.gz"); done
      tools/repeat_sweeps.py "$fatune" "${spaces[@]}" --budget 60 --out "$out/sweeps-60.json"
      tools/repeat_sweeps.py "$fatune" "${spaces[@]}" --budget 150 --repeats 50 --out "$out/sweeps-150.json"
      tools/repeat_sweeps.py "$fatune" "${spaces[@]}" --budget default --repeats 30 --out "$out/sweeps-default.json"
      tools/repeat_sweeps.py "$fatune" "${spaces[@]}" --budget default --repeats 60 --noise 0.012 --out "$out/sweeps-noise-60.json" ;;
    kernel-tuner)
      cd "$files"
      echo "tools/compare_kernel_tuner.py ${spaces[*]}" >"$out/kernel-tuner.command.txt"
      "$root/tools/compare_kernel_tuner.py" "${spaces[@]}" --out "$out/kernel-tuner.json" ;;
    hub) cd "$files" && list_rest && score hub "${rest[@]}" ;;
    kernel-tuner-hub)
      cd "$files" && list_rest
      local options=(--repeats 25 --seconds 40 --strategies "$chief")
      echo "tools/compare_kernel_tuner.py ${rest[*]} ${options[*]}" >"$out/kernel-tuner-hub.command.txt"
      "$root/tools/compare_kernel_tuner.py" "${rest[@]}" "${options[@]}" --out "$out/kernel-tuner-hub.json" ;;
    *) echo "replay_evidence.sh: there is no step '$1'" >&2; exit 2 ;;
  esac
}

for step in "${steps[@]}"; do (run_step "$step"); done
"$root/tools/update_search.py"
