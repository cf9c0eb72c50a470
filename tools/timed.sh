# timed.sh - what scripts that measure do with a command; sourced by them.

timed() {  # timed NAME COMMAND...: runs it, keeps what it prints, and notes the seconds
  local name=$1 start=$(date +%s%N)
  shift
  "$@" >"$name.txt" 2>"$name.err"
  local code=$?
  printf '%-24s exit %d  %6.1f s\n' "$name" "$code" "$(( ($(date +%s%N) - start) / 1000000 ))e-3" | tee -a times.txt
}
