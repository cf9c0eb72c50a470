#!/usr/bin/env python3
"""known_configs.py - runs of results/ to configs/known/ARCH.json, and ARCH_DEVICE.json of another device, where searches start.

    known_configs.py            writes the files
    known_configs.py --check    exit 1 when a file is not what results/ gives
"""
import argparse
import itertools
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


def known_by_device():
    """By architecture and device the fastest of each problem and kernel, among all finalists; of a problem the fastest kernel first."""
    devices = {}
    manifests = load_manifests()
    for device, entry, source in itertools.chain.from_iterable(map(results_of, sorted((ROOT / "results").iterdir()))):
        fastest = devices.setdefault((device["arch"], device["name"]), {})
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
    return {device: in_order(list(fastest.values())) for device, fastest in devices.items() if fastest}


def in_order(fastest):
    problems = list(dict.fromkeys(json.dumps(known["problem"]) for _, known in fastest))
    return [known for _, known in sorted(fastest, key=lambda each: (problems.index(json.dumps(each[1]["problem"])), each[0]))]


def text_of(arch, device, configs):
    """One config a line, so that the file diffs well."""
    head = json.dumps({"schema": "fatune.known/1", "arch": arch, "device": device})[:-1]
    lines = ",\n".join("  " + json.dumps(config, separators=(",", ":")) for config in configs)
    return f'{head}, "configs": [\n{lines}\n]}}\n'


def files():
    """Of an architecture's devices the one with most configs has the file that comes first, and its config counts where two have the same."""
    texts, first = {}, {}
    for (arch, device), configs in sorted(known_by_device().items(), key=lambda each: -len(each[1])):
        name = f"{arch}_{device.split()[1].lower()}" if arch in first else arch
        told = first.setdefault(arch, set())
        new = [config for config in configs if identity(config) not in told]
        told.update(map(identity, new))
        texts[ROOT / "configs" / "known" / f"{name}.json"] = text_of(arch, device, new)
    return texts


def identity(known):
    return json.dumps([known["problem"], known["kernel"], known["config"]])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    stale = []
    for target, text in files().items():
        if not check:
            target.parent.mkdir(exist_ok=True)
            target.write_text(text)
        elif not target.exists() or target.read_text() != text:
            stale.append(target.relative_to(ROOT).as_posix())
    if stale:
        sys.exit(f"{', '.join(stale)}: stale; run tools/known_configs.py")


if __name__ == "__main__":
    main()
