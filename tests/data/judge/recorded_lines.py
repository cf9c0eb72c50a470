#!/usr/bin/env python3
"""Lines for `fatune judge --jsonl --device recorded`: fa_rows as it stands in kernels/, at the recorded problem.

    recorded_lines.py modes    submissions in each mode, and such as the recording does not hold
    recorded_lines.py tools    the other tools
"""
import json
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parents[3] / "kernels" / "fa_rows"
BEST = {"THREADS": 128, "BLOCK_N": 8, "KV_SOURCE": "shared_f32", "Q_FORMAT": "packed", "EXP2": True}


def kernel(**more):
    return {"problem": "mission/mission", "source": (FOLDER / "fa_rows.cu").read_text(),
            "manifest": json.loads((FOLDER / "fa_rows.json").read_text()), **more}


def modes():
    yield "submit_kernel", kernel()
    yield "submit_kernel", kernel(mode="rank", thought="the defaults")
    yield "submit_kernel", kernel(mode="final", config=BEST, thought="found by a search")
    changed = kernel(mode="rank")
    changed["source"] += "// another text\n"
    yield "submit_kernel", changed
    yield "submit_kernel", kernel(mode="fast")
    yield "submit_kernel", {**kernel(mode="rank"), "problem": "mission/small"}


def tools():
    yield "tune_kernel", kernel(evaluations=30, thought="any tile")
    narrow = kernel(thought="fewer registers")
    narrow["manifest"]["constraints"].append({"require": "THREADS >= 128", "why": "fewer threads were slower"})
    yield "submit_kernel", narrow
    yield "history", {"last": 1}
    yield "leaderboard", {"problem": "mission/mission", "first": 1}
    yield "explain_failure", {"id": "0123456789abcdef"}
    yield "compare", {"ids": ["0123456789abcdef"]}
    yield "profile_kernel", {"id": "0123456789abcdef"}
    yield "tune_kernel", kernel(strategy="magic")
    yield "tune_kernel", kernel(evaluations=0)


if __name__ == "__main__":
    for number, (tool, arguments) in enumerate({"modes": modes, "tools": tools}[sys.argv[1]](), 1):
        print(json.dumps({"id": number, "tool": tool, "arguments": arguments}))
