#!/usr/bin/env python3
"""setup_test.py: Runs ./fatune and tools/bootstrap.sh on machines that lack something.

Each machine is made of this one in its own namespaces. Packages that are installed there go into layers over /usr, /var and /etc
that end with the namespace; this machine's packages, locks and network stay as they are. Without the right to mount, or outside of Debian and Ubuntu, the tests are skipped.
"""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile

import launcher_test

PACKAGE = "libseccomp-dev"  # of those that the build needs, one that nothing else here does
# In the namespace: layers over the folders that packages live in, then the test's own steps.
LAYERS = """
mount -t tmpfs none "$SCRATCH/layers"
for folder in usr var etc; do
  mkdir -p "$SCRATCH/layers/$folder/new" "$SCRATCH/layers/$folder/work"
  mount -t overlay none "/$folder" \
    -o "lowerdir=/$folder,upperdir=$SCRATCH/layers/$folder/new,workdir=$SCRATCH/layers/$folder/work"
  [ "$(stat -f -c %T "/$folder")" = overlayfs ]
done
"""
WITHOUT_PACKAGE = f"""
dpkg --remove --force-depends {PACKAGE} >/dev/null 2>&1
rm -rf /var/cache/apt/archives/*.deb
echo 'Acquire::Retries "0";' >/etc/apt/apt.conf.d/98-test
"""
# An archive that holds the package, of nothing but its name.
WITH_ARCHIVE = f"""
mkdir -p "$SCRATCH/archive/new/DEBIAN"
cd "$SCRATCH/archive"
printf 'Package: {PACKAGE}\\nVersion: 9\\nArchitecture: all\\nMaintainer: a <a@b>\\nDescription: none\\n' >new/DEBIAN/control
dpkg-deb --build new new.deb >/dev/null
cat new/DEBIAN/control - >Packages <<END
Filename: ./new.deb
Size: $(stat -c %s new.deb)
SHA256: $(sha256sum new.deb | cut -d ' ' -f 1)
END
rm -rf /etc/apt/sources.list.d /var/lib/apt/lists/*
echo "deb [trusted=yes] file:$SCRATCH/archive ./" >/etc/apt/sources.list
echo 'APT::Sandbox::User "root";' >/etc/apt/apt.conf.d/99-test
"""
# Holds dpkg's lock, as an upgrade in the background does, for three seconds.
WITH_LOCK_HELD = """
python3 - <<'PYTHON' &
import fcntl, time
lock = open("/var/lib/dpkg/lock-frontend", "w")
fcntl.lockf(lock, fcntl.LOCK_EX)
open("/var/held", "w")
time.sleep(3)
PYTHON
while [ ! -e /var/held ]; do sleep 0.05; done
"""
# No toolkit, and no wheels in the Python of this machine.
WITHOUT_CUDA = """
rm -rf /usr/local/cuda /usr/local/cuda-*
export CUDA_HOME= PYTHONPATH=
python3 -c 'import site, sys; from pathlib import Path
sys.exit(any((Path(p) / "nvidia").is_dir() for p in site.getsitepackages() + [site.getusersitepackages()]))' || exit 77
python3 -m pip --version >/dev/null || exit 77
"""


def can_mount():
    probe = "d=$(mktemp -d) && mount -t tmpfs none $d && mkdir $d/u $d/w && mount -t overlay none /usr -o lowerdir=/usr,upperdir=$d/u,workdir=$d/w"
    done = subprocess.run(["unshare", "--mount", "--net", "sh", "-c", f"{probe} 2>/dev/null"], check=False)
    return done.returncode == 0


def why_not():
    for tool in ("unshare", "dpkg", "apt-get", "setpriv"):
        if shutil.which(tool) is None:
            return f"no {tool} here"
    return "" if os.geteuid() == 0 and can_mount() else "no right to mount in a namespace here"


