#!/usr/bin/env bash
# try_package.sh - installs a fatune package on a Debian that has nothing else, and uses it there.
#
#   tools/try_package.sh fatune_0.1.0-1_amd64.deb [BASE]
#
# The clean root is made by debootstrap (or copied from the folder BASE, which is one already) below
# $TMPDIR, and removed at the end. There the package is installed by apt, and its manual pages and
# completions are read. NVRTC is installed by the line that doctor prints, and docs/guide.md is
# followed word by word. stdout is a transcript of all steps.
# Needs root and debootstrap. Exit code 1: something in there did not work.
set -euo pipefail

project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
release=bookworm

[[ $# == 1 || $# == 2 ]] || { echo "usage: try_package.sh PACKAGE.deb [BASE]" >&2; exit 2; }
package=$(readlink -f "$1")
base=$(readlink -f "${2:-/}")
cd "$project"
[[ -f $package ]] || { echo "try_package: there is no $1" >&2; exit 4; }
[[ $(id -u) == 0 ]] || { echo "try_package: changing the root needs root" >&2; exit 3; }

root=$(mktemp -d)
chmod 755 "$root"  # it becomes the root folder of a user who is not root
clean_up() {
  umount "$root/proc" 2>/dev/null || true
  rm -rf --one-file-system "$root"
}
trap clean_up EXIT

if [[ $# == 2 ]]; then
  cp -a "$base/." "$root"
else
  # shellcheck disable=SC2016  # apt replaces this word, not the shell
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m 1 '/debian/*$')
  debootstrap --variant=minbase "$release" "$root" "$mirror" >&2
fi
mount -t proc proc "$root/proc"

# A user of their own, as most people are.
chroot "$root" useradd --create-home --home-dir /reader --shell /bin/bash reader
cp "$package" "$root/tmp/fatune.deb"
chmod 644 "$root/tmp/fatune.deb"

inside() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive chroot "$root" "$@"; }
as_reader() { inside setpriv --reuid reader --regid reader --clear-groups env HOME=/reader PIP_PROGRESS_BAR=off "$@"; }

# Prints a command as it is typed, runs it as the reader, and shows what it says.
show() {
  echo "\$ $1"
  as_reader bash -c "cd && $1" 2>&1
  echo
}

echo "# Debian $(cat "$root/etc/debian_version"), made by debootstrap; $(inside dpkg-query -W -f '.' | wc -c) packages"
echo
echo "\$ sudo apt-get install ./fatune.deb man-db python3-pip"
{ inside apt-get update && inside apt-get install -y --no-install-recommends /tmp/fatune.deb man-db python3-pip; } >"$root/tmp/apt.log" 2>&1 ||
  { tail -n 20 "$root/tmp/apt.log"; exit 1; }
grep -E '^Setting up fatune' "$root/tmp/apt.log"
echo

show "dpkg-query -W -f '\${Package} \${Version}, \${Installed-Size} KiB\nDepends: \${Depends}\n' fatune"
show "fatune --version"
show "man fatune-sweep | head -n 20"
show "man -k fatune"
# shellcheck disable=SC2016  # the shell in there expands it
show 'source /usr/share/bash-completion/completions/fatune
COMP_LINE="fatune sweep --kernel fa_w" COMP_POINT=26; _fatune; echo "${COMPREPLY[@]}"'

echo "# Without a CUDA toolkit: the line that doctor prints"
echo
# Behind a proxy, pip needs the certificates that it has outside.
[[ -z ${PIP_CERT:-} ]] || install -D -m 644 "$PIP_CERT" "$root/etc/ssl/certs/ca-certificates.crt"
compiles="fatune inspect --kernel fa_rows --shape 4,8,512,64 --arch sm_90a --inert || echo \"exit code \$?\""
show "$compiles"
line=$(as_reader fatune doctor | grep -m 1 -o 'python3 -I -m pip install .*nvidia-cuda-nvrtc.*' || true)
show "$line"
show "fatune doctor || echo \"exit code \$?\""
show "$compiles"

echo "# docs/guide.md, word by word"
echo
folder=$root/reader/guide
inside install -d -o reader -g reader /reader/guide
tests/cli/run_guide.py docs/guide.md --folder "$folder" --transcript -- \
  chroot "$root" setpriv --reuid reader --regid reader --clear-groups \
  env -i PATH=/usr/bin:/bin HOME=/reader LC_ALL=C.UTF-8 COLUMNS=120 bash -ec 'cd ~/guide; exec bash -e -s'

inside apt-get remove -y fatune >"$root/tmp/apt.log" 2>&1
[[ -z $(inside find /usr/share/fatune /usr/bin/fatune 2>/dev/null) ]] || { echo "files remain after removal"; exit 1; }
echo "removed: nothing of it remains in /usr"
