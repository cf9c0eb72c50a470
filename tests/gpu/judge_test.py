#!/usr/bin/env python3
"""judge_test.py: Checks verdicts and response times of `fatune judge` on a GPU.

    judge_test.py --fatune build/dev/fatune [--out DIR]

Prints a short table: seconds of a check and of a rank at 4,8,512,64, evaluations an hour, and the share of the wall time
that is the judge's own. With --out the judgements stay in DIR.
"""
import json
import pathlib
import subprocess
import tempfile
import time

from gpu_support import Checks, arguments

KERNELS = pathlib.Path(__file__).resolve().parents[2] / "kernels"
PROBLEM = "mission/mission"
LONGEST_CHECK_S, LONGEST_RANK_S, FEWEST_AN_HOUR, LARGEST_OVERHEAD = 2.0, 8.0, 450, 0.05
SPOILT = "\nextern \"C\" __global__ void fatune_unused() {}\n"  # another text each time: nothing is cached


class Judge:
    """A judge over JSON lines; `seconds` is how long the last answer took."""

    def __init__(self, fatune, out):
        command = [fatune, "judge", "--jsonl", "--suite", "mission", "--device", "cuda:0", "--baselines", "cudnn",
                   "--out", str(out), "--quiet"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.seconds = 0.0

    def ask(self, tool, **given):
        begun = time.monotonic()
        print(json.dumps({"tool": tool, "arguments": given}), file=self.process.stdin, flush=True)
        answer = json.loads(self.process.stdout.readline())
        self.seconds = time.monotonic() - begun
        return answer.get("result") or answer

    def end(self):
        self.process.stdin.close()
        return self.process.wait(timeout=60)


def kernel(name, extra=""):
    manifest = json.loads((KERNELS / name / f"{name}.json").read_text())
    return {"problem": PROBLEM, "source": (KERNELS / name / f"{name}.cu").read_text() + extra, "manifest": manifest}


def configs(manifest, wanted):
    """Changes of single parameters of the default config."""
    default = {each["name"]: each["default"] for each in manifest["parameters"]}
    found = []
    for parameter in manifest["parameters"]:
        for value in parameter["values"]:
            if value != parameter["default"] and len(found) < wanted:
                found.append({**default, parameter["name"]: value})
    return found


def judge_right_and_wrong(judge, checks):
    right = judge.ask("submit_kernel", **kernel("fa_wmma"))
    checks.expect(right.get("passed") is True, f"fa_wmma passes a check: {right}")
    rows = kernel("fa_rows")
    rows["source"] = rows["source"].replace("SEQ_KV", "(SEQ_KV - 1)")
    refused = judge.ask("submit_kernel", **rows)
    checks.expect(refused.get("passed") is False and refused.get("gate"), f"a kernel that skips a key is refused: {refused}")
    explained = judge.ask("explain_failure", id=refused.get("id", ""))
    checks.expect(explained.get("gate") == refused.get("gate"), f"its gate is explained: {explained}")
    if refused.get("gate") == "accuracy":
        checks.expect(bool(explained.get("regions")), f"regions are told: {explained}")
    return right


def time_modes(judge, checks, table):
    judge.ask("submit_kernel", mode="rank", **kernel("fa_wmma"))  # measures the baseline, too
    for mode, longest in (("check", LONGEST_CHECK_S), ("rank", LONGEST_RANK_S)):
        taken = []
        for number in range(3):
            answer = judge.ask("submit_kernel", mode=mode, **kernel("fa_wmma", SPOILT.replace("unused", f"{mode}{number}")))
            checks.expect(answer.get("passed") is True, f"{mode} {number}: {answer}")
            taken.append(judge.seconds)
        seconds = sorted(taken)[1]
        table.append((f"{mode}, seconds (median of 3, nothing cached)", f"{seconds:.2f}", f"<= {longest:g}"))
        checks.expect(seconds <= longest, f"a {mode} takes {seconds:.2f} s")
    checks.expect({"plain", "hot"} <= set(answer) and answer["baselines"][0].get("ratio"), f"a rank has times: {answer}")


def time_evaluations(judge, checks, table):
    wanted = configs(kernel("fa_wmma")["manifest"], 12)
    begun, examined = time.monotonic(), 0.0
    for config in wanted:
        answer = judge.ask("submit_kernel", mode="rank", config=config, **kernel("fa_wmma"))
        checks.expect("outcome" in answer, f"{config}: {answer}")
        examined += answer.get("examined_s", 0)
    wall = time.monotonic() - begun
    rate, overhead = 3600 * len(wanted) / wall, 1 - examined / wall
    table.append(("evaluations an hour (rank)", f"{rate:.0f}", f">= {FEWEST_AN_HOUR}"))
    table.append(("share of the wall time that is the judge's own", f"{overhead:.3f}", f"<= {LARGEST_OVERHEAD:g}"))
    checks.expect(rate >= FEWEST_AN_HOUR, f"{rate:.0f} evaluations an hour")
    checks.expect(overhead <= LARGEST_OVERHEAD, f"{overhead:.3f} of the time is the judge's own")


def use_other_tools(judge, checks):
    final = judge.ask("submit_kernel", mode="final", **kernel("fa_wmma"))
    checks.expect(final.get("passed") and final["baselines"][0].get("paired"), f"a final is paired: {final}")
    tuned = judge.ask("tune_kernel", evaluations=8, **kernel("fa_wmma"))
    checks.expect(bool(tuned.get("best")), f"a template is tuned: {tuned}")
    ids = sorted({final.get("id", ""), tuned.get("best", {}).get("id", "")})
    if len(ids) == 2:
        duel = judge.ask("compare", ids=ids)
        checks.expect(bool(duel.get("kernels", [{}, {}])[1].get("to_first")), f"two are compared: {duel}")
    board = judge.ask("leaderboard", problem=PROBLEM)
    checks.expect(bool(board.get("rows")), f"the leaderboard has rows: {board}")
    profile = judge.ask("profile_kernel", id=final.get("id", ""))
    status = profile.get("profile", {}).get("status")
    checks.expect(status == "profiled" or profile.get("profile", {}).get("reason"), f"a profile, or why not: {profile}")


def main():
    args = arguments(__doc__.splitlines()[0], out="keep the judgements in this folder")
    checks, table = Checks(), []
    with tempfile.TemporaryDirectory() as scratch:
        judge = Judge(args.fatune, args.out or scratch + "/out")
        judge_right_and_wrong(judge, checks)
        time_modes(judge, checks, table)
        time_evaluations(judge, checks, table)
        use_other_tools(judge, checks)
        checks.expect(judge.end() == 0, "the judge ends with its client")
    for what, value, target in table:
        print(f"{what:58} {value:>8}  {target}")
    checks.finish()


if __name__ == "__main__":
    main()
