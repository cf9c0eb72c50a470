#!/usr/bin/env python3
"""Validates every JSON that fatune writes, and the committed ones, against their schemas.

  check_schemas.py --fatune build/dev/fatune [--fakes FOLDER]
  check_schemas.py DOCUMENT...              only these files

Schemas are those that `fatune schema` prints and those of configs/schemas. Commands run on the recorded device, so this needs no GPU.
A schema library that is missing is a failure, not a skip.
"""
import argparse
import gzip
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import warnings

try:
    import fastjsonschema
    import jsonschema
except ImportError:  # apt's python3-jsonschema belongs to the system's Python
    system = "/usr/bin/python3"
    if os.path.exists(system) and os.path.realpath(sys.executable) != os.path.realpath(system):
        os.execv(system, [system, *sys.argv])
    sys.exit("jsonschema or fastjsonschema of Python is missing: tools/bootstrap.sh test installs both")

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMAS = ROOT / "configs" / "schemas"
RECORDINGS = pathlib.Path(__file__).resolve().parents[1] / "data" / "recording"
SUBMISSIONS = pathlib.Path(__file__).resolve().parents[1] / "data" / "judge" / "submissions.jsonl"
SHAPE = "--shape 4,8,512,64"
CONFIG = (pathlib.Path(__file__).resolve().parents[1] / "data" / "cli" / "fa_mma.json").read_text()
SUITE = {"schema": "fatune.problems/1", "name": "two", "problems": [
    {"name": "held", "shape": "4,8,512,64"}, {"name": "not-held", "shape": "1,8,512,64"}]}
NO_DEVICE = ("compile", "devices", "doctor", "export", "inspect", "kernels", "replay", "report")
# Commands for a fresh folder. stdout is one document for every exit code, also for an error.
COMMANDS = [
    f"sweep {SHAPE} --kernel fa_mma --budget 20 --out run",
    f"bench --kernel fa_mma {SHAPE}",
    f"bench --config config.json --impl naive,cudnn {SHAPE} --out bench.json",
    "bench --impl naive,torch:flash --suite suite.json --suite-out suite-impl.json",
    "bench --config config.json --suite suite.json --suite-out suite-config.json",
    f"gate --candidate config.json --baseline naive,torch:flash,torch:math {SHAPE} --out gate.json",
    f"gate --candidate config.json --baseline bench.json {SHAPE}",
    "gate --candidate config.json --baseline naive --suite suite.json",
    f"verify --config config.json {SHAPE}",
    "verify --selftest",
    f"compile {SHAPE} --kernel fa_mma --budget 2",
    f"sweep {SHAPE} --budget many",
    "bench --no-such-option",
    f"inspect --kernel fa_mma {SHAPE} --arch sm_90a",
    f"inspect --kernel fa_wgmma {SHAPE} --arch sm_80",
    f"inspect --config config.json {SHAPE} --arch sm_90a",
    "inspect run --importance",
    "kernels",
    "kernels lint fa_rows --static-only",
    f"kernels space {RECORDINGS}/convolution_t1.json",
    "devices",
    "report run",
    "report nowhere",
    f"profile --config config.json {SHAPE}",
    f"export --config config.json {SHAPE} --arch sm_90a --unverified --to cubin,json --name attention",
    f"export --config config.json {SHAPE} --arch sm_90a --unverified --to wisdom -o wisdom",
    "doctor",
    f"replay {RECORDINGS}/convolution_a100.json {RECORDINGS}/hyperparameters_ga.json --repeats 2 --budget 40 --quiet",
]
WRITTEN = ["run/best.json", "run/journal.jsonl", "bench.json", "suite-impl.json", "suite-config.json", "gate.json", "attention.json", "wisdom/index.json"]


def load_schemas(fatune):
    """The committed schemas by file name and, with a program, its printed schemas."""
    schemas = {path.name: json.loads(path.read_text()) for path in sorted(SCHEMAS.glob("*.json"))}
    names = subprocess.run([fatune, "schema"], capture_output=True, text=True, check=True).stdout.split() if fatune else []
    for name in names:
        printed = subprocess.run([fatune, "schema", name], capture_output=True, text=True, check=True).stdout
        schemas[f"{name}.json"] = json.loads(printed)
    return schemas


