#!/usr/bin/env bash
# release.sh - makes the files of a release from a fresh clone of a commit.
#
#   tools/release.sh [COMMIT] [FOLDER]     [HEAD, build/release-files]
#
# The folder gets an archive of the sources, an archive of the program that runs from any folder, a wheel, Debian packages, the
# section of CHANGELOG.md as notes.md, and SHA256SUMS. What differs from the commit in this checkout is left out.
# Exit code 1: the program asks for a newer glibc than 2.34, or CHANGELOG.md has no section of the version.
set -euo pipefail
[[ $# -le 2 ]] || { echo "usage: release.sh [COMMIT] [FOLDER]" >&2; exit 2; }
cd "$(dirname "${BASH_SOURCE[0]}")/.."
glibc=2.34
fail() { echo "release.sh: $*" >&2; exit 1; }

commit=$(git rev-parse --verify --quiet "${1:-HEAD}^{commit}") || fail "there is no commit ${1:-HEAD}"
mkdir -p "${2:-build/release-files}"
out=$(cd "${2:-build/release-files}" && pwd -P)
[[ -z $(ls -A "$out") ]] || fail "$out is not empty"
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
deps=$PWD/.deps
git clone --quiet --no-checkout . "$made/fatune"
cd "$made/fatune"
git checkout --quiet --detach "$commit"
# Downloads are pinned by hash: those that are there are good for every clone.
mkdir .deps
for part in cuda wheel; do [[ ! -d $deps/$part ]] || cp -a "$deps/$part" .deps; done

version=$(sed -nE 's/^project\(fatune VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
awk -v heading="## $version" 'index($0, "## ") == 1 { inside = index($0 " ", heading " ") == 1 } inside' CHANGELOG.md >"$out/notes.md"
[[ -s $out/notes.md ]] || fail "CHANGELOG.md has no section '## $version'"
git archive --prefix="fatune-$version/" --output="$out/fatune-$version.tar.gz" HEAD

tools/bootstrap.sh package
tools/wheel.sh "$made/wheel" >&2  # it builds the preset portable, which the archive is made of
cpack --preset archive >&2
tools/configure.sh release >&2
cmake --build --preset release >&2
cpack --preset deb >&2
mv "$made"/wheel/fatune-*.whl build/portable/fatune-"$version"-*.tar.gz build/release/fatune*_"$version"-*.deb "$out"

needs=$(objdump -T build/portable/fatune | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1)
[[ $(printf '%s\n' "GLIBC_$glibc" "$needs" | sort -V | tail -n 1) == "GLIBC_$glibc" ]] || fail "the program needs $needs, not $glibc"
[[ $(build/portable/fatune --version) == *"(${commit:0:12})"* ]] || fail "the program was not built from $commit"
(cd "$out" && sha256sum -- *.tar.gz *.whl *.deb notes.md >SHA256SUMS)
echo "fatune $version of ${commit:0:12} in $out:"
(cd "$out" && du -h --apparent-size -- *)
