"""OpenEvolve's evaluation of a kernel: what `fatune judge` says of it, as metrics with artifacts.

FATUNE is the program, FATUNE_PROBLEM an id of its suites, FATUNE_DEVICE a --device, MANIFEST the kernel's manifest.
"""
import json
import os
import pathlib
import subprocess

from openevolve.evaluation_result import EvaluationResult

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


def evaluate(program_path):
    result = judged(program_path)
    times = {name: result[name]["median_us"] for name in ("in_layer", "plain", "hot") if result.get(name)}
    score = 1000 / next(iter(times.values())) if result.get("passed", False) and times else 0.0
    return EvaluationResult(metrics={"combined_score": score, "correct": float(result.get("passed", False)), **times},
                            artifacts={"reason": result.get("reason", ""), "gate": result.get("gate", "")})