class Machine(launcher_test.Skeleton):
    """The skeleton of a checkout with the real bootstrap.sh, on a machine that a script makes."""

    def setUp(self):
        super().setUp()
        (self.root / "packaging").mkdir()
        for name in ("tools/bootstrap.sh", "packaging/cuda-12.txt", "packaging/cuda-13.txt", "packaging/wheel-tools.txt", "test.sh"):
            shutil.copy(launcher_test.PROJECT / name, self.root / name)
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        (self.scratch / "layers").mkdir()

    def on_machine(self, *steps, program="./fatune", user="root"):
        """Without a network but for its own loop. The exit code, stdout, stderr."""
        words = ["setpriv", "--reuid", user, "--regid", "nogroup", "--clear-groups"] if user != "root" else []
        script = "set -e\n" + "".join(steps) + f"cd {shlex.quote(str(self.root))}\nexec {' '.join(words)} {program}\n"
        env = {**os.environ, "SCRATCH": str(self.scratch), "PIP_RETRIES": "0", "LC_ALL": "C.UTF-8"}
        env["PATH"] = f"{self.root}/bin:{env['PATH']}"
        done = subprocess.run(["unshare", "--mount", "--net", "bash", "-c", script], env=env, text=True, capture_output=True,
                              stdin=subprocess.DEVNULL, check=False, timeout=240)
        if done.returncode == 77:
            self.skipTest("this machine cannot be made to lack that")
        return done.returncode, done.stdout, done.stderr

    def assert_refused(self, done, *words):
        code, out, said = done
        self.assertEqual((code, out), (3, ""), said)
        for each in words:
            self.assertIn(each, said)
        self.assertNotRegex(said, r"(?m)^\S+: line \d+:")  # the shell's

    def hand_over(self, user):
        pathlib.Path(self.folder.name).chmod(0o755)
        for path in (self.root, *self.root.rglob("*")):
            shutil.chown(path, user)

    def read_only(self):
        root = shlex.quote(str(self.root))
        return f"mount --bind {root} {root}\nmount -o remount,bind,ro {root}\n"

    def test_apt_at_work_is_waited_for(self):
        start = time.monotonic()
        code, _, said = self.on_machine(LAYERS, WITHOUT_PACKAGE, WITH_ARCHIVE, WITH_LOCK_HELD)
        self.assertEqual(code, 5, said)
        self.assertIn(f"fatune: installing {PACKAGE} (if apt is at work already: after it, for up to 10 minutes)", said)
        self.assertGreater(time.monotonic() - start, 3)

    def test_who_may_not_install_is_told_the_line(self):
        self.hand_over("nobody")
        no_sudo = "rm -f /usr/bin/sudo\n"
        done = self.on_machine(LAYERS, WITHOUT_PACKAGE, no_sudo, user="nobody")
        self.assert_refused(done, f"  sudo apt-get install -y --no-install-recommends {PACKAGE}\n")

    def test_without_a_network(self):
        done = self.on_machine(LAYERS, WITHOUT_PACKAGE)
        self.assert_refused(done, "fatune: apt could not install them (build/bootstrap.log). By hand:",
                            f"sudo apt-get update && sudo apt-get install -y --no-install-recommends {PACKAGE}")

    def test_without_a_network_and_a_toolkit(self):
        done = self.on_machine(LAYERS, WITHOUT_CUDA)
        self.assert_refused(done, "fatune: pip could not install them (build/bootstrap.log). By hand:",
                            "python3 -I -m pip install --no-deps --require-hashes --target .deps/cuda --requirement packaging/cuda-1")

    def test_a_wheel_that_is_not_the_one_pinned_is_refused(self):
        wheels = self.scratch / "wheels"
        wheels.mkdir()
        for name in ("cuda-12.txt", "cuda-13.txt"):
            for package, version in re.findall(r"^([a-z0-9-]+)==([0-9.]+)", (self.root / "packaging" / name).read_text(), re.M):
                plain = package.replace("-", "_")
                with zipfile.ZipFile(wheels / f"{plain}-{version}-py3-none-any.whl", "w") as wheel:
                    about = f"{plain}-{version}.dist-info/"
                    wheel.writestr(about + "METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
                    wheel.writestr(about + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
                    wheel.writestr(about + "RECORD", "")
                    wheel.writestr("nvidia/cu13/lib/libnvrtc.so.13", "planted")
        planted = 'export PIP_NO_INDEX=1 PIP_FIND_LINKS="$SCRATCH/wheels"\n'
        done = self.on_machine(LAYERS, WITHOUT_CUDA, planted)
        self.assert_refused(done, "fatune: pip could not install them", "Expected sha256")
        self.assertFalse(list(self.root.glob(".deps/cuda/**/*")))

    def test_nothing_of_the_present_folder_runs(self):
        theirs = self.scratch / "theirs"
        for module in ("pip", "ensurepip", "venv", "site", "yaml", "fastjsonschema"):
            (theirs / module).mkdir(parents=True)
            for name in ("__init__.py", "__main__.py"):
                (theirs / module / name).write_text(f"open({str(theirs / 'RAN')!r}, 'w')\n")
        for step in ("build", "torch"):
            words = f"cd {shlex.quote(str(theirs))} && {shlex.quote(str(self.root))}/tools/bootstrap.sh {step}"
            code, _, said = self.on_machine(LAYERS, WITHOUT_CUDA, program="bash -c " + shlex.quote(words))
            self.assertFalse((theirs / "RAN").exists(), step)
            self.assertEqual(code, 0 if step == "torch" else 3, said)

    def test_a_checkout_that_cannot_be_written(self):
        self.assert_refused(self.on_machine(self.read_only()), "fatune: nothing can be written below")
        for program, words in (("./test.sh", "test.sh: nothing can be written below"),
                               ("tools/bootstrap.sh build", f"below {self.root}, and {PACKAGE} is missing")):
            self.assert_refused(self.on_machine(LAYERS, WITHOUT_PACKAGE, self.read_only(), program=program), words)
        self.assertEqual(self.on_machine()[0], 5)
        code, out, said = self.on_machine(self.read_only())
        self.assertEqual((code, out, said), (5, f"{self.root}: \n", ""))

    def test_two_first_runs_at_once(self):
        both = "bash -c './fatune first & ./fatune second; a=$?; wait $!; exit $((a * 10 + $?))'"
        code, out, said = self.on_machine(LAYERS, WITHOUT_PACKAGE, WITH_ARCHIVE, program=both)
        self.assertEqual(code, 55, said)
        self.assertEqual(sorted(out.splitlines()), [f"{self.root}: first", f"{self.root}: second"])
        self.assertEqual((said.count("installing"), said.count("waiting for it"), self.builds()), (1, 1, 1), said)

    def test_two_installations_at_once(self):
        both = "bash -c 'tools/bootstrap.sh build & tools/bootstrap.sh build; a=$?; wait $!; exit $((a * 10 + $?))'"
        code, _, said = self.on_machine(LAYERS, WITHOUT_PACKAGE, WITH_ARCHIVE, program=both)
        self.assertEqual(code, 0, said)
        self.assertIn("fatune: another bootstrap.sh is at work; waiting for it", said)
        self.assertEqual(said.count("installing"), 1, said)


if __name__ == "__main__":
    if reason := why_not():
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main()
