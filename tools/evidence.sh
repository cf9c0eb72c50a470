#!/usr/bin/env bash
# evidence.sh - measures on this machine's GPU what results/ and configs/recorded/ hold.
#
#   tools/evidence.sh FATUNE OUT [PEERS]
#
# FATUNE: the program. OUT: an empty folder. PEERS: a command that measures other implementations, before and after, and
# writes OUT/sdpa.json. Every sweep starts from an empty compilation cache unless its name says otherwise.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
fatune=$1 out=$2 peers=${3:-}
cache=$(mktemp -d)
trap 'rm -rf "$cache"' EXIT

timed() {  # timed NAME COMMAND...: runs it, keeps what it prints, and notes the seconds
  local name=$1 start=$(date +%s%N)
  shift
  "$@" >"$out/$name.txt" 2>"$out/$name.err"
  local code=$?
  printf '%-24s exit %d  %6.1f s\n' "$name" "$code" "$(( ($(date +%s%N) - start) / 1000000 ))e-3" | tee -a "$out/times.txt"
}
sweep() { local name=$1; shift; timed "$name" "$fatune" sweep "$@" --out "$out/$name" --cache "$cache/$name"; }

date -u +%F >"$out/date.txt"
timed doctor "$fatune" doctor
[[ -n $peers ]] && timed peers-before bash -c "$peers" && mv "$out"/sdpa.json "$out/peers-before.json"
sweep mission --shape 4,8,512,64
sweep long --shape 1,8,4096,64
timed mission-full-cache "$fatune" sweep --shape 4,8,512,64 --out "$out/mission-full-cache" --cache "$cache/mission"
timed faults python3 "$root/tests/gpu/faults_test.py" --fatune "$fatune" --out "$out/faults.json"
sweep exhaustive --shape 4,8,512,64 --kernel fa_rows,fa_tiled,fa_wmma,fa_mma,fa_wgmma --strategy exhaustive --record-cold
[[ -n $peers ]] && timed peers-after bash -c "$peers" && mv "$out"/sdpa.json "$out/peers-after.json"
gzip -9f "$out"/*/journal.jsonl
