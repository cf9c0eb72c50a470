#!/usr/bin/env python3
"""evolve_test.py: Runs `fatune evolve` on a GPU in three modes with the rule proposer.

The runs begin with a poor config and are repeated. Some kernels hang, cheat or write out of bounds.

    evolve_test.py --fatune PATH [--out FOLDER] [--trials 45] [--modes free,insight,full] [--suite NAME] [--evaluations N]

Prints a line a mode: speed-up of the trials and of the rounds at the end, validity, seconds a trial. --out keeps the runs and their pages.
"""
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile
import time

from gpu_support import Checks, arguments, run_json

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "evolve"
RULES = f"{shlex.quote(sys.executable)} {shlex.quote(str(EXAMPLES / 'rules.py'))}"
START = ["--kernel-dir", str(EXAMPLES / "start"), "--kernel", "poor_rows"]
SMALL = ["--shape", "2,8,128,64"]
GOAL = 1.5
# Changes of a bad candidate to the start, and the outcomes that it may have.
BAD = {
    "hangs": (("  float acc[kColumns];", "  for (volatile int spins = 0; spins >= 0;) spins = 1;\n  float acc[kColumns];"), {"timeout"}),
    "far_write": (("  if (inside) write_columns(", "  out[i64{1} << 40] = 1;\n  if (inside) write_columns("), {"launch_error", "crashed", "wrong_result"}),
    "near_write": (("  if (inside) write_columns(", "  if (row == SEQ_Q - 1) out[BATCH * OUT_BATCH_STRIDE] = 1;\n  if (inside) write_columns("), {"wrong_result"}),
    "nothing": (("  if (inside) write_columns(", "  if (false) write_columns("), {"wrong_result"}),
    "half": (("row_sum > 0.0f ? 1.0f / row_sum", "row_sum > 0.0f ? 0.5f / row_sum"), {"wrong_result"}),
    "this_shape": (("  const i32 visible = inside", "  if (SEQ_Q != 128) return;\n  const i32 visible = inside"), {"wrong_result"}),
    "changes_input": (("  if (inside) write_columns(", "  if (inside) const_cast<elem*>(k)[0] = 0;\n  if (inside) write_columns("), {"wrong_result"}),
}


def ledger_of(folder):
    return [json.loads(line) for line in (folder / "ledger.jsonl").read_text().splitlines()]


def sizes(args):
    return ["--trials", args.trials or "45", "--evaluations", args.evaluations or "12"]


def evolve(args, checks, mode, folder, problem):
    out = folder / mode
    began = time.monotonic()
    code, document, stderr = run_json(args.fatune, "evolve", "--proposer", RULES, *START, *problem, "--mode", mode, *sizes(args), "--out", str(out))
    seconds = time.monotonic() - began
    checks.expect(code == 0 and document is not None, f"{mode} ended with {code}: {stderr[-2000:]}")
    if document is None:
        return
    figures = document["figures"]
    print(f"{mode:8} {figures.get('speedup', 0):6.2f}x in the trials, {figures.get('final_speedup', 0):6.2f}x in the final rounds, validity {figures['validity']:.3f}, "
          f"compiled {figures['compile_rate']:.3f}, {figures['evaluations']} configs, {seconds:.0f} s, {seconds / max(1, figures['trials']):.1f} s a trial")
    for final in document.get("finals", []):
        print("   ", final["id"], final["duel"]["problem"], final["duel"].get("start_us"), "->", final["duel"].get("best_us"), final["duel"].get("speedup"), final["duel"].get("reason", ""))
    for trial in document["trials"]:
        print(f"    t{trial['number']:<3} {trial['verdict']:10} {trial.get('speedup') or 0:7.2f} {' '.join(trial.get('parents', [])):8} {trial.get('lever', ''):18} {trial.get('reason', '')[:110]}")
    checks.expect((figures.get("final_speedup") or 0) >= GOAL, f"{mode}: the rounds at the end give {figures.get('final_speedup')}, less than {GOAL}")
    checks.expect(subprocess.run([args.fatune, "report", str(out), "-o", str(out / "page.html")], capture_output=True, check=False).returncode == 0, "the page is drawn")
    (out / "report.txt").write_text(subprocess.run([args.fatune, "report", str(out)], capture_output=True, text=True, check=False).stdout)
    repeat(args, checks, mode, out, folder / f"{mode}-again", problem)


def repeat(args, checks, mode, run, again, problem):
    code, _, stderr = run_json(args.fatune, "evolve", "--proposer", f"replay:{run}", *START, *problem, "--mode", mode, *sizes(args),
                               "--device", f"recorded:{run}", "--out", str(again))
    checks.expect(code == 0, f"{mode} again ended with {code}: {stderr[-1000:]}")
    # The header alone says that it was recorded.
    checks.expect(ledger_of(run)[1:] == ledger_of(again)[1:], f"{mode}: the run repeats from its transcript")
    checks.expect("not the one that was answered" not in stderr, f"{mode}: the requests are the same")


def refuse_bad(args, checks, folder):
    """Each is charged with its reason, and the run goes on to an honest one."""
    answers = [{"candidates": [{"edits": [{"find": find, "replace": replace}], "lever": name, "parents": ["t0"]}]} for name, ((find, replace), _) in BAD.items()]
    honest = subprocess.run([sys.executable, "-c", "import json, sys; sys.path.insert(0, sys.argv[1]); import rules; "
                             "source = open(sys.argv[1] + '/start/poor_rows.cu').read(); manifest = json.load(open(sys.argv[1] + '/start/poor_rows.json')); "
                             "print(json.dumps({'candidates': [rules.move(rules.BY_LEVER['vector_loads'], {'source': source, 'manifest': manifest})]}))", str(EXAMPLES)],
                            capture_output=True, text=True, check=True).stdout
    transcript = folder / "bad.jsonl"
    entries = [json.dumps(answer) for answer in answers] + [honest.strip()]
    transcript.write_text("".join(json.dumps({"schema": "fatune.evolve_transcript/1", "ask": ask, "request": "", "answer": answer, "seconds": 0}) + "\n" for ask, answer in enumerate(entries)))
    out = folder / "bad"
    code, document, stderr = run_json(args.fatune, "evolve", "--proposer", f"replay:{transcript}", *START, *SMALL, "--trials", str(len(entries)), "--rounds", "0", "--out", str(out))
    checks.expect(code == 0 and document is not None, f"the run of bad kernels ended with {code}: {stderr[-2000:]}")
    if document is None:
        return
    for trial, (name, (_, outcomes)) in zip(document["trials"][1:], BAD.items()):
        outcome = trial["shapes"][0]["outcome"] if trial.get("shapes") else trial["step"]
        print(f"{name:14} {outcome:14} {trial.get('reason', '')[:140]}")
        checks.expect(trial["verdict"] == "invalid" and outcome in outcomes, f"{name}: {trial['verdict']}, {outcome}: {trial.get('reason')}")
    last = document["trials"][-1]
    checks.expect(last["verdict"] == "elite", f"an honest kernel after them passes: {last.get('reason')}")


def main():
    args = arguments(__doc__.splitlines()[0], out="folder for the runs", trials="of each mode", modes="comma-separated", suite="in place of 4,8,512,64", evaluations="configs of a template on a problem")
    checks = Checks()
    problem = ["--suite", args.suite] if args.suite else ["--shape", "4,8,512,64"]
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(args.out or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        refuse_bad(args, checks, folder)
        for mode in (args.modes or "free,insight,full").split(","):
            evolve(args, checks, mode, folder, problem)
    checks.finish()


if __name__ == "__main__":
    main()
