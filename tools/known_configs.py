#!/usr/bin/env python3
"""known_configs.py - runs of results/DEVICE to configs/known/ARCH.json, where searches start.

    known_configs.py            writes the files
    known_configs.py --check    exit 1 when a file is not what results/ gives
"""
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]


def results_of(folder):
    """Every problem's entry of every committed best.json, with the file and a name to say where it is from."""
    for file in sorted(folder.glob("*/best.json")):
        content = json.loads(file.read_text())
        for entry in content.get("problems", [content]):
            name = f": {entry['name']}" if "name" in entry else ""
            yield content["device"], entry, file.relative_to(ROOT).as_posix() + name


def known_of(folder):
    """The fastest of each problem and kernel, among all finalists."""
    fastest, arch, device_name = {}, None, None
    for device, entry, source in results_of(folder):
        arch, device_name = device["arch"], device["name"]
        for finalist in entry["finalists"]:
            if finalist["outcome"] != "measured":
                continue
            time = finalist["hot"]["median_us"]
            key = json.dumps([entry["problem"], finalist["kernel"]])
            if key in fastest and fastest[key][0] <= time:
                continue
            fastest[key] = (time, {"problem": entry["problem"], "kernel": finalist["kernel"], "config": finalist["config"], "source": source})
    return arch, device_name, [known for _, known in fastest.values()]


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
