"""ShinkaEvolve's evaluation of a kernel: what `fatune judge` says of it, as metrics.json and correct.json.

FATUNE is the program, FATUNE_PROBLEM an id of its suites, FATUNE_DEVICE a --device, MANIFEST the kernel's manifest.
"""
import argparse
import json
import os
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent


def judged(program):
    manifest = json.loads(pathlib.Path(os.environ.get("MANIFEST", HERE.parent / "start" / "poor_rows.json")).read_text())
    manifest["source"] = pathlib.Path(manifest["source"]).name
    problem = os.environ.get("FATUNE_PROBLEM", "mission/mission")
    call = {"tool": "submit_kernel", "arguments": {"problem": problem, "mode": "rank", "manifest": manifest, "source": pathlib.Path(program).read_text()}}
    words = [os.environ.get("FATUNE", "fatune"), "judge", "--jsonl", "--device", os.environ.get("FATUNE_DEVICE", "auto")]
    asked = subprocess.run(words, input=json.dumps(call) + "\n", stdout=subprocess.PIPE, text=True, check=True)  # its stderr is the framework's
    answer = json.loads(asked.stdout.splitlines()[-1])
    return answer.get("result") or {"passed": False, "reason": answer["error"]["message"]}


def evaluate(program, results):
    result = judged(program)
    times = {name: result[name]["median_us"] for name in ("in_layer", "plain", "hot") if result.get(name)}
    score = 1000 / next(iter(times.values())) if result.get("passed", False) and times else 0.0
    results.mkdir(parents=True, exist_ok=True)
    (results / "metrics.json").write_text(json.dumps({"combined_score": score, "public": times, "private": {}, "text_feedback": result.get("reason", "")}))
    (results / "correct.json").write_text(json.dumps({"correct": result.get("passed", False), "error": result.get("reason")}))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program_path", required=True)
    parser.add_argument("--results_dir", required=True, type=pathlib.Path)
    args = parser.parse_args()
    evaluate(args.program_path, args.results_dir)
