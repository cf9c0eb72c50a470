#!/usr/bin/env python3
"""Runs scripts of Kernel Tuner by `python -m fatune kt`, without a GPU: configs are compiled, and times made up.

    kernel_tuner_script_test.py --fatune PATH --venv FOLDER

FOLDER is the Python environment that `tools/bootstrap.sh test` makes. Without it the test is skipped (exit 77); under CI=true
that is a failure.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from kernel_tuner_test import ROOT, enter_environment, parser

SCRIPTS = ROOT / "tests" / "data" / "kernel_tuner" / "scripts.py"
COMPILED = 12
# What stands in for the program: `sweep` compiles configs with the real one and writes a journal. Candidate k takes k + 1 us.
# The configs after the second have other outputs than the default config, unless they are not checked. `verify --outputs` adds
# the inputs a and b, or spreads the sum of x over num_blocks sums; with 64 threads the sum is wrong.
PROGRAM = """#!{python}
import itertools, json, pathlib, subprocess, sys
import numpy
words = sys.argv[1:]
value = lambda name: words[words.index(name) + 1]
folder = value("--kernel-dir")
kernel = json.load(open(folder + "/kernel.json"))["name"]
common = ["--kernel-dir", folder, "--kernel", kernel, "--size", value("--size")]
for command in (["kernels", "lint", kernel, "--kernel-dir", folder], ["compile", *common, "--arch", "sm_90a", "--budget", "{compiled}"]):
    done = subprocess.run(["{fatune}", *command], capture_output=True, text=True)
    if done.returncode:
        print("fatune: error: " + " ".join(command) + ": " + done.stdout + done.stderr, file=sys.stderr)
        sys.exit(done.returncode)
manifest = json.load(open(folder + "/kernel.json"))
if words[0] == "verify":
    config = json.load(open(value("--config")))["config"]
    tensors = {{each["name"]: each for each in manifest["operation"]["tensors"]}}
    array = lambda name: numpy.fromfile(folder + "/" + tensors[name]["file"], dict(f32="f4", f64="f8", u16="f2")[tensors[name]["type"]])
    out = pathlib.Path(value("--outputs"))
    out.mkdir(exist_ok=True)
    results = {{name: array(name) for name, each in tensors.items() if each.get("output")}}
    if "a" in tensors:
        results["c"][:] = array("a") + array("b")
    else:
        results["sums"][:config["num_blocks"]] = array("x").sum() / config["num_blocks"] + (config["block_size_x"] == 64)
    for name, result in results.items():
        result.tofile(out / (name + ".bin"))
    sys.exit()
out = pathlib.Path(value("--out"))
names = [each["name"] for each in manifest["parameters"]]
unchecked = "--skip-correctness" in words
out.mkdir(parents=True)
lines = []
for k, values in enumerate(itertools.islice(itertools.product(*(each["values"] for each in manifest["parameters"])), 8 if kernel == "many_sums" else 4)):
    config = dict(zip(names, values))
    wrong = kernel in ("block_sums", "given_up") and k > 1 and not unchecked
    pruned = kernel == "turn" and k or kernel == "given_up" and k == 1 and not unchecked
    outcome = "wrong_result" if wrong else "pruned" if pruned else "measured"
    spills = {{"outcome": "pruned", "reason": "spills"}}  # it is not timed
    timed = {{"outcome": outcome, "hot": {{"median_us": k + 1.0, "samples": 3}}}}
    lines.append({{"t": "candidate", "config": config, **(spills if kernel == "turn" and k == 3 else timed)}})