def make_validator(schema, schemas):
    """Resolves references between the files by name; older versions of the library have no registry."""
    try:
        from referencing import Registry, Resource
    except ImportError:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            resolver = jsonschema.RefResolver("", schema, store=schemas)
        return jsonschema.Draft202012Validator(schema, resolver=resolver)
    pairs = [(name, Resource.from_contents(each)) for name, each in schemas.items()]
    return jsonschema.Draft202012Validator(schema, registry=Registry().with_resources(pairs))


class Checker:
    def __init__(self, fatune=None):
        self.schemas = load_schemas(fatune)
        self.validators, self.failures, self.checked = {}, [], {}
        for name, schema in self.schemas.items():
            jsonschema.Draft202012Validator.check_schema(schema)
            self.validators[name] = make_validator(schema, self.schemas)
        # The committed journals have 60,000 lines: jsonschema takes a minute for them, fastjsonschema seconds. It reads every keyword
        # of this schema; jsonschema explains what it refuses.
        self.fits_journal = fastjsonschema.compile(self.schemas["journal.1.json"])

    def check(self, document, where, schema=None):
        schema = schema or document.get("schema", "").removeprefix("fatune.").replace("/", ".") + ".json"
        if schema not in self.validators:
            self.failures.append(f"{where}: there is no schema {schema}")
            return
        self.checked[schema] = self.checked.get(schema, 0) + 1
        error = jsonschema.exceptions.best_match(self.validators[schema].iter_errors(document))
        if error:
            at = "/".join(str(step) for step in error.absolute_path) or "the document"
            self.failures.append(f"{where}: {at}: {error.message[:400]} ({schema})")

    def check_line(self, document, where):
        try:
            self.fits_journal(document)
            self.checked["journal.1.json"] = self.checked.get("journal.1.json", 0) + 1
        except fastjsonschema.JsonSchemaException:
            self.check(document, where, "journal.1.json")

    def check_head(self, document, where, code):
        if list(document)[:4] != ["schema", "fatune", "command", "recorded"]:
            self.failures.append(f"{where}: begins with {list(document)[:4]}")
        if document["schema"].startswith("fatune.error/") and document["error"]["exit_code"] != code:
            self.failures.append(f"{where}: exit {code} with a {document['schema']}")

    def check_file(self, path):
        if path.name.startswith("journal.jsonl") or path.name.endswith(".jsonl.gz"):
            text = gzip.open(path, "rt").read() if path.suffix == ".gz" else path.read_text()
            for number, line in enumerate(text.splitlines(), 1):
                self.check_line(json.loads(line), f"{path}:{number}")
        else:
            self.check(json.loads(path.read_text()), path)


def check_commands(checker, fatune):
    with tempfile.TemporaryDirectory() as folder:
        here = pathlib.Path(folder)
        (here / "config.json").write_text(CONFIG)
        (here / "suite.json").write_text(json.dumps(SUITE))
        env = {"PATH": "/usr/bin:/bin", "HOME": folder, "XDG_CACHE_HOME": folder + "/cache", "LC_ALL": "C.UTF-8"}
        for command in COMMANDS:
            device = [] if command.split()[0] in NO_DEVICE else ["--device", "recorded"]
            line = [fatune, *command.split(), *device, "--json"]
            done = subprocess.run(line, cwd=here, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  timeout=240, check=False)
            try:
                checker.check(json.loads(done.stdout), f"fatune {command}")
                checker.check_head(json.loads(done.stdout), f"fatune {command}", done.returncode)
            except json.JSONDecodeError:
                checker.failures.append(f"fatune {command}: exit {done.returncode}, no JSON on stdout: {done.stderr[-400:]}")
        for name in WRITTEN:
            if (here / name).exists():
                checker.check_file(here / name)
            else:
                checker.failures.append(f"{name} was not written")


