#!/usr/bin/env bash
# evidence.sh - measures on this machine's GPU what results/ and configs/recorded/ hold.
#
#   tools/evidence.sh FATUNE OUT [--external-dir DIR] [STEP...]
#
# FATUNE: the program. OUT: a folder; a step that was interrupted goes on from there. DIR: where the programs of
# configs/external lie. STEPs: those of `steps` below, all of them when none is named. Every sweep starts from an empty
# compilation cache unless its name says otherwise, and none from configs that were best before. BUDGET=N in the environment: evaluations a problem of suites,
# instead of each one's own number; SEEDS='N...': those of repeats-60. PROBLEMS='NAME...': those of fp8-rivals. DEVICE=cuda:N,...: the GPUs, instead of the first. SHARD=I/N: of a suite, for `fatune merge`. OBJECTIVE=hot: of suite-fa3-bshd, whose winners then are the fastest of plain launches. RIVALS=A,B,...: baselines in a layer, instead of the fast ones. WINNERS=BEST.json: of a suite, for mission-rivals. LIMIT_S: seconds of scores (3600). tools/collect_results.py copies OUT to results/.
set -uo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/tools/timed.sh"
fatune=$(realpath "$1") out=$2
shift 2
externals=()
if [[ ${1:-} == --external-dir ]]; then
  mkdir -p "$out" && ln -sfn "$(realpath "$2")" "$out/external"
  externals=(--external-dir external)
  shift 2
fi
steps=("$@")
[[ ${#steps[@]} -gt 0 ]] || steps=(doctor mission long full-cache exhaustive selftest gate profile sanitize suite-mission suite-mission-contiguous sanitize-suite suite-fa3-bshd suite-fa3 suite-decode suite-models suite-fp8 fp8-rivals mission-rivals exhaustive-wide exhaustive-small exhaustive-single exhaustive-long exhaustive-stress suite-mission-60 optimum repeats-60 seeds scores)
mkdir -p "$out" && cd "$out" || exit 1  # recorded commands then name no folder of this machine
cache=$(mktemp -d)
trap 'rm -rf "$cache"' EXIT

json() { local name=$1; shift; timed "$name" "$fatune" "$@" ${DEVICE:+--device "$DEVICE"} --json; mv "$name.txt" "$name.json"; }
sweep() {
  local name=$1
  shift
  if [[ -e $name/journal.jsonl ]]; then
    timed "$name" "$fatune" sweep --resume "$name" --cache "$cache/$name" "${externals[@]}"
  else
    timed "$name" "$fatune" sweep "$@" ${DEVICE:+--device "$DEVICE"} ${SHARD:+--shard "$SHARD"} --no-warm-start --out "$name" --cache "$cache/${CACHE:-$name}" "${externals[@]}"
  fi
}

whole_space() { sweep "exhaustive-$1" --shape "$2" --kernel fa_mma,fa_wgmma,fa_wgmma_interleaved --strategy exhaustive --baselines none; }

winners_of() {  # winners_of BEST FOLDER [LAYOUT]: FOLDER/PROBLEM.json or best.json, config files without what was measured
  mkdir -p "$2"
  python3 - "$1" "$2" "${3:-}" <<'PY'
import json, sys
document = json.load(open(sys.argv[1]))
for problem in document.get("problems", [document]):
    best = {"kernel": problem["best"]["kernel"], "config": problem["best"]["config"], "problem": problem["problem"]}
    if sys.argv[3]:
        best["problem"]["layout"] = sys.argv[3]
    json.dump(best, open(f"{sys.argv[2]}/{problem.get('name', 'best')}.json", "w"))
PY
}

altered() {  # altered FILE TO PATH=VALUE...: a config file with other members, as of config.HADAMARD=64
  python3 - "$@" <<'PY'
import json, sys
best = json.load(open(sys.argv[1]))
for change in sys.argv[3:]:
    path, value = change.split("=")
    group, member = path.split(".")
    best[group][member] = int(value) if value.isdigit() else value
json.dump(best, open(sys.argv[2], "w"))
PY
}

fp8_rivals() {  # winners of the fp8 suites against other people's fp8, tokens one behind the other as FlashAttention-3 takes them
  local run name w=winners/fp8
  for run in h200/suite-fp8-rest h100/suite-fp8 h100/suite-fp8-long; do winners_of "$root/results/$run/best.json" $w bshd; done  # the last of a name
  for name in 16k 16k-causal; do altered $w/$name.json $w/32${name#16}.json problem.seq_q=32768 problem.seq_kv=32768; done
  altered $w/flux.1-dev-fused.json $w/video-30k-fused.json problem.seq_q=30720 problem.seq_kv=30720
  winners_of "$root/results/h200/suite-models.json" winners/models
  altered winners/models/flux.1-dev.json winners/own-flux.json problem.dtype=e4m3 problem.out_dtype=bf16 problem.quant=fused
  altered winners/own-flux.json winners/own-video.json problem.seq_q=30720 problem.seq_kv=30720
  for name in 64 128; do altered $w/flux.1-dev-fused.json $w/flux.1-dev-fused-hadamard-$name.json config.HADAMARD=$name config.QUANT_KEEP=nothing; done
  for name in ${PROBLEMS:-$(cd $w && ls | sed 's/\.json$//')}; do
    case $name in
      flux*fused*) json "fp8-$name" gate --candidate $w/"$name".json --baseline winners/own-flux.json,sage,$in_layer ;;
      video*) json "fp8-$name" gate --candidate $w/"$name".json --baseline winners/own-video.json,torch:cudnn ;;
      *smooth_k) json "fp8-$name" bench --config $w/"$name".json --impl sage,$in_layer ;;
      *) json "fp8-$name" bench --config $w/"$name".json --impl fa3,cudnn ;;
    esac
  done
}