(out / "journal.jsonl").write_text("".join(json.dumps(line) + "\\n" for line in lines))
(out / "best.json").write_text(json.dumps({{"device": {{"name": "a GPU"}}, "words": words}}))
"""


class Scripts:
    def __init__(self, fatune, folder):
        self.folder = folder
        self.program = folder / "fatune"
        self.program.write_text(PROGRAM.format(python=sys.executable, fatune=fatune, compiled=COMPILED))
        self.program.chmod(0o755)

    def run(self, name, *options, code=0):
        """Returns what a script prints, and the folder of its run."""
        environment = {**os.environ, "FATUNE": str(self.program), "PYTHONPATH": str(ROOT / "python"), "XDG_CACHE_HOME": str(self.folder / "cache")}
        done = subprocess.run([sys.executable, "-m", "fatune", "kt", "-o", name, *options, str(SCRIPTS), name], cwd=self.folder,
                              env=environment, capture_output=True, text=True, check=False)
        check(done.returncode == code, f"{name} ended with {done.returncode}, not {code}:\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr, next((self.folder / name).glob("*-1"), None)


def check(condition, message):
    if not condition:
        sys.exit("FAILED: " + message)


def expect(text, *parts):
    for part in parts:
        check(part in text, f"{part!r} is not in\n{text}")


def manifest_of(folder, name="kernel"):
    return json.loads((folder / f"{name}.json").read_text())


def check_without_answer(scripts):
    said, folder = scripts.run("vector_add")
    expect(said, "vector_add: block_size_x=128, time=0.001 ms. It agrees with the default config, as 4 of 4 configs do",
           "GB/s=", "device: a GPU")
    check("J=" not in said, "a metric of an observer is left out")
    manifest = manifest_of(folder)
    stage = manifest["stages"][0]
    check(stage["arguments"] == ["c", "a", "b", "i32 10007"], f"arguments: {stage}")
    check(stage["grid"] == ["ceil_div((10007), (block_size_x))", "(1)", "(1)"], f"grid: {stage}")
    check(all(each["output"] for each in manifest["operation"]["tensors"]), "what is not const may be written")
    words = json.loads((folder / "run" / "best.json").read_text())["words"]
    check(words[words.index("--strategy") + 1] == "exhaustive", f"every config is tried: {words}")
    scripts.run("vector_add", "--budget", "3")
    words = json.loads((scripts.folder / "vector_add" / "vector_add-2" / "run" / "best.json").read_text())["words"]
    check(words[words.index("--budget") + 1] == "3" and "--strategy" not in words, f"a budget ends the search: {words}")


def check_answer(scripts):
    said, folder = scripts.run("turn")
    expect(said, "It agrees with the script's answer, as 3 of 3 configs do", "without a time: 1 pruned")
    manifest = manifest_of(folder)
    check(manifest["stages"][0]["grid"][1] == "ceil_div((512), (block_size_y) * (tile_size))", f"grid: {manifest['stages']}")
    rules = [each["require"] for each in manifest["constraints"]]
    check(rules == ["block_size_x * block_size_y >= 64 and (padding == 0 or tile_size in (2, 4))"], f"rules: {rules}")
    tensors = {each["name"]: each.get("output", False) for each in manifest_of(folder, "answer")["operation"]["tensors"]}
    check(tensors == {"y": True, "x": False, "y_answer": False}, f"tensors: {tensors}")


def check_constants(scripts):
    _, folder = scripts.run("filtered")
    manifest = manifest_of(folder)
    stage = manifest["stages"][0]
    check(stage["grid"][0] == "ceil_div((3000) * (lanes), (threads))", f"grid: {stage}")
    check(stage["block"] == ["threads", "1", "1"], f"block: {stage}")
    check(stage["arguments"] == ["y", "x", "i32 3000", "f64 0.5"], f"arguments: {stage}")
    outputs = [each["name"] for each in manifest["operation"]["tensors"] if each.get("output")]
    check(outputs == ["y"], f"a const pointer is read alone: {outputs}")


def check_other_outputs(scripts):
    said, _ = scripts.run("sums")
    expect(said, "2 of 4 configs leave other outputs than the default config; they are timed without a check",
           "as 2 of 4 configs do", "agrees=True")
    said, _ = scripts.run("given_up")
    expect(said, "as 2 of 4 configs do")  # outputs are compared before a config is given up


def check_macros(scripts):
    _, folder = scripts.run("twice")
    manifest = manifest_of(folder)
    check(manifest["compiler_options"] == ["-use_fast_math", "-DREAL=float"], f"options: {manifest}")
    check(manifest["defines"] == {"SIZE": "block_size_x", "FUNCTION": "function", "HALF": "block_size_x // 2"}, f"macros: {manifest}")
    check((folder / "doubled.h").is_file(), "a header is found by -I")


def check_launches(scripts):
    said, folder = scripts.run("launched")
    expect(said, "It agrees with the script's answer, as 4 of 4 configs do")
    launched = manifest_of(scripts.folder / "launched" / "vector_add-1")
    check([each["values"] for each in launched["parameters"]] == [[64]], f"run_kernel has one config: {launched}")
    first, second = ((scripts.folder / "launched" / f"vector_add-{place}" / "a.bin").stat() for place in (1, 2))
    check(first.st_ino == second.st_ino, "equal arrays have one place on the disk")
    said, _ = scripts.run("called")
    expect(said, "the outputs are right", "best: block_size_x=64")


def check_functions_of_the_script(scripts):
    said, _ = scripts.run("verified")
    expect(said, "verify was asked about the 4 fastest of 4 configs: 2 are right, 2 are wrong_result",
           "The script's verify function accepts it, as it accepts 2 of 2 configs", "block_size_x=128", "verified=True")
    said, _ = scripts.run("observed")
    expect(said, "warning: observers of launches are not called", "warning: fatune ranks by time, not by error",
           "verify was asked about the 5 fastest of 8 configs", "error=0.0")
    said, folder = scripts.run("rejected")
    expect(said, "verify was asked about the 4 fastest of 4 configs: 0 are right, 4 are wrong_result", "no config is right")


def check_types(scripts):
    said, folder = scripts.run("precise")
    expect(said, "best: block_size_x=64, scalar=float", "time=0.001 ms")
    kinds = []
    for place in (1, 2, 3):
        part = scripts.folder / "precise" / f"vector_add-{place}"
        kinds.append(manifest_of(part)["operation"]["tensors"][0]["type"])
        check("#define scalar " in (part / "kernel.cu").read_text(), "a word that arguments depend on is a macro")
    check(kinds == ["f32", "f64", "u16"], f"types: {kinds}")
    said, _ = scripts.run("generated")
    expect(said, "best: block_size_x=64", "as 2 of 2 configs do")


def check_rules(scripts):
    _, folder = scripts.run("ruled")
    manifest = manifest_of(folder)
    rules = [each["require"] for each in manifest["constraints"]]
    check(rules == ["block_size_x // 64 % 2 == 0 or unroll == 1", "block_size_x + unroll * 193 not in (837,)", "unroll ** 2 < 16"],
          f"rules: {rules}")
    check(manifest["stages"][0]["grid"][0] == "ceil_div((1000 + -900 * (unroll in (1,))), (block_size_x))", f"grid: {manifest['stages']}")
    check("#define block_size_y 1" in (folder / "kernel.cu").read_text(), "the sizes of a block that are no parameters are macros")


def check_other_calls(scripts):
    said, _ = scripts.run("described")
    expect(said, "best: block_size_x=64")
    said, folder = scripts.run("with_cub")
    check("#include <cub/cub.cuh>" in (folder / "kernel.cu").read_text(), "the source is as it was")
    scripts.run("column_major")
    stored = numpy.fromfile(scripts.folder / "column_major" / "vector_add-1" / "a.bin", "f4")
    check(stored.tolist() == [0, 2, 4, 1, 3, 5], f"elements lie as in memory: {stored}")


def check_refusals(scripts):
    said, _ = scripts.run("refused", code=2)
    expect(said, "fatune: error: vector_add has 4 parameters, but the script passes 1 arguments")
    for name, words in {"on_host": "lang=C: fatune tunes CUDA kernels alone; run the script with Kernel Tuner",
                        "textured": "texmem_args: fatune has no textures; run the script with Kernel Tuner",
                        "scattered": "that are 65 sweeps, and 64 are the most",
                        "empty": "c has no elements"}.items():
        expect(scripts.run(name, code=2)[0], words)
    said, _ = scripts.run("twice_refused", code=4)
    expect(said, "kernel.json: field 'compiler_options' has '--dopt=on', which is none of --use_fast_math")
    said, _ = scripts.run("unknown", code=2)
    expect(said, "fatune: error: the restriction block_size_q == 1 has no value: NameError: name 'block_size_q' is not defined")


def main():
    args = parser(__doc__).parse_args()
    enter_environment(args.venv)
    global numpy
    import numpy  # of the environment
    with tempfile.TemporaryDirectory() as name:
        scripts = Scripts(args.fatune.resolve(), pathlib.Path(name))
        for part in (check_without_answer, check_answer, check_constants, check_other_outputs, check_macros, check_launches,
                     check_functions_of_the_script, check_types, check_rules, check_other_calls, check_refusals):
            part(scripts)
            print(part.__name__, "passed")


if __name__ == "__main__":
    main()
