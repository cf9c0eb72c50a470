#!/usr/bin/env python3
"""Sweeps the decoding suite on recorded devices with --confirm-on, and checks what they agree on.

    confirm_test.py --fatune PATH

The second device is the first one's recording with all times 1 % longer and the winner of one problem so slow that its second
loses less on both devices: the two disagree about that problem, and the second must win. A sweep whose processes are killed while
they confirm, and that is given again, must end with the same result. Everything runs on this machine's processor: no GPU
takes part.
"""
import argparse
import gzip
import itertools
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time

from shard_test import RESULTS, SWEEP, children_of, fatune, finish, on_devices, run_test, until, want

GPUS = 2
UUIDS = {"GPU-the-one", "GPU-the-other"}
TIMES = ("in_layer", "plain", "hot", "cold")


def scaled(record, factor):
    for name in TIMES:
        if name in record:
            for key in ("median_us", "min_us"):
                if record[name].get(key):
                    record[name][key] *= factor
            for key in ("iqr_us", "ci95_us"):
                if record[name].get(key):
                    record[name][key] = [us * factor for us in record[name][key]]
        if f"{name}_rounds_us" in record:
            record[f"{name}_rounds_us"] = [us * factor for us in record[f"{name}_rounds_us"]]
    return record


def device(folder, uuid, factor_of):
    """The recording as another GPU of that kind has it: each time by its factor."""
    with gzip.open(RESULTS / "journal.jsonl.gz", "rt") as file:
        lines = [json.loads(line) for line in file]
    for record in lines:
        record.pop("crc", None)
        if record.get("t") in ("candidate", "final"):
            scaled(record, factor_of(record.get("id")))
    lines[0]["environment"] |= {"uuid": uuid, "power_limit_w": 700}
    folder.mkdir()
    (folder / "journal.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def lead(problem):
    """Of its best: the time of its second over its own."""
    first, second = problem["finalists"][:2]
    return second["hot"]["median_us"] / first["hot"]["median_us"]


def disputed(best):
    """The problem whose second config is nearest to its first."""
    return min((problem for problem in best["problems"] if len(problem["finalists"]) > 1), key=lead)


def words(devices, out, count=GPUS):
    return [*on_devices(devices, out), "--confirm-on", str(count)]


def load(folder):
    return json.loads((folder / "best.json").read_text())


def refused(program, chosen, *texts):
    said = finish(fatune(program, chosen), 2)
    for text in texts:
        want(text in said, f"'{text}' is not in: {said}")


def check_agreement(folder, before):
    """`before`: of the disputed problem, on the first device alone."""
    best = load(folder)
    label = before["label"]
    (first,) = [problem for problem in best["problems"] if problem["label"] == label]
    others = [problem for problem in best["problems"] if problem["label"] != label]
    winner = first["fleet_winner"]
    want(winner["id"] == first["best"]["id"] == before["finalists"][1]["id"],
         "the config that is far slower on the other GPU is the best of both")
    want(len({gpu["winner"] for gpu in winner["gpus"]}) == 2, "two GPUs that differ name one winner")
    want(abs(winner["worst"] / lead(before) - 1) < 1e-4, f"its worst ratio is {winner['worst']}")
    for problem in others:
        agreed = problem["fleet_winner"]
        want(agreed["id"] == problem["best"]["id"] and agreed["worst"] < 1.01, f"{problem['label']}: {agreed['worst']}")
        want(abs(agreed["spread"] - 0.01) < 1e-4, f"{problem['label']}: the spread is {agreed['spread']}, not 1 %")
    for problem in best["problems"]:
        gpus = problem["fleet_winner"]["gpus"]
        want(len(gpus) == GPUS, f"{problem['label']}: {len(gpus)} GPUs have its final phase, not {GPUS}")
        want({gpu["device"]["uuid"] for gpu in gpus} == UUIDS, f"{problem['label']}: a GPU is missing")
        want(all(gpu["device"]["power_limit_w"] > 0 and gpu["device"]["max_sm_clock_mhz"] > 0 for gpu in gpus),
             "clocks or power limit of a GPU are missing")
    check_work(best)
    records = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
    again = [record for record in records[1:] if record["t"] == "confirmation"]
    want(len(again) == len(best["problems"]) * (GPUS - 1), f"the journal has {len(again)} confirmations")
    want(records[-1]["t"] == "end", "the journal has no end")


def check_reports(program, run, page):
    """Text and page show each GPU; the page, which is sent to others, names none by its UUID."""
    said = subprocess.run([program, "report", run], capture_output=True, text=True, check=True).stdout
    want("Confirmed: " in said and all(uuid in said for uuid in UUIDS), f"the report does not say what was confirmed: {said}")
    finish(fatune(program, ["report", run, "-o", page]))
    text = page.read_text()
    want('"fleet_winner"' in text and '"fleet"' in text, "the page has no data of several devices")
    want(not any(uuid in text for uuid in UUIDS), "the page names a GPU by its UUID")


def check_work(best):
    """What best.json says of the devices of the last call: no device has two problems at once."""
    labels = {problem["label"] for problem in best["problems"]}
    for worker in best["fleet"]["workers"]:
        work = worker["work"]
        want(all(each["problem"] in labels and each["begin_s"] <= each["end_s"] <= best["fleet"]["seconds"] for each in work),
             f"{worker['name']}: {work}")
        want(all(a["end_s"] <= b["begin_s"] for a, b in itertools.pairwise(work)), f"{worker['name']}: two at once")
    again = [each for worker in best["fleet"]["workers"] for each in worker["work"] if each.get("again")]
    want(len([each for each in again if not each.get("failed")]) <= len(labels) * (GPUS - 1), "a final phase stands there twice")


def kill_while_confirming(program, devices, out):
    process = fatune(program, words(devices, out))
    until(lambda: list(out.glob("parts/*-gpu-2")), "a final phase is repeated", 240)
    for pid in children_of(process)[:1]:
        os.kill(pid, signal.SIGKILL)
    time.sleep(0.2)
    process.kill()
    process.wait()
    if not (out / "journal.jsonl").exists():  # else it was too quick for the kill
        finish(fatune(program, words(devices, out)))


def winners(folder):
    return [problem["best"]["id"] for problem in load(folder)["problems"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fatune", required=True)
    program = parser.parse_args().fatune
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        finish(fatune(program, [*SWEEP, "--shard", "1/1", "--out", folder / "alone"]))
        before = disputed(load(folder / "alone"))
        slow = before["best"]["id"]
        factor = 1.1 * lead(before) ** 2
        devices = [device(folder / "one", "GPU-the-one", lambda id: 1),
                   device(folder / "other", "GPU-the-other", lambda id: 1.01 * factor if id == slow else 1.01)]
        finish(fatune(program, words(devices, folder / "two")))
        check_agreement(folder / "two", before)
        check_reports(program, folder / "two", folder / "page.html")
        kill_while_confirming(program, devices, folder / "killed")
        check_agreement(folder / "killed", before)
        want(winners(folder / "killed") == winners(folder / "two"), "a kill while it confirms changes a winner")
        finish(fatune(program, words([*devices, devices[0]], folder / "three")))
        check_agreement(folder / "three", before)
        refused(program, words([*devices, devices[0]], folder / "no", 3), "--confirm-on 3", "--device names 2 GPUs")
        refused(program, words(devices[:1], folder / "no"), "--confirm-on 2", "one device")
        refused(program, words(devices, folder / "no", 1), "--confirm-on", "2")
        refused(program, ["sweep", "--resume", folder / "two", "--device", f"recorded:{devices[0]}"], "several GPUs agreed on")
        print("two GPUs agree on a config for each problem, kills while they confirm change none")


if __name__ == "__main__":
    run_test(main)