sanitize_winners() {
  local name
  winners_of "$1/best.json" "winners/$1"
  for name in winners/"$1"/*.json; do
    json "sanitize-$(basename "$name" .json)" verify --config "$name" --sanitize
  done
}

from_nothing() { sweep "$1" --suite mission --budget 60 --baselines cudnn,torch:flash "${@:2}"; }

against_whole_spaces() {  # against_whole_spaces RUN [SUFFIX]: a suite's winners and the best of whole spaces, in the same rounds
  local name run best
  winners_of "$1/best.json" "winners/$1"
  for name in mission single wide small long stress; do
    run=exhaustive-$name best=space-$name
    [[ $name == mission ]] && run=exhaustive best=kernels
    best=$root/results/h200/$best/best.json
    [[ -e $run/best.json ]] && best=$run/best.json
    winners_of "$best" "optima/$name"
    json "optimum-$name${2:-}" gate --candidate "winners/$1/$name.json" --baseline "optima/$name/best.json" --threshold 1.02
  done
}

torch=torch:flash,torch:cudnn,torch:efficient,torch:math
rivals=naive,cublas,hybrid_qkt,hybrid_pv,cudnn,cudnn:best,$torch
in_layer=${RIVALS:-cudnn,torch:flash,torch:cudnn,fa4}  # the fast ones
kernels=fa_rows,fa_tiled,fa_wmma,fa_mma,fa_wgmma,fa_wgmma_interleaved

run_step() {
  local seed
  case $1 in
    doctor) timed doctor "$fatune" doctor "${externals[@]}" ;;
    mission) sweep mission --shape 4,8,512,64 ;;
    long) sweep long --shape 1,8,4096,64 ;;
    full-cache) CACHE=mission sweep mission-full-cache --shape 4,8,512,64 ;;
    exhaustive) sweep exhaustive --shape 4,8,512,64 --kernel $kernels --strategy exhaustive --record-cold --baselines $rivals,external:fa3 ;;
    selftest) json selftest verify --selftest ;;
    gate)
      for turn in 1 2; do
        json gate-$turn gate --candidate mission/best.json --baseline torch:flash,torch:math,torch:cudnn,cudnn
        json bench-$turn bench --config mission/best.json --impl cudnn,torch:cudnn,torch:flash
        json gate-tie-$turn gate --candidate fa_mma --baseline fatune:fa_mma --shape 4,8,512,64
      done ;;
    profile)
      for name in mission long; do json profile-$name profile --config "$name/best.json"; done
      json profile-hybrid profile --kernel hybrid_qkt --shape 4,8,512,64 ;;
    sanitize) json sanitize verify --config mission/best.json --sanitize ;;
    sanitize-suite) sanitize_winners suite-mission ;;
    suite-mission) sweep suite-mission --suite mission --layout packed ${BUDGET:+--budget $BUDGET} --baselines $in_layer ;;
    suite-mission-contiguous) timed "$1" "$fatune" sweep --suite mission --budget 0 --baselines $in_layer --out "$1" --cache "$cache/$1" ;;
    suite-fa3-bshd) sweep suite-fa3-bshd --suite fa3 --layout bshd --budget ${BUDGET:-40} ${OBJECTIVE:+--objective $OBJECTIVE} --baselines $in_layer ;;
    suite-fa3) sweep suite-fa3 --suite fa3 --budget ${BUDGET:-40} --baselines cublas,cudnn,torch:flash,torch:cudnn,external:fa3 ;;
    suite-decode) sweep suite-decode --suite decode --budget ${BUDGET:-80} --baselines cudnn,torch:flash ;;
    suite-fp8) sweep suite-fp8 --suite fp8 --budget ${BUDGET:-40} --baselines cudnn,torch:cudnn ;;
    fp8-rivals) fp8_rivals ;;
    mission-rivals) ln -sf "${WINNERS:-$root/results/h200/suite-mission/best.json}" winners.json
      timed "$1" "$fatune" bench --config winners.json --impl $in_layer,fa3 --out "$1.bench.json" --suite-out "$1.json" ;;
    suite-models) sweep suite-models --suite models ${BUDGET:+--budget $BUDGET} --baselines $in_layer ;;
    exhaustive-wide) whole_space wide 4,8,512,128 ;;
    exhaustive-small) whole_space small 2,8,128,64 ;;
    exhaustive-single) whole_space single 1,8,512,64 ;;
    exhaustive-long) whole_space long 1,8,4096,64 ;;
    exhaustive-stress) whole_space stress 2,16,8192,128 ;;
    suite-mission-60) from_nothing suite-mission-60 ;;
    optimum) against_whole_spaces suite-mission-60 ;;
    repeats-60)  # chance has a say in one run
      for seed in ${SEEDS:-43 44 45 46}; do
        from_nothing "suite-mission-60-$seed" --seed "$seed"
        against_whole_spaces "suite-mission-60-$seed" "-$seed"
      done ;;
    seeds)  # the main command as it is given first: seconds to its last line, and winners beside the whole space's best
      local files=()
      for seed in {42..51}; do
        sweep "seed-$seed" --shape 4,8,512,64 --seed "$seed"
        winners_of "seed-$seed/best.json" "winners/seed-$seed"
        files+=("winners/seed-$seed/best.json")
      done
      winners_of "$root/results/h200/kernels/best.json" winners/whole-space
      json seeds gate --candidate winners/whole-space/best.json --baseline "$(IFS=,; echo "${files[*]}")" ;;
    scores)
      timed scores python3 "$root/tools/score_sweeps.py" "$fatune" scores --out scores.json --limit-s "${LIMIT_S:-3600}" \
        --suite mission --layout packed --budget ${BUDGET:-60} --baselines none ;;
    *) echo "evidence.sh: there is no step '$1'" >&2; exit 2 ;;
  esac
}

date -u +%F >date.txt
for step in "${steps[@]}"; do run_step "$step"; done
gzip -9kf ./*/journal.jsonl
