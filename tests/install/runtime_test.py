#!/usr/bin/env python3
"""Installs libfatune_rt into a temporary folder and builds the C example against it in every documented way.

  runtime_test.py --build build/dev --fatune build/dev/fatune

Needs no GPU: without one the example lists the kernels and exits with 3, with one it launches and checks them.
"""
import argparse
import ctypes
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "runtime"
SOURCES = [str(EXAMPLE / name) for name in ("attention.c", "gpu.c", "reference.c")]
C99 = ["cc", "-std=c99", "-O2", "-Wall", "-Wextra", "-pedantic", "-Werror"]
STATIC_PROJECT = """
cmake_minimum_required(VERSION 3.16)
project(linked_statically LANGUAGES C CXX)
find_package(fatune 0.1 REQUIRED COMPONENTS static)
add_executable(attention {sources})
target_link_libraries(attention PRIVATE fatune::rt_static ${{CMAKE_DL_LIBS}} m)
"""
HEADER_ONLY = '#include <fatune_rt.h>\nint main(void) { return fatune_rt_abi() == FATUNE_RT_ABI ? 0 : 1; }\n'


def run(*line, exit_code=0, **options):
    """Runs a command whose exit code must be as told; returns what it printed."""
    line = [str(word) for word in line]
    done = subprocess.run(line, capture_output=True, text=True, timeout=200, check=False, **options)
    if done.returncode != exit_code:
        sys.exit(f"{' '.join(line)}\nexit {done.returncode} instead of {exit_code}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def has_driver():
    try:
        ctypes.CDLL("libcuda.so.1")
        return True
    except OSError:
        return False


class Installed:
    """The library in a folder that was moved after the installation, and a folder of wisdom."""

    def __init__(self, args, here):
        self.cmake, self.here = args.cmake, here
        for component in ("runtime", "development"):
            run(args.cmake, "--install", args.build, "--prefix", here / "first", "--component", component)
        self.prefix = here / "moved"
        (here / "first").rename(self.prefix)
        (self.library,) = self.prefix.glob("lib*/**/libfatune_rt.so")
        self.libraries = self.library.parent
        self.wisdom = here / "wisdom"
        best = ROOT / "results/h200/suite-mission-contiguous/best.json"
        # The library is tested here, not the result, which may be of an earlier text of its kernel.
        run(args.fatune, "export", "--config", best, "--shape", "2,8,128,64", "--unverified", "--to", "wisdom", "-o", self.wisdom)

    def check_program(self, program, way):
        environment = {**os.environ, "LD_LIBRARY_PATH": str(self.libraries)}
        output = run(program, self.wisdom, env=environment, exit_code=0 if has_driver() else 3)
        assert "2,8(kv 8),128x128,64 f16" in output and "sm_90a" in output, output
        print(f"{way}: builds and runs")

    def package_config(self, *options):
        environment = {**os.environ, "PKG_CONFIG_PATH": str(self.libraries / "pkgconfig")}
        return run("pkg-config", *options, "fatune", env=environment).split()


def check_library(installed):
    symbols = run("nm", "-D", "--defined-only", installed.library)
    names = {line.split()[-1].split("@")[0] for line in symbols.splitlines()}
    header = (installed.prefix / "include" / "fatune_rt.h").read_text()
    declared = set(re.findall(r"FATUNE_RT_API [^;(]*?(fatune_rt_\w+)\(", header))
    assert names - {"FATUNE_RT_2"} == declared, f"exported {sorted(names)}, declared {sorted(declared)}"
    needed = re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", installed.library))
    heavy = [name for name in needed if re.match(r"lib(cuda|nvrtc|fmt|spdlog)", name)]
    assert not heavy, f"the library needs {heavy}"
    print(f"exports {len(declared)} functions, needs {', '.join(needed)}")


def check_header(installed):
    source = installed.here / "header.c"
    source.write_text(HEADER_ONLY)
    include = f"-I{installed.prefix / 'include'}"
    run(*C99, "-fsyntax-only", include, source)
    run("g++", "-std=c++11", "-Wall", "-Wextra", "-pedantic", "-Werror", "-x", "c++", "-fsyntax-only", include, source)
    print("the header is C99 and C++11")


def check_cmake(installed, source, way):
    build = installed.here / way
    run(installed.cmake, "-G", "Ninja", "-S", source, "-B", build, f"-DCMAKE_PREFIX_PATH={installed.prefix}", "-DCMAKE_BUILD_TYPE=Release")
    run(installed.cmake, "--build", build)
    installed.check_program(build / "attention", way)


def check_static_cmake(installed):
    project = installed.here / "static-project"
    project.mkdir()
    (project / "CMakeLists.txt").write_text(STATIC_PROJECT.format(sources=" ".join(SOURCES)))
    check_cmake(installed, project, "find_package-static")


def check_pkg_config(installed):
    shared, static = installed.here / "pkg-shared", installed.here / "pkg-static"
    flags = installed.package_config("--cflags")
    run(*C99, *flags, *SOURCES, "-o", shared, *installed.package_config("--libs"), "-ldl", "-lm")
    installed.check_program(shared, "pkg-config")
    libraries = ["-l:libfatune_rt.a" if word == "-lfatune_rt" else word
                 for word in installed.package_config("--libs", "--static")]
    run(*C99, *flags, *SOURCES, "-o", static, *libraries, "-lm")
    assert "fatune_rt" not in run("readelf", "-d", static)
    installed.check_program(static, "pkg-config-static")


def check_tampering(installed):
    (cubin,) = (installed.wisdom / "cubins").glob("*.cubin")
    whole = cubin.read_bytes()
    program = installed.here / "pkg-static"
    for what, content in (("changed", whole[:100] + b"\0\1" + whole[102:]), ("cut", whole[:-1])):
        cubin.write_bytes(content)
        output = run(program, installed.wisdom, exit_code=1)
        assert "FATUNE_RT_TAMPERED" in output and cubin.name in output, output
        print(f"a cubin that was {what} is refused by name")
    cubin.write_bytes(whole)
    shutil.rmtree(installed.wisdom / "cubins")
    output = run(program, installed.wisdom, exit_code=1)
    assert "FATUNE_RT_BAD_FILE" in output and cubin.name in output, output


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--fatune", required=True)
    parser.add_argument("--cmake", default="cmake")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        installed = Installed(args, pathlib.Path(folder))
        check_library(installed)
        check_header(installed)
        check_cmake(installed, EXAMPLE, "find_package")
        check_static_cmake(installed)
        check_pkg_config(installed)
        check_tampering(installed)


if __name__ == "__main__":
    main()
