#!/usr/bin/env bash
# scale_evidence.sh - what the GPUs of this host and ranks that compile are worth.
#
#   tools/scale_evidence.sh FATUNE OUT [STEP...]
#
# FATUNE: the program. OUT: a folder, into which each step writes a run and what it printed. STEPs: those of `steps` below,
# all of them when none is named; those of ranks need mpirun. Every run has a GPU's share of the host's cores (all of them
# for all GPUs) and an empty compilation cache, and starts from no config that was best before. Beside those,
# on a host of four GPUs: suite-two and problem-two, on two of them; `ones`, these two, suite-one and problem-one at the same
# time on GPUs and cores of their own; suite-halves, suite-one as two shards; models-one, likewise, and models-all, a suite of
# 28 problems; and stress-one and stress-all, a problem that keeps its GPU busy.
# RIVALS in the environment: the baselines of confirm.
# tools/scale_table.py OUT prints the table.
set -uo pipefail
. "$(dirname "$0")/timed.sh"
fatune=$(realpath "$1") out=$2
shift 2
steps=("$@")
[[ ${#steps[@]} -gt 0 ]] || steps=(doctor suite-one suite-all problem-one problem-one-all-cores problem-all confirm compile-one compile-jobs compile-ranks)
mkdir -p "$out" && cd "$out" || exit 1  # recorded commands then name no folder of this machine
cache=$(mktemp -d)
trap 'rm -rf "$cache"' EXIT
cores=$(nproc) gpus=$(nvidia-smi --list-gpus | wc -l)
share=$((cores / gpus))
recovery="--mca orte_enable_recovery 1 --mca orte_abort_on_non_zero_status 0"

sweep() {  # sweep NAME CORES WORDS..., CORES as FIRST-LAST; an interrupted one is timed anew, but for `confirm`, which goes on
  [[ $1 == confirm ]] || rm -rf "$1"
  timed "$1" taskset -c "$2" "$fatune" sweep "${@:3}" --no-warm-start --seed 42 --out "$1" --cache "$cache/$1"
}
ranks() {  # ranks NAME COUNT WORDS...
  rm -rf "$1"
  timed "$1" taskset -c "0-$((share - 1))" mpirun -n "$2" --oversubscribe --bind-to none $recovery \
    "$fatune" sweep "${@:3}" --no-warm-start --seed 42 --out "$1" --cache "$cache/$1"
}

suite=(--suite mission --layout packed)
problem=(--shape 4,8,512,64 --layout packed --baselines none)
models=(--suite models --budget 40 --baselines none)  # as many candidates however the search goes
stress=(--shape 2,16,8192,128 --layout packed --baselines none)  # its GPU takes longer than its compilers
rivals=${RIVALS:-cudnn,torch:flash,torch:cudnn,fa4}
all=0-$((cores - 1)) first=0-$((share - 1)) last_two=$((cores - 2 * share))-$((cores - 1))
one=cuda:0 two=cuda:$((gpus - 2)),$((gpus - 1))

ones() {  # no two of them share a GPU or a core
  (first=$share-$((2 * share - 1)) one=cuda:1; run_step problem-one) &
  (run_step suite-two; run_step problem-two) &
  run_step suite-one
  wait
}

halves() {  # halves NAME WORDS...: each on a GPU and cores of its own; what one GPU takes is their sum, longer than a call may be
  (sweep "$1-1" "$first" "${@:2}" --shard 1/2 --device cuda:0 --jobs "$share") &
  sweep "$1-2" "$share-$((2 * share - 1))" "${@:2}" --shard 2/2 --device cuda:1 --jobs "$share"
  wait
}

run_step() {
  case $1 in
    doctor) timed doctor "$fatune" doctor ;;
    suite-one) sweep "$1" "$first" "${suite[@]}" --shard 1/1 --baselines none --device "$one" --jobs "$share" ;;
    ones) ones ;;
    suite-halves) halves "$1" "${suite[@]}" --baselines none ;;
    suite-two) sweep "$1" "$last_two" "${suite[@]}" --baselines none --device "$two" --jobs $((2 * share)) ;;
    problem-two) sweep "$1" "$last_two" "${problem[@]}" --budget 600 --device "$two" --jobs $((2 * share)) ;;
    suite-all) sweep "$1" "$all" "${suite[@]}" --baselines none --device cuda:all --jobs "$cores" ;;
    problem-one) sweep "$1" "$first" "${problem[@]}" --budget 600 --device "$one" --jobs "$share" ;;
    problem-one-all-cores) sweep "$1" "$all" "${problem[@]}" --budget 600 --device cuda:0 --jobs "$cores" ;;
    problem-all) sweep "$1" "$all" "${problem[@]}" --budget 600 --device cuda:all --jobs "$cores" ;;
    stress-one) sweep "$1" "$first" "${stress[@]}" --budget 600 --device "$one" --jobs "$share" ;;
    stress-all) sweep "$1" "$all" "${stress[@]}" --budget 600 --device cuda:all --jobs "$cores" ;;
    models-one) halves "$1" "${models[@]}" ;;
    models-all) sweep "$1" "$all" "${models[@]}" --device cuda:all --jobs "$cores" ;;
    confirm) sweep "$1" "$all" "${suite[@]}" --baselines "$rivals" --device cuda:all --confirm-on "$gpus" ;;
    compile-one) sweep "$1" "$first" "${problem[@]}" --device cuda:0 --jobs 1 ;;
    compile-jobs) sweep "$1" "$first" "${problem[@]}" --device cuda:0 --jobs "$share" ;;
    compile-ranks) ranks "$1" $((share + 1)) "${problem[@]}" --device cuda:0 --jobs 1 ;;
    *) echo "scale_evidence.sh: there is no step '$1'" >&2; exit 2 ;;
  esac
}

date -u +%F >date.txt
for step in "${steps[@]}"; do run_step "$step"; done
gzip -9kf ./*/journal.jsonl
