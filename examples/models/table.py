"""table.py - what the models beside it gain in a CUDA graph: models.json and models.md.

    python3 examples/models/table.py --out runs/models [--models bert,llama] [--budget 40]

Runs `fatune optimize --graph` for one after the other, each in a process of its own. Both files are written after each
model; its run, with proof.json and report.html, is the folder of its name beside them. Exit code 1: a model failed, or
became slower than with the best of PyTorch's backends.
"""
import argparse
import json
import pathlib
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
MODELS = ("bert", "layers", "vit", "gpt2", "llama", "video", "whisper")
BACKENDS = ("pytorch", "flash", "cudnn", "fatune")
HEADS = ("model", "problems", "attention's share", "PyTorch's choice, ms", "flash", "cuDNN", "fatune",
         "fatune / best (95 %)", "sustained (95 %)", "MHz", "saved, us", "predicted, us", "saved / predicted", "command, s")
_TO_END_S = 20  # chosen: an interrupted sweep ends its processes


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "nothing was said"


def optimized(name, args, limit_s):
    """The proof of a model, or why there is none; and the seconds that it took."""
    command = [sys.executable, "-m", "fatune", "optimize", "--graph", "--json", "--out", str(args.out / name),
               "--budget", args.budget, "--limit-s", str(args.timing_s), str(HERE / f"{name}.py")]
    begin = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        try:
            out, said = child.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGINT)  # so that the sweep ends, too
            try:
                out, said = child.communicate(timeout=_TO_END_S)
            except subprocess.TimeoutExpired:
                child.kill()
                out, said = child.communicate()
            out, said = "", f"it was not done after {limit_s:.0f} s"
    row = {"model": name, "seconds": time.monotonic() - begin}
    try:
        return {**row, "proof": json.loads(out)}
    except ValueError:
        return {**row, "failed": last_line(said)}


def ratio_of(times):
    return f"{times['ratio']:.3f} ({times['ci95'][0]:.3f} to {times['ci95'][1]:.3f})"


def clocks_of(times):
    return f"{times['mhz']['fatune']:.0f}, {times['mhz'][times['best']]:.0f}"


def line_of(row):
    if "failed" in row:
        return [row["model"], f"failed: {row['failed']}", *[""] * (len(HEADS) - 3), f"{row['seconds']:.0f}"]
    proof = row["proof"]
    cells = [row["model"], ", ".join(problem["name"] for problem in proof["problems"]),
             f"{proof['before']['attention_share']:.0%}"]
    if proof["times"] is None:
        return [*cells, proof["verdict"], *[""] * (len(HEADS) - 5), f"{row['seconds']:.0f}"]
    times, sustained, saving = proof["times"], proof["sustained"], proof["saving"]
    cells += [f"{times['medians_us'][name] / 1e3:.3f}" if name in times["medians_us"] else "-" for name in BACKENDS]
    cells += [f"{ratio_of(times)}, {times['best']}"]
    cells += [ratio_of(sustained), clocks_of(sustained)] if sustained else ["-", "-"]
    cells += ["-" if saving[key] is None else f"{saving[key]:.{digits}f}"
              for key, digits in (("measured_us", 0), ("predicted_us", 0), ("share", 2))]
    return [*cells, f"{row['seconds']:.0f}"]


def table_of(rows):
    ran = next((row["proof"] for row in rows if "proof" in row), None)
    where = f"{ran['device']['name']}, PyTorch {ran['before']['torch']}. " if ran else ""
    lines = [HEADS, ["---"] * len(HEADS), *map(line_of, rows)]
    return (f"{where}Forward passes of models with random weights, each in a CUDA graph. Sustained: at the GPU's power "
            "limit, in turns so long that each has its own clock (MHz: fatune's, the best backend's).\n\n"
            + "".join(f"| {' | '.join(line)} |\n" for line in lines))


def is_good(row):
    return row.get("proof", {}).get("verdict") in ("faster", "equal")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder of the files and runs")
    parser.add_argument("--models", default=",".join(MODELS), help=f"[{','.join(MODELS)}]")
    parser.add_argument("--budget", default="40", help="for each problem, as of fatune sweep [40]")
    parser.add_argument("--timing-s", type=float, default=8, help="of a model's graphs, at most [8]")
    parser.add_argument("--model-s", type=float, default=100, help="of a model in all, at most [100]")
    parser.add_argument("--limit-s", type=float, default=350, help="of all models, at most [350]")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    rows, end = [], time.monotonic() + args.limit_s
    for name in args.models.split(","):
        left_s = min(args.model_s, end - time.monotonic())
        rows.append(optimized(name, args, left_s) if left_s > 0 else
                    {"model": name, "seconds": 0.0, "failed": "no time was left (--limit-s)"})
        (args.out / "models.json").write_text(json.dumps({"rows": rows}, indent=1) + "\n", encoding="utf-8")
        (args.out / "models.md").write_text(table_of(rows), encoding="utf-8")
        print(" | ".join(line_of(rows[-1])), flush=True)
    return 0 if all(map(is_good, rows)) else 1


if __name__ == "__main__":
    sys.exit(main())
