#!/usr/bin/env bash
# bootstrap.sh - installs what building fatune needs; says nothing and does nothing when all is there.
#
#   tools/bootstrap.sh build      compiler, CMake, libraries; CUDA headers and NVRTC if there is no CUDA
#   tools/bootstrap.sh test       the same, and Catch2 3, clang-format 14, pkg-config, zsh, fish, mandoc, a Chromium,
#                                 Open MPI, Kernel Tuner, MCP's Python SDK, scikit-build-core, Python's jsonschema and fastjsonschema
#   tools/bootstrap.sh torch      PyTorch, some gigabytes, for the tests of the Python package
#   tools/bootstrap.sh fuzz       the same as test, and clang with libFuzzer
#   tools/bootstrap.sh portable   the same as build
#   tools/bootstrap.sh package    the same as build, and what makes a Debian package of it
#   tools/bootstrap.sh wheel      the same as build, and what makes a wheel of it
#
# System packages come from apt (Debian, Ubuntu), as root or through a sudo that asks nothing. Without
# either, the one line that installs them is printed and the exit code is 3. Packages that the
# distribution lacks go into the project's .deps/ folder and nowhere else. Packages that users get, or
# that make what users get, have the hashes of packaging/*.txt; packages of tests have a version. Every failure ends with 3 and a sentence; two runs at once take turns.
set -euo pipefail
trap 'code=$?; [[ $code == 0 || $code == 2 || $code == 130 || $code == 143 ]] || exit 3' EXIT

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
cd "$root"  # Python must not find the modules of somebody's present folder
deps=$root/.deps
log=$root/build/bootstrap.log
kernel_tuner=1.4.0
mcp=2.3.0
torch=2.11.0

