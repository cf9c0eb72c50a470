#!/usr/bin/env python3
"""own_kernel_test.py: Sweeps, verifies and measures the custom operation examples/rmsnorm.

Wrong kernels of the operation must be caught, like the cheats of its self-test.

    own_kernel_test.py --fatune PATH
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

from gpu_support import SKIPPED, Checks, arguments, run_json

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "rmsnorm"
# Kernels as users have them, in folders of tests/data: values among arguments, other types of elements, and constant memory.
USERS = {"own_values": ("vector_add", "n_elements=1000003"), "own_types": ("threshold", "n_values=1000003"),
         "own_constants": ("smooth", "n_output=1000003"), "own_frames": ("smooth", "n_values=1000003"),
         "own_runtime": ("total", "n=1000003")}
# Calls the exported operator of own_runtime at sizes that were not tuned.
TOTAL = """import sys, torch
sys.path.insert(0, sys.argv[1])
import custom
for n in (1, 4099, 2**26 + 5, 2**31 + 5):
    x = torch.rand(n, device="cuda")
    got, right = custom.total(x).item(), x.sum(dtype=torch.float64).item()
    print(f"total of {n}: {got}, rightly {right}")
    assert abs(got - right) <= 1e-4 * right
"""
# Kernels that are tuned without a manifest, by options, lines of the file and a text file.
DECLARED = ["add.cu --param block_size_x=128..1024:64 --size n=1000003 --array a,b,c:[n] --output c --grid n/block_size_x "
            "--block block_size_x", "blur.cu", "reduction.fatune"]
MINE = """import torch.nn.functional as F
def norm(x, weight, *, ROWS, COLUMNS):
    return F.rms_norm(x, (COLUMNS,), weight, 1e-6)
