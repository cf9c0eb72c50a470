#!/usr/bin/env python3
"""known_configs.py - suites of results/DEVICE to configs/known/ARCH.json, where searches start.

    known_configs.py            writes the files
    known_configs.py --check    exit 1 when a file is not what results/ gives
"""
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]


def problem_of(row):
    """As fatune writes problems: the mask by name."""
    problem = dict(row["problem"])
    problem["mask"] = "causal" if problem.pop("causal") else "none"
    return problem


def known_of(folder):
    """The fastest of each problem and kernel, in the order of the suites."""
    fastest, arch, device = {}, None, None
    for suite in sorted(folder.glob("suite-*.json")):
        content = json.loads(suite.read_text())
        arch, device = content["device"]["arch"], content["device"]["name"]
        for row in content["rows"]:
            best = row["best"]
            if best is None or not best["impl"].startswith("fatune:"):
                continue
            key = json.dumps([row["problem"], best["kernel"]])
            if key in fastest and fastest[key][0] <= best["hot_us"]:
                continue
            source = f"{suite.relative_to(ROOT).as_posix()}: {row['name']}"
            fastest[key] = (best["hot_us"], {"problem": problem_of(row), "kernel": best["kernel"],
                                             "config": best["config"], "source": source})
    return arch, device, [known for _, known in fastest.values()]


def text_of(arch, device, configs):
    """One config a line, so that the file diffs well."""
    head = json.dumps({"schema": "fatune.known/1", "arch": arch, "device": device})[:-1]
    lines = ",\n".join("  " + json.dumps(config, separators=(",", ":")) for config in configs)
    return f'{head}, "configs": [\n{lines}\n]}}\n'


def main():
    stale = []
    for folder in sorted(path for path in (ROOT / "results").iterdir() if path.is_dir()):
        arch, device, configs = known_of(folder)
        if not configs:
            continue
        target = ROOT / "configs" / "known" / f"{arch}.json"
        text = text_of(arch, device, configs)
        if "--check" not in sys.argv:
            target.parent.mkdir(exist_ok=True)
            target.write_text(text)
        elif not target.exists() or target.read_text() != text:
            stale.append(target.relative_to(ROOT).as_posix())
    if stale:
        sys.exit(f"{', '.join(stale)}: stale; run tools/known_configs.py")


if __name__ == "__main__":
    main()
