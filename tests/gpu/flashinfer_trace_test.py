"""flashinfer_trace_test.py: Builds exported solutions as FlashInfer-Bench does and checks them.

Exports a kernel in several problems and the committed mission suite (or takes --set FOLDER, an exported data set), and
checks every object, also with flashinfer_bench if there is one. Builds each solution by tvm_ffi and runs it with the
workload's inputs. Tensors of other shapes must be refused. `--build-only` compiles and needs no GPU; nvcc is used where it is,
else the host compiler, as the solution has no device code of its own. Exit code 77 without PyTorch, tvm_ffi or a GPU.

    python3 tests/gpu/flashinfer_trace_test.py --fatune build/dev/fatune [--set FOLDER] [--build-only]
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from gpu_support import SKIPPED, Checks, export_with_python

try:
    import torch
    import tvm_ffi
    import tvm_ffi.cpp
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(SKIPPED)

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CONFIG = ROOT / "tests/data/cli/fa_mma.json"
PROBLEMS = (("4,8,512,64",), ("2,8,128,64", "--causal", "--layout", "bshd"), ("2,8,100,64", "--seq-kv", "300", "--causal"),
            ("2,8,128,64", "--kv-heads", "2", "--dtype", "bf16"))
RUN = ROOT / "results/h200/suite-mission-contiguous"
LIMIT = 2e-3, 1.6e-2  # f16, bf16: of the largest difference from the reference in fp32


def export(fatune, folder):
    for shape, *words in PROBLEMS:
        export_with_python(fatune, "--config", CONFIG, "--shape", shape, *words, "--arch", "sm_90a",
                           "--unverified", "--to", "flashinfer-trace", "-o", folder)
    export_with_python(fatune, RUN, "--unverified", "--to", "flashinfer-trace", "-o", folder)


def built(solution, folder, build_only):
    for source in solution["sources"]:
        (folder / source["path"]).write_text(source["content"])
    main = folder / "main.cu"
    if shutil.which("nvcc"):
        library = tvm_ffi.cpp.build("solution", cuda_files=[str(main)], extra_include_paths=[str(folder)],
                                    extra_ldflags=["-lcuda"], build_directory=str(folder))
    else:
        library = folder / "solution.so"
        includes = [f"-I{path}" for path in (tvm_ffi.libinfo.find_include_path(), tvm_ffi.libinfo.find_dlpack_include_path(),
                                             *toolkit_includes())]
        ffi = pathlib.Path(tvm_ffi.libinfo.find_libtvm_ffi())
        subprocess.run(["g++", "-std=c++17", "-x", "c++", "-shared", "-fPIC", *includes, str(main), "-o", str(library),
                        "-x", "none", str(ffi), f"-Wl,-rpath,{ffi.parent}", *([] if build_only else ["-l:libcuda.so.1"])],
                       check=True)
    return str(library)


def toolkit_includes():
    places = [pathlib.Path("/usr/local/cuda/include")]
    for site in map(pathlib.Path, sys.path):
        places += sorted(site.glob("nvidia/cu*/include")) + sorted(site.glob("nvidia/cuda_runtime/include"))
    return [place for place in places if (place / "cuda.h").exists()]


def check_solution(checks, definition, solution, folder, build_only):
    library = built(solution, folder, build_only)
    checks.expect(pathlib.Path(library).exists(), f"{solution['name']} is built")
    if build_only:
        return
    run = tvm_ffi.load_module(library).run
    axes = {name: axis["value"] for name, axis in definition["axes"].items()}
    names = {}
    exec(definition["reference"], names)  # ours, exported just now

    def tensor(spec, make):
        return make(*[axes[name] for name in spec["shape"]], device="cuda", dtype=torch.float32).to(
            getattr(torch, spec["dtype"]))

    inputs = [tensor(spec, torch.randn) for spec in definition["inputs"].values()]
    out = tensor(definition["outputs"]["out"], torch.zeros)
    wanted = names["run"](*inputs)
    checks.expect(wanted.shape == out.shape and wanted.dtype == out.dtype, f"{definition['name']}: the reference's output")
    for again in range(2):
        out.fill_(float("nan"))
        run(*inputs, out)
        error = (out.float() - wanted.float()).abs().max().item()
        limit = LIMIT[out.dtype == torch.bfloat16]
        checks.expect(error <= limit, f"{definition['name']}, run {again + 1}: differs by {error}")
    for wrong in (out[:, :, :, :-1].contiguous(), out.float(), out.transpose(1, 2)):
        try:
            run(*inputs, wrong)
            checks.expect(False, f"{definition['name']}: {tuple(wrong.shape)} {wrong.dtype} is refused")
        except Exception as error:  # of a kind that is tvm_ffi's choice
            checks.expect("out" in str(error), f"{definition['name']}: {error} names the tensor")


def check_by_flashinfer_bench(checks, folder):
    try:
        from flashinfer_bench.data import TraceSet
    except ImportError:
        print("flashinfer_bench is not installed: its reader was not asked")
        return
    found = TraceSet.from_path(str(folder))
    solutions = sum(len(each) for each in found.solutions.values())
    checks.expect(len(found.definitions) > 0 and solutions >= len(found.definitions), "TraceSet reads the objects")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fatune", help="the program under test")
    parser.add_argument("--set", type=pathlib.Path, help="a data set that it exported")
    parser.add_argument("--build-only", action="store_true", help="compile, and run nothing")
    args = parser.parse_args()
    if not args.build_only and not torch.cuda.is_available():
        print("skipped: no GPU")
        sys.exit(SKIPPED)
    if args.build_only:
        os.environ.setdefault("TVM_FFI_CUDA_ARCH_LIST", "9.0")  # of the host code that is there, any will do
    checks = Checks()
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.set or pathlib.Path(scratch) / "set"
        if args.set is None:
            export(args.fatune, folder)
        definitions = {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("definitions/**/*.json"))}
        for number, path in enumerate(sorted(folder.glob("solutions/**/*.json"))):
            solution = json.loads(path.read_text())
            place = pathlib.Path(scratch) / f"build{number}"
            place.mkdir()
            check_solution(checks, definitions[solution["definition"]], solution, place, args.build_only)
        check_by_flashinfer_bench(checks, folder)
    checks.finish()


if __name__ == "__main__":
    main()