"""
SIZES = ["--size", "ROWS=4096,COLUMNS=1024"]
# Changes to rmsnorm.cu, and the gate that must decide. They read a neighbour's weight, write a row behind the last one, change an
# input, leave out a row, or do not wait.
BROKEN = {
    "wrong": ("accuracy", "load_weights(weight + lane * kVector", "load_weights(weight + (lane ^ 1) * kVector", {}),
    "outside": ("guard_bands", "WRITE(STORE_OF_Y, out, y + first", "if (row == ROWS - 1) WRITE(STORE_OF_Y, out, y + COLUMNS + first + step * kPitch);\n    WRITE(STORE_OF_Y, out, y + first", {}),
    "input": ("inputs", "WRITE(STORE_OF_Y, out, y + first", "WRITE(STORE_OF_Y, out, const_cast<elem*>(x) + first + step * kPitch);\n    WRITE(STORE_OF_Y, out, y + first", {}),
    "unwritten": ("poison", "const bool inside = row < ROWS;", "const bool inside = row < ROWS - 1;", {}),
    "early": ("early_start", "  grid_dependency_wait();\n  launch_dependents();\n", "  // griddepcontrol.wait is missing\n", {"LAUNCH": "dependent"}),
}
USUAL = {"THREADS_PER_ROW": 128, "ROWS_PER_BLOCK": 1, "VECTOR": 16, "KEEP": "registers", "WEIGHT": "early", "LOAD": "plain", "STORE": "plain", "LAUNCH": "plain"}


def sweep(args, checks, folder):
    run = folder / "run"
    words = ["--kernel-dir", str(EXAMPLE), "--kernel", "rmsnorm", *SIZES]
    code, best, stderr = run_json(args.fatune, "sweep", *words, "--budget", "60", "--out", str(run))
    checks.expect(code == 0 and best is not None, f"sweep ended with {code}: {stderr[-2000:]}")
    if best is None:
        checks.finish()
    best = best["problems"][0]
    hot = best["best"]["hot"]
    gates = [gate["name"] for gate in best["best"]["verify"]["gates"]]
    print(f"best {best['best']['config']}: {hot['median_us']:.2f} us hot {hot['ci95_us']}, {best['best']['gbytes_per_s']:.0f} GB/s, "
          f"{best['gate']['ratio']:.3f} of {best['gate']['baseline']}, margin {best['best']['verify']['margin']:.2f}, gates {', '.join(gates)}")
    print("outcomes:", best["search"]["outcomes"])
    checks.expect(best["problem"]["operation"] == "rmsnorm", "the problem names its operation")
    checks.expect(best["gate"]["baseline"] == "rmsnorm_reference", "the reference is the baseline")
    checks.expect(best["gate"]["ratio"] < 0.9, "faster than the reference")
    checks.expect(best["best"]["verify"]["margin"] < 1, "margin below 1")
    for gate in ["poison", "inputs", "guard_bands", "accuracy", "repeat", "physics", "timed_output", "edge_problems"]:
        checks.expect(gate in gates, f"gate {gate} ran: {gates}")
    lines = len((run / "journal.jsonl").read_text().splitlines())
    code, _, stderr = run_json(args.fatune, "resume", str(run), "--kernel-dir", str(EXAMPLE))
    checks.expect(code == 0, f"resume ended with {code}: {stderr[-1000:]}")
    checks.expect(len((run / "journal.jsonl").read_text().splitlines()) == lines, "a resumed complete run measures nothing again")
    code, _, stderr = run_json(args.fatune, "verify", "--config", str(run / "best.json"), "--kernel-dir", str(EXAMPLE))
    checks.expect(code == 0, f"verify ended with {code}: {stderr[-1000:]}")
    code, bench, stderr = run_json(args.fatune, "bench", "--config", str(run / "best.json"), "--impl", "rmsnorm_reference", "--kernel-dir", str(EXAMPLE))
    checks.expect(code == 0 and bench is not None, f"bench ended with {code}: {stderr[-1000:]}")


def rivals(args, checks, folder):
    """PyTorch competes as an expression, as it is and compiled, and as a function, under the same gates."""
    mine = folder / "mine.py"
    mine.write_text(MINE)
    norm = "F.rms_norm(x, (COLUMNS,), weight, 1e-6)"
    # The last two are refused: one is wrong, the other has an unknown name.
    names = [f"torch:{norm}", f"torch.compile:{norm}", f"python:{mine}:norm", "torch:x * weight", "torch:x * w"]
    code, bench, stderr = run_json(args.fatune, "bench", "--kernel-dir", str(EXAMPLE), "--kernel", "rmsnorm", *SIZES, "--impl",
                                   ",".join(names))
    checks.expect(code == 0 and bench is not None, f"bench beside PyTorch ended with {code}: {stderr[-2000:]}")
    rows = {row["impl"]: row for row in (bench or {"problems": [{"rows": []}]})["problems"][0]["rows"]}
    for name, row in rows.items():
        print(f"{name}: {row['outcome']} {row.get('hot', {}).get('median_us')} us hot, {row.get('detail', '')} {row.get('reason', '')}")
    for name in [*names[:2], "python:mine:norm"]:
        checks.expect(rows.get(name, {}).get("outcome") == "measured", f"{name} is measured: {rows.get(name)}")
    checks.expect(rows.get(names[3], {}).get("outcome") == "wrong_result", f"accuracy refuses {names[3]}: {rows.get(names[3])}")
    checks.expect("'w' is not defined" in rows.get(names[4], {}).get("reason", ""), f"{names[4]} is refused: {rows.get(names[4])}")


def verify_variants(args, checks, folder):
    """Other ways to keep a row and to launch, at sizes that no vector divides, in the other type."""
    variants = [({"KEEP": "shared", "ROWS_PER_BLOCK": 4, "THREADS_PER_ROW": 64}, "ROWS=33,COLUMNS=1000"),
                ({"KEEP": "reload", "THREADS_PER_ROW": 32, "WEIGHT": "late"}, "ROWS=5,COLUMNS=4104"),
                ({"VECTOR": 2, "THREADS_PER_ROW": 256, "STORE": "streaming"}, "ROWS=7,COLUMNS=999"),
                ({"LAUNCH": "dependent", "THREADS_PER_ROW": 8, "ROWS_PER_BLOCK": 4}, "ROWS=100,COLUMNS=64"),
                ({"LAUNCH": "chained", "LOAD": "streaming"}, "ROWS=64,COLUMNS=1024")]
    for change, sizes in variants:
        path = folder / "variant.json"
        path.write_text(json.dumps({"kernel": "rmsnorm", "config": {**USUAL, **change}}))
        code, result, stderr = run_json(args.fatune, "verify", "--kernel-dir", str(EXAMPLE), "--config", str(path), "--size", sizes, "--dtype", "bf16")
        told = [row.get("reason") for row in (result or {}).get("configs", [])]
        checks.expect(code == 0, f"{change} at {sizes}: exit {code} {told} {stderr[-500:]}")


def catch_broken(args, checks, folder):
    for name, (gate, right, wrong, change) in BROKEN.items():
        kernels = folder / name
        shutil.copytree(EXAMPLE, kernels)
        text = (kernels / "rmsnorm.cu").read_text()
        assert right in text, f"{name}: rmsnorm.cu has no '{right}' to change"
        (kernels / "rmsnorm.cu").write_text(text.replace(right, wrong))
        path = folder / f"{name}.json"
        path.write_text(json.dumps({"kernel": "rmsnorm", "config": {**USUAL, **change}}))
        code, result, stderr = run_json(args.fatune, "verify", "--kernel-dir", str(kernels), "--config", str(path), *SIZES)
        row = (result or {"configs": [{}]})["configs"][0]
        reason = row.get("reason", "")
        print(f"{name}: {row.get('outcome')}: {reason}")
        # A finalist meets its edge problems first, and their name stands in front.
        checks.expect(code == 1 and row.get("outcome") == "wrong_result", f"{name}: exit {code}, {row.get('outcome')} {stderr[-500:]}")
        checks.expect(f"{gate}: " in reason, f"{name} must be caught by {gate}: {reason}")


def selftest(args, checks):
    """Every cheat that fatune makes of the reference is caught by its gate, in both element types; the kernels pass."""
    for dtype in ["f16", "bf16"]:
        code, document, stderr = run_json(args.fatune, "verify", "--selftest", "--kernel-dir", str(EXAMPLE), "--kernel", "rmsnorm", "--dtype", dtype)
        checks.expect(code == 0 and document is not None, f"the self-test in {dtype} ended with {code}: {stderr[-2000:]}")
        rows = (document or {}).get("rows", [])
        checks.expect(len(rows) == 12, f"12 cheats: {[row['kernel'] for row in rows]}")
        for row in rows:
            print(f"{dtype} {row['kernel']:22} {row['gate']:14} {row['outcome']:14} {row.get('reason', '')[:90]}")
            checks.expect(row["caught"], f"{row['kernel']} must be caught by {row['gate']}: {row['outcome']} {row.get('reason')}")
        honest = (document or {}).get("honest", [])
        checks.expect({row["kernel"] for row in honest if row["passed"]} == {"rmsnorm", "rmsnorm_reference"}, f"the honest pass: {honest}")


def users_kernels(args, checks, folder):
    """Kernels of other types and arguments are swept, verified, and told from their cheats."""
    for name, (kernel, sizes) in USERS.items():
        words = ["--kernel-dir", str(ROOT / "tests" / "data" / name), "--kernel", kernel, "--size", sizes]
        code, best, stderr = run_json(args.fatune, "sweep", *words, "--budget", "20", "--out", str(folder / name))
        checks.expect(code == 0 and best is not None, f"{name}: the sweep ended with {code}: {stderr[-2000:]}")
        code, document, stderr = run_json(args.fatune, "verify", "--selftest", *words)
        checks.expect(code == 0 and document is not None, f"{name}: the self-test ended with {code}: {stderr[-2000:]}")
        for row in (document or {}).get("rows", []):
            print(f"{name} {row['kernel']:22} {row['gate']:14} {row['outcome']:14} {row.get('reason', '')[:90]}")


def other_sizes(args, checks, folder):
    """The kernel that was tuned at one run-time size is right at others: verified, with the same machine code, and as an operator."""
    kernels = ["--kernel-dir", str(ROOT / "tests" / "data" / "own_runtime")]
    best = folder / "own_runtime" / "best.json"
    winner = json.loads(best.read_text())["problems"][0]["best"]
    config = folder / "total_config.json"
    config.write_text(json.dumps({"kernel": "total", "config": winner["config"]}))
    for n in (7, 2**26 + 5):
        code, result, stderr = run_json(args.fatune, "verify", *kernels, "--config", str(config), "--size", f"n={n}")
        told = [row.get("reason") for row in (result or {}).get("configs", [])]
        checks.expect(code == 0, f"total at n={n}: exit {code} {told} {stderr[-500:]}")
    for kind in ("torch", "cubin"):
        code, _, stderr = run_json(args.fatune, "export", *kernels, "--config", str(best), "--to", kind, "--out", str(folder))
        checks.expect(code == 0, f"export --to {kind}: {stderr[-500:]}")
    facts = json.loads((folder / "total.json").read_text())
    checks.expect(facts["verified"] and facts["runtime_sizes"] == ["n"], f"the exported kernel is verified: {facts}")
    script = folder / "sizes.py"
    script.write_text(TOTAL)
    done = subprocess.run([sys.executable, str(ROOT / "tests" / "python" / "run.py"), str(script), str(folder)],
                          capture_output=True, text=True, check=False)
    print(done.stdout, end="")
    checks.expect(done.returncode in (0, SKIPPED), f"the operator at other sizes: {done.stderr[-1000:]}")


def tune(args, checks, folder):
    """Files are tuned as they are. Without a reference the report says what the outputs agree with."""
    for words in DECLARED:
        file, *options = words.split()
        run = folder / file
        done = subprocess.run([args.fatune, "tune", str(ROOT / "examples" / "tune" / file), *options, "--budget", "20",
                               "--out", str(run)], capture_output=True, text=True, check=False)
        checks.expect(done.returncode == 0, f"tune {file} ended with {done.returncode}: {done.stderr[-2000:]}")
        own = "agree with those of the default config" in done.stdout
        checks.expect(own == (file != "blur.cu"), f"tune {file} says what outputs agree with: {done.stdout[-1000:]}")
        code, _, stderr = run_json(args.fatune, "resume", str(run), "--kernel-dir", str(run / "kernel"))
        checks.expect(code == 0, f"resume of {file} ended with {code}: {stderr[-1000:]}")


def kept_outputs(args, checks, folder):
    """A kernel and its reference, each launched once on the same inputs, leave the same sums."""
    kept = []
    for kernel in ("vector_add", "vector_add_reference"):
        words = ["--kernel-dir", str(ROOT / "tests" / "data" / "own_values"), "--kernel", kernel, "--size", "n_elements=1000003"]
        code, document, stderr = run_json(args.fatune, "verify", *words, "--outputs", str(folder / kernel))
        checks.expect(code == 0, f"{kernel}: verify --outputs ended with {code}: {stderr[-1000:]}")
        kept += [pathlib.Path(file).read_bytes() for file in (document or {}).get("files", [])]
    checks.expect(len(kept) == 2 and kept[0] == kept[1] and len(kept[0]) == 4_000_012, f"kept outputs: {[len(each) for each in kept]} bytes")


def main():
    args = arguments(__doc__.splitlines()[0])
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        sweep(args, checks, pathlib.Path(folder))
        rivals(args, checks, pathlib.Path(folder))
        verify_variants(args, checks, pathlib.Path(folder))
        catch_broken(args, checks, pathlib.Path(folder))
        users_kernels(args, checks, pathlib.Path(folder))
        tune(args, checks, pathlib.Path(folder))
        other_sizes(args, checks, pathlib.Path(folder))
        kept_outputs(args, checks, pathlib.Path(folder))
    selftest(args, checks)
    checks.finish()


if __name__ == "__main__":
    main()
