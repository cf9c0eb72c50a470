#!/usr/bin/env python3
"""For each value of each parameter the best time of any config that has it, from a journal of a whole space.

    parameter_effects.py JOURNAL[.gz] KERNEL      a Markdown table, as in the kernels' notes
"""
import gzip
import json
import sys


def measured(path, kernel):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt") as journal:
        for line in journal:
            record = json.loads(line)
            if record.get("t") == "candidate" and record["kernel"] == kernel and record["outcome"] in ("measured", "pruned"):
                yield record["config"], record["hot"]["median_us"]


def text(value):
    return json.dumps(value) if isinstance(value, bool) else str(value)


def table(journal, kernel):
    rows = list(measured(str(journal), kernel))
    if not rows:
        sys.exit(f"{journal} holds no times of {kernel}")
    lines = ["| parameter | best time of any config with this value, µs |", "|---|---|"]
    for name in rows[0][0]:
        best = {}
        for config, time in rows:
            best[config[name]] = min(time, best.get(config[name], time))
        cells = ", ".join(f"{text(value)}: {best[value]:.2f}" for value in sorted(best, key=lambda v: (isinstance(v, str), v)))
        lines.append(f"| {name} | {cells} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(sys.argv[1], sys.argv[2]))
