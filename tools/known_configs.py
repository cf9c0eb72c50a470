#!/usr/bin/env python3
"""known_configs.py - runs of results/DEVICE to configs/known/ARCH.json, where searches start.

    known_configs.py            writes the files
    known_configs.py --check    exit 1 when a file is not what results/ gives
"""
import argparse
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]


def load_manifests():
    """Every manifest of kernels/ by the kernel's name."""
    manifests = (json.loads(file.read_text()) for file in sorted(ROOT.glob("kernels/*/*.json")))
    return {manifest["name"]: manifest for manifest in manifests}


def with_current_names(manifest, config):
    """A config with today's names and values of parameters, in the manifest's order, as src/model/kernel/manifest_parameters.cpp does it."""
    current = {}
    for parameter in manifest["parameters"]:
        if "before" in parameter:
            current[parameter["name"]] = parameter["before"]
        for name in [parameter["name"], *parameter.get("aliases", [])]:
            if name in config:
                value = config[name]
                words = parameter.get("value_aliases", {})
                current[parameter["name"]] = words.get(value, value) if isinstance(value, str) else value
    return current


def update_names(manifests, kernel, config):
    """The kernel that has the config today, and the config as that kernel's manifest spells it."""
    for name, manifest in manifests.items():
        split = manifest.get("split_from", {"kernel": None})
        if split["kernel"] == kernel and split["config"].items() <= config.items():
            kernel = name
            break
    return kernel, with_current_names(manifests[kernel], config)


def results_of(folder):
    """Every problem's entry of every committed best.json, with the file and a name to say where it is from."""
    for file in sorted(folder.glob("*/best.json")):
        content = json.loads(file.read_text())
        for entry in content.get("problems", [content]):
            name = f": {entry['name']}" if "name" in entry else ""
            yield content["device"], entry, file.relative_to(ROOT).as_posix() + name


def rank_of(finalist):
    """What orders finalists of several runs, and the name of the time: one in a layer counts before others."""
    times = ["in_layer", "plain", "hot"]
    time = next(time for time in times if time in finalist)
    return (times.index(time), finalist[time]["median_us"]), time


def known_of(folder):
    """The fastest of each problem and kernel, among all finalists; of a problem the fastest kernel first."""
    fastest, arch, device_name = {}, None, None
    manifests = load_manifests()
    for device, entry, source in results_of(folder):
        arch, device_name = device["arch"], device["name"]
        for finalist in entry["finalists"]:
            if finalist["outcome"] != "measured":
                continue
            rank, time = rank_of(finalist)
            kernel, config = update_names(manifests, finalist["kernel"], finalist["config"])
            key = json.dumps([entry["problem"], kernel])
            if key in fastest and fastest[key][0] <= rank:
                continue
            known = {"problem": entry["problem"], "kernel": kernel, "config": config, "source": source, "time": time, "median_us": float(f"{rank[1]:.4g}")}
            fastest[key] = (rank, known)
    problems = list(dict.fromkeys(json.dumps(known["problem"]) for _, known in fastest.values()))
    ordered = sorted(fastest.values(), key=lambda each: (problems.index(json.dumps(each[1]["problem"])), each[0]))
    return arch, device_name, [known for _, known in ordered]


def text_of(arch, device, configs):
    """One config a line, so that the file diffs well."""
    head = json.dumps({"schema": "fatune.known/1", "arch": arch, "device": device})[:-1]
    lines = ",\n".join("  " + json.dumps(config, separators=(",", ":")) for config in configs)
    return f'{head}, "configs": [\n{lines}\n]}}\n'


def known_by_arch():
    """Of an architecture that several devices have, those of the one with most of them: times of two do not compare."""
    known = {}
    for folder in sorted(path for path in (ROOT / "results").iterdir() if path.is_dir()):
        arch, device, configs = known_of(folder)
        if len(configs) > len(known.get(arch, ("", []))[1]):
            known[arch] = (device, configs)
    return known


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    stale = []
    for arch, (device, configs) in known_by_arch().items():
        target = ROOT / "configs" / "known" / f"{arch}.json"
        text = text_of(arch, device, configs)
        if not check:
            target.parent.mkdir(exist_ok=True)
            target.write_text(text)
        elif not target.exists() or target.read_text() != text:
            stale.append(target.relative_to(ROOT).as_posix())
    if stale:
        sys.exit(f"{', '.join(stale)}: stale; run tools/known_configs.py")


if __name__ == "__main__":
    main()