def check_judgements(checker, fatune):
    """Submissions that the judge keeps."""
    with tempfile.TemporaryDirectory() as folder:
        env = {"PATH": "/usr/bin:/bin", "HOME": folder, "LC_ALL": "C.UTF-8"}
        with open(SUBMISSIONS) as lines:
            subprocess.run([fatune, "judge", "--jsonl", "--device", "none", "--out", "judged"], cwd=folder, env=env, stdin=lines,
                           capture_output=True, timeout=240, check=True)
        for line in (pathlib.Path(folder) / "judged" / "judgements.jsonl").read_text().splitlines():
            checker.check(json.loads(line), "judgements.jsonl")


def check_evolution(checker, fatune):
    """Requests and answers of a run, its ledger, its transcript and its document."""
    examples = ROOT / "examples" / "evolve"
    with tempfile.TemporaryDirectory() as folder:
        env = {"PATH": "/usr/bin:/bin", "HOME": folder, "LC_ALL": "C.UTF-8"}
        proposer = f"{shlex.quote(sys.executable)} {shlex.quote(str(examples / 'rules.py'))}"
        done = subprocess.run([fatune, "evolve", "--proposer", proposer, "--kernel-dir", examples / "start", "--kernel", "poor_rows", "--device", "none",
                               *SHAPE.split(), "--trials", "4", "--out", "run", "--json"], cwd=folder, env=env, capture_output=True, text=True, timeout=240, check=True)
        checker.check(json.loads(done.stdout), "fatune evolve")
        for line in (pathlib.Path(folder) / "run" / "ledger.jsonl").read_text().splitlines():
            checker.check(json.loads(line), "ledger.jsonl", "evolve_ledger.1.json")
        for line in (pathlib.Path(folder) / "run" / "transcript.jsonl").read_text().splitlines():
            entry = json.loads(line)
            checker.check(entry, "transcript.jsonl")
            checker.check(json.loads(entry["request"]), "request of transcript.jsonl")
            checker.check(json.loads(entry["answer"]), "answer of transcript.jsonl", "evolve_proposal.1.json")


def check_devices(checker, fatune, fakes):
    """Documents of the fake driver's GPU."""
    env = {"PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": fakes, "FATUNE_FAKE_GPU": "quiet", "LC_ALL": "C.UTF-8"}
    done = subprocess.run([fatune, "devices", "--json"], env=env, capture_output=True, text=True, timeout=120, check=False)
    checker.check(json.loads(done.stdout), "fatune devices")
    if "fatune.devices/" not in done.stdout:
        checker.failures.append(f"fatune devices: exit {done.returncode}: {done.stdout[:400]}")




def check_committed(checker):
    for path in [*sorted(ROOT.glob("kernels/*/*.json")), *sorted(ROOT.glob("examples/*/*.json")), *sorted(ROOT.glob("configs/problems/*.json")), *sorted(ROOT.glob("examples/evolve/start/*.json")), *sorted(ROOT.glob("configs/recorded/*")), *sorted(ROOT.glob("configs/known/*.json")),
                 *sorted(ROOT.glob("results/**/journal.jsonl*"))]:
        checker.check_file(path)
    for path in sorted(ROOT.glob("results/**/*.json")):
        document = json.loads(path.read_text())
        name = document.get("schema", "").removeprefix("fatune.").replace("/", ".") + ".json"
        if name in checker.validators:  # other files there are notes of one experiment
            checker.check(document, path)


def check_everything(checker, fatune, fakes):
    check_committed(checker)
    check_commands(checker, fatune)
    check_judgements(checker, fatune)
    check_evolution(checker, fatune)
    if fakes:
        check_devices(checker, fatune, fakes)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("documents", nargs="*", type=pathlib.Path)
    parser.add_argument("--fatune")
    parser.add_argument("--fakes", help="folder of a driver for a GPU that is not there")
    args = parser.parse_args()
    if bool(args.documents) == bool(args.fatune):
        parser.error("takes documents, or --fatune")
    checker = Checker(args.fatune and os.path.abspath(args.fatune))
    for path in args.documents:
        checker.check_file(path)
    if args.fatune:
        check_everything(checker, os.path.abspath(args.fatune), args.fakes)
    for failure in checker.failures:
        print(failure)
    print(", ".join(f"{count} of {name}" for name, count in sorted(checker.checked.items())))
    sys.exit(1 if checker.failures else 0)


if __name__ == "__main__":
    main()