say() { echo "fatune: $*" >&2; }
fail() { say "$*"; exit 3; }
has_command() { command -v "$1" >/dev/null 2>&1; }
has_package() { [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }

# Where nothing can be written there is no lock; that matters to what has to be installed alone.
take_turns() {
  { mkdir -p "$root/build" && : >>"$root/build/bootstrap.lock"; } 2>/dev/null || return 0
  exec {lock}>>"$root/build/bootstrap.lock"
  flock --nonblock "$lock" || { say "another bootstrap.sh is at work; waiting for it"; flock "$lock"; }
}

begin_log() {
  { mkdir -p "$root/build" && : >"$log"; } 2>/dev/null ||
    fail "nothing can be written below $root, and $1 is missing"
}

# ---- system packages ---------------------------------------------------------------------------

missing=()
want_command() { has_command "$1" || missing+=("$2"); }
want_package() { has_package "$1" || missing+=("$1"); }

# Without our lock, which a service that a package starts would keep.
as_root() (
  if [[ -n ${lock:-} ]]; then exec {lock}>&-; fi
  if [[ $(id -u) == 0 ]]; then env DEBIAN_FRONTEND=noninteractive "$@"
  else sudo -n env DEBIAN_FRONTEND=noninteractive "$@"; fi
)

install_missing() {
  [[ ${#missing[@]} -gt 0 ]] || return 0
  local line="apt-get install -y --no-install-recommends ${missing[*]}"
  local wait="-o DPkg::Lock::Timeout=600"  # a new machine upgrades itself for minutes
  if [[ $(id -u) != 0 ]] && ! sudo -n true 2>/dev/null; then
    fail "these packages are missing; install them and try again:
  sudo $line"
  fi
  say "installing ${missing[*]} (if apt is at work already: after it, for up to 10 minutes)"
  begin_log "${missing[*]}"
  # shellcheck disable=SC2086  # the lines are lists of words
  as_root $line $wait >"$log" 2>&1 && { missing=(); return 0; }
  # Package lists that are absent or out of date are the usual reason; renew them once.
  # shellcheck disable=SC2086
  { as_root apt-get update $wait && as_root $line $wait; } >"$log" 2>&1 && { missing=(); return 0; }
  tail -n 5 "$log" >&2
  fail "apt could not install them (build/bootstrap.log). By hand:
  sudo apt-get update && sudo $line"
}

want_build_packages() {
  want_command g++ g++
  want_command cmake cmake
  want_command ninja ninja-build
  want_command pkg-config pkgconf
  local package
  for package in libcli11-dev libeigen3-dev libfmt-dev libseccomp-dev \
                 libspdlog-dev libssl-dev nlohmann-json3-dev zlib1g-dev; do
    want_package "$package"
  done
  if ! find_cuda; then
    want_command python3 python3
    python3 -I -m pip --version >/dev/null 2>&1 || missing+=(python3-pip)
  fi
}

# The report's page is tested in it. Ubuntu has it as a snap only, which containers cannot run.
want_browser() {
  local name
  for name in chromium chromium-browser google-chrome chrome; do
    if has_command $name; then return 0; fi
  done
  if [[ $(sed -n 's/^ID=//p' /etc/os-release) == debian ]]; then missing+=(chromium)
  else say "no Chromium here: the test of the report's page will be skipped"; fi
}

check_cmake_version() {
  local version
  version=$(cmake --version | sed -n '1s/[^0-9]*//p')
  [[ $(printf '%s\n' 3.25 "$version" | sort -V | head -n 1) == 3.25 ]] ||
    fail "CMake $version is too old: fatune needs 3.25, which Debian 12 and Ubuntu 24.04 have"
}

# ---- packages into .deps/ ----------------------------------------------------------------------

# Runs apt-get with its own sources and state below .deps/apt; needs no root. $1: a sources.list line.
private_apt_update() {
  mkdir -p "$deps/apt/lists/partial" "$deps/apt/cache/archives/partial" "$deps/apt/new"
  # As root, apt parses what it downloads as this user where that user may enter the folder.
  [[ $(id -u) != 0 ]] || chown _apt "$deps/apt/new"
  echo "$1" >"$deps/apt/sources.list"
  private_apt apt-get update >"$deps/apt/log" 2>&1
}
private_apt() {
  local tool=$1; shift
  "$tool" -o "Dir::Etc::SourceList=$deps/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null \
    -o "Dir::State::Lists=$deps/apt/lists" -o "Dir::Cache=$deps/apt/cache" "$@"
}

# Prints "<mirror> <release>" as this machine's own apt sources have them.
distribution_mirror() {
  local codename; codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
  # shellcheck disable=SC2016  # apt replaces these words, not the shell
  apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    awk -v release="$codename" '$2 == release && $3 ~ /^(main|universe)$/ {print $1, $2; exit}'
}

# Catch2 3: in Ubuntu 24.04's archive; Debian 12 has 2.13 there and 3 in its backports.
ensure_catch2() {
  compgen -G "$deps/catch2/usr/lib/*/Catch2/Catch2Config.cmake" >/dev/null && return 0
  local mirror release candidate
  candidate=$(apt-cache policy catch2 2>/dev/null | sed -n 's/^ *Candidate: //p')
  if [[ $candidate == 3.* ]]; then
    want_package catch2
    install_missing
    return 0
  fi
  read -r mirror release <<<"$(distribution_mirror)" || true
  [[ -n $mirror ]] || { say "no apt mirror known: CMake will fetch Catch2"; return 0; }
  say "unpacking Catch2 3 of $release-backports into .deps/"
  if private_apt_update "deb $mirror $release-backports main" &&
     (cd "$deps/apt/new" && rm -f libcatch2-dev_*.deb &&
      private_apt apt-get download libcatch2-dev >>../log 2>&1 &&
      rm -rf "$deps/catch2" && mkdir "$deps/catch2" &&
      dpkg-deb -x libcatch2-dev_*.deb "$deps/catch2"); then
    return 0
  fi
  say "that failed (.deps/apt/log): CMake will fetch Catch2"
}

# Installs a Python package in an environment of its own, for the tests and tools that use it.
# Arguments: the folder in .deps/, the package and its version, then what pip is told [PACKAGE==VERSION].
ensure_python_package() {
  local folder=$deps/$1 package=$2 version=$3
  shift 3
  [[ $# -gt 0 ]] || set -- "$package==$version"
  local marker=$folder/$package-$version
  [[ -f $marker ]] && return 0
  say "installing $package $version into .deps/"
  begin_log "$package"
  rm -rf "$folder"
  { python3 -I -m venv "$folder" &&
    "$folder/bin/python" -I -m pip install --quiet --disable-pip-version-check "$@" &&
    touch "$marker"; } >"$log" 2>&1 ||
    say "that failed (build/bootstrap.log): its test will be skipped"
}

# ---- CUDA --------------------------------------------------------------------------------------

# True when cuda.h and nvrtc.h are where cmake/CudaHeaders.cmake looks for them.
find_cuda() {
  local folder
  for folder in "${CUDA_HOME:+$CUDA_HOME/include}" /usr/local/cuda/include \
                /usr/local/cuda-*/include /opt/cuda/include "$deps"/cuda/nvidia/cu13/include; do
    [[ -f $folder/cuda.h && -f $folder/nvrtc.h ]] && return 0
  done
  [[ -f $deps/cuda/nvidia/cuda_runtime/include/cuda.h &&
     -f $deps/cuda/nvidia/cuda_nvrtc/include/nvrtc.h ]] && return 0
  has_command python3 && python3 -I - <<'PYTHON'
import pathlib, site, sys
folders = [pathlib.Path(p) / "nvidia" for p in site.getsitepackages() + [site.getusersitepackages()]]
def there(header):
    return any((f / wheel / "include" / header).is_file()
               for f in folders for wheel in ("cu13", "cuda_runtime", "cuda_nvrtc"))
sys.exit(0 if there("cuda.h") and there("nvrtc.h") else 1)
PYTHON
}

# Wheels of the CUDA release that the installed driver can load: 13 from driver 580 on, else 12.
install_cuda_wheels() {
  local driver=""
  if [[ -r /sys/module/nvidia/version ]]; then driver=$(</sys/module/nvidia/version); fi
  local wheels=packaging/cuda-13.txt
  if [[ $driver =~ ^[0-9]+ ]] && ((${driver%%.*} < 580)); then wheels=packaging/cuda-12.txt; fi
  say "no CUDA toolkit here: putting NVRTC and the CUDA headers into .deps/cuda"
  begin_log "a CUDA toolkit"
  local install=(python3 -I -m pip install --no-deps --require-hashes --target)
  "${install[@]}" "$deps/cuda" --upgrade --quiet --disable-pip-version-check --no-warn-script-location \
    --only-binary :all: --requirement "$root/$wheels" >"$log" 2>&1 || {
    tail -n 5 "$log" >&2
    fail "pip could not install them (build/bootstrap.log). By hand:
  cd $(printf %q "$root") && ${install[*]} .deps/cuda --requirement $wheels"
  }
}

# ---- steps -------------------------------------------------------------------------------------

step=${1:-build}
case $step in
  build | test | torch | fuzz | portable | package | wheel) ;;
  *) say "usage: bootstrap.sh build|test|torch|fuzz|portable|package|wheel"; exit 2 ;;
esac
take_turns
if [[ $step == torch ]]; then
  if has_command apt-get; then
    want_command python3 python3
    python3 -I -c 'import ensurepip' 2>/dev/null || want_package python3-venv
    install_missing
  fi
  ensure_python_package torch torch $torch
  exit 0
fi
tests=false
if [[ $step == test || $step == fuzz ]]; then tests=true; fi

if has_command apt-get; then
  want_build_packages
  if $tests; then
    want_command clang-format-14 clang-format-14
    want_command pkg-config pkg-config
    want_command zsh zsh
    want_command fish fish
    want_command mandoc mandoc
    want_package libcpp-httplib-dev
    want_package libopenmpi-dev
    want_command mpirun openmpi-bin
    if ! python3 -I -c 'import fastjsonschema, jsonschema' 2>/dev/null; then
      want_package python3-jsonschema
      want_package python3-fastjsonschema
    fi
    python3 -I -c 'import yaml' 2>/dev/null || want_package python3-yaml
    want_browser
  fi
  if $tests || [[ $step == wheel ]]; then
    want_command python3 python3
    python3 -I -c 'import ensurepip' 2>/dev/null || want_package python3-venv
  fi
  if [[ $step == package ]]; then
    want_command dpkg-shlibdeps dpkg-dev
    want_command file file
  fi
  if [[ $step == fuzz ]]; then want_command clang++ clang; fi
  install_missing
  if [[ $step == fuzz ]]; then
    clang=$(clang++ -dumpversion)
    want_package "libclang-rt-${clang%%.*}-dev"
    install_missing
  fi
else
  for tool in g++ cmake ninja; do
    has_command $tool || fail "$tool is missing; CONTRIBUTING.md lists the packages fatune needs"
  done
fi
check_cmake_version
find_cuda || install_cuda_wheels
if has_command apt-get; then
  if $tests; then ensure_catch2; fi
fi
if $tests; then
  ensure_python_package kernel-tuner kernel_tuner $kernel_tuner
  ensure_python_package mcp mcp $mcp
fi
if $tests || [[ $step == wheel ]]; then
  sum=$(sha256sum packaging/wheel-tools.txt)
  ensure_python_package wheel wheel-tools "${sum:0:12}" --require-hashes --only-binary :all: \
    --requirement packaging/wheel-tools.txt
fi
