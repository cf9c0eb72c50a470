#!/usr/bin/env python3
"""Tests `fatune evolve` without a GPU: three modes, repetition, hostile proposers, kills.

    evolve_test.py --fatune PATH
"""
import argparse
import contextlib
import gzip
import importlib.util
import json
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "evolve"
RULES = f"{shlex.quote(sys.executable)} {shlex.quote(str(EXAMPLES / 'rules.py'))}"
START = ["--kernel-dir", str(EXAMPLES / "start"), "--kernel", "poor_rows"]
SHAPE = ["--shape", "2,8,128,64"]
MARK = "3141.592"  # seconds that only these tests sleep, longer than any of them may take


def load_rules():
    spec = importlib.util.spec_from_file_location("rules", EXAMPLES / "rules.py")
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True
    spec.loader.exec_module(module)
    return module


def fatune(*words, code=0, **options):
    done = subprocess.run([FATUNE, *map(str, words)], capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == code, f"{words}: exit {done.returncode}, not {code}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done


def evolve(proposer, out, *more, code=0):
    return fatune("evolve", "--proposer", proposer, *START, *SHAPE, "--device", "none", "--out", out, *more, code=code)


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def trials_of(folder):
    return [line for line in lines_of(folder / "ledger.jsonl") if line.get("t") == "trial"]


def sleepers():
    """Processes that a proposer of these tests has left behind."""
    left = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if MARK in (folder / "cmdline").read_text():
                left.append(folder.name)
    return left


def with_times(folder, out):
    """The ledger of a compiled run, with times as if each rule made its parent faster; every fifth trial is wrong."""
    out.mkdir()
    written = []
    for line in lines_of(folder / "ledger.jsonl"):
        for shape in line.get("shapes", []):
            number = line["number"]
            if number % 5 == 4:
                shape.update(outcome="wrong_result", reason="accuracy: planned", gate="accuracy")
            else:
                shape.update(outcome="measured", time="plain", time_us=1000.0 * 0.85 ** number + (number % 3) * 40)
                shape.pop("reason", None)
        written.append(json.dumps(line))
    (out / "ledger.jsonl").write_text("\n".join(written) + "\n")


class Temporary(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)


class Rules(Temporary):
    def test_every_edit_compiles(self):
        """Each rule after its prerequisites, all rules, and all but one, in two types and both masks, for sm_90a."""
        rules = load_rules()
        source = (EXAMPLES / "start" / "poor_rows.cu").read_text()
        manifest = json.loads((EXAMPLES / "start" / "poor_rows.json").read_text())

        def apply(rule, kernel):
            self.assertTrue(rule.applies(kernel["source"]), rule.lever)
            text = kernel["source"]
            for find, replace in rule.edits:
                self.assertEqual(text.count(find), 1, rule.lever)
                text = text.replace(find, replace)
            self.assertTrue(rule.applied(text) , rule.lever)
            return {"source": text, "manifest": rule.apply_to(kernel["manifest"])}

        needs = {"keys_together": ["one_walk"], "stage_shared": ["one_walk", "keys_together"]}
        kernels = {}
        for rule in rules.RULES:
            kernel = {"source": source, "manifest": manifest}
            for lever in [*needs.get(rule.lever, []), rule.lever]:
                kernel = apply(rules.BY_LEVER[lever], kernel)
            kernels[rule.lever] = kernel
        for left_out in [None, *[each.lever for each in rules.RULES if each.lever not in ("one_walk", "keys_together")]]:
            kernel = {"source": source, "manifest": manifest}
            for rule in rules.RULES:
                if rule.lever != left_out:
                    kernel = apply(rule, kernel)
            kernels[f"all but {left_out}"] = kernel
        calls = [json.dumps({"id": name, "tool": "submit_kernel", "arguments": {"problem": f"2-8-128-64-{problem}", **kernel}})
                 for name, kernel in kernels.items() for problem in [PROBLEM]]
        done = fatune("judge", "--jsonl", "--device", "none", *SHAPE, "--dtype", "bf16", "--causal", input="\n".join(calls) + "\n")
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(len(answers), len(kernels))
        for answer in answers:
            result = answer.get("result", {})
            self.assertEqual(result.get("outcome"), "unavailable", f"{answer['id']}: {result.get('reason') or answer}")
            self.assertEqual(result.get("resources", {}).get("spill_load_bytes", 0), 0, answer["id"])

    def test_taken_back_is_as_before(self):
        rules = load_rules()
        parent = {"source": (EXAMPLES / "start" / "poor_rows.cu").read_text(), "manifest": json.loads((EXAMPLES / "start" / "poor_rows.json").read_text())}
        for rule in rules.RULES:
            if not rule.applies(parent["source"]):
                continue
            done = rules.move(rule, parent)
            text = parent["source"]
            for edit in done["edits"]:
                text = text.replace(edit["find"], edit["replace"])
            back = rules.without(rule, {"source": text, "manifest": done["manifest"]})
            for edit in back["edits"]:
                self.assertEqual(text.count(edit["find"]), 1, rule.lever)
                text = text.replace(edit["find"], edit["replace"])
            self.assertEqual(text, parent["source"], rule.lever)
            self.assertEqual(back["manifest"], parent["manifest"], rule.lever)


class Modes(Temporary):
    def test_three_modes_and_their_repetition(self):
        for mode in ["free", "insight", "full"]:
            with self.subTest(mode):
                plain, timed, first, second = (self.folder / f"{mode}-{name}" for name in ["plain", "timed", "first", "second"])
                evolve(RULES, plain, "--mode", mode, "--trials", 14)
                trials = trials_of(plain)
                self.assertEqual(len(trials), 15)
                self.assertTrue(all(trial["step"] == "select" for trial in trials[:10]), "the rules' edits compile")
                with_times(plain, timed)
                for out, device, transcript in [(first, timed, plain), (second, first, first)]:
                    fatune("evolve", "--proposer", f"replay:{transcript}", *START, *SHAPE, "--mode", mode, "--trials", 14, "--device",
                           f"recorded:{device}", "--out", out)
                self.assertEqual((first / "ledger.jsonl").read_bytes(), (second / "ledger.jsonl").read_bytes())
                asked = [[entry["request"] for entry in lines_of(out / "transcript.jsonl")] for out in (first, second)]
                self.assertEqual(*asked)
                self.assert_reported(first, mode)
                self.assert_packed(first, mode)

    def test_a_run_that_only_compiled_repeats(self):
        """Proposers see the same answer from a measurement and from its ledger."""
        run, again = self.folder / "run", self.folder / "again"
        evolve(RULES, run, "--trials", 8)
        done = fatune("evolve", "--proposer", f"replay:{run}", *START, *SHAPE, "--trials", 8, "--device", f"recorded:{run}", "--out", again)
        self.assertNotIn("not the one that was answered", done.stderr)
        self.assertEqual(lines_of(run / "ledger.jsonl")[1:], lines_of(again / "ledger.jsonl")[1:])
        self.assertEqual({**lines_of(run / "ledger.jsonl")[0], "recorded": True}, lines_of(again / "ledger.jsonl")[0])

    def assert_reported(self, run, mode):
        document = json.loads(fatune("report", run, "--json").stdout)
        self.assertEqual(document["schema"], "fatune.evolution/1")
        self.assertTrue(document["recorded"])
        self.assertEqual(document["plan"]["mode"], mode)
        figures = document["figures"]
        self.assertEqual(figures["trials"], 14)
        self.assertGreater(figures["speedup"], 1.3)
        self.assertLess(figures["validity"], 1)
        best = [trial.get("best") for trial in document["trials"]]
        self.assertEqual(best, sorted(best), "the best so far never falls")
        text = fatune("report", run).stdout
        for words in ["speed-up", "validity", "best so far", "recorded"]:
            self.assertIn(words, text)
        page = run / "page.html"
        fatune("report", run, "-o", page)
        self.assertIn('"schema":"fatune.evolution/1"', page.read_text())  # report_page_test.py draws one

    def assert_packed(self, run, mode):
        """A compressed ledger and transcript work too."""
        packed = self.folder / f"{mode}-packed"
        packed.mkdir()
        for name in ["ledger.jsonl", "transcript.jsonl"]:
            (packed / f"{name}.gz").write_bytes(gzip.compress((run / name).read_bytes()))
        self.assertEqual(fatune("report", packed).stdout, fatune("report", run).stdout)
        fatune("evolve", "--proposer", "true", "--resume", packed, "--device", f"recorded:{packed}", code=4)

    def test_json(self):
        done = evolve(RULES, self.folder / "run", "--trials", 1, "--json")
        self.assertEqual(json.loads(done.stdout)["figures"]["compiled"], 1)


class Committed(Temporary):
    """Runs of a GPU that the project keeps repeat from their transcripts, line by line."""

    def test_they_repeat(self):
        for run in sorted(path.parent for path in (ROOT / "results").glob("**/ledger.jsonl.gz")):
            with self.subTest(run.name):
                with gzip.open(run / "ledger.jsonl.gz", "rt") as packed:
                    header, *lines = packed.read().splitlines()
                plan = json.loads(header)["plan"]
                sizes = [",".join(str(each["problem"][key]) for key in ("batch", "heads", "seq_q", "head_dim")) for each in plan["problems"]]
                suite = self.folder / f"{run.name}.json"
                rows = [{"name": each["name"], "shape": size} for each, size in zip(plan["problems"], sizes)]
                suite.write_text(json.dumps({"schema": "fatune.problems/1", "name": run.name, "summary": "As it was run", "problems": rows}))
                plan["trials"] = sum(json.loads(line)["t"] == "trial" for line in lines) - 1  # fewer than planned if time ran out
                numbers = [word for key in ("mode", "trials", "wanted", "evaluations", "rounds", "seed") for word in (f"--{key}", plan[key])]
                out = self.folder / run.name
                fatune("evolve", "--proposer", f"replay:{run}", "--device", f"recorded:{run}", *START, "--suite", suite, *numbers, "--out", out)
                self.assertEqual((out / "ledger.jsonl").read_text().splitlines()[1:][:len(lines)], lines)


class BadInput(Temporary):
    def reason(self, proposer, *more):
        """Failure of the only trial of a run, which ends normally and leaves no process."""
        out = self.folder / f"run{len(list(self.folder.iterdir()))}"
        evolve(proposer, out, "--trials", 1, *more)
        trial = trials_of(out)[1]
        self.assertEqual(trial["verdict"], "invalid")
        self.assertEqual(sleepers(), [])
        return trial["reason"]

    def script(self, text):
        path = self.folder / f"script{len(list(self.folder.iterdir()))}.py"
        path.write_text(text)
        return f"{shlex.quote(sys.executable)} {path}"

    def answer(self, **candidate):
        return self.script(f"import json\nprint(json.dumps({{'candidates': [{candidate!r}]}}))\n")

    def test_no_answer(self):
        self.assertIn("exit status 0", self.reason("true"))
        self.assertIn("exit status 3", self.reason("exit 3"))
        self.assertIn("exit status 137", self.reason("kill -9 $$"))
        self.assertIn("exit status 0", self.reason("exec >&-; sleep 0.1"))

    def test_a_command_that_no_shell_finds(self):
        """A missing proposer ends the run before the first trial; after a first answer it is a failed trial."""
        out = self.folder / "run"
        done = evolve("./no-such-program", out, code=2)
        self.assertIn("'./no-such-program': the shell cannot start it (exit status 127)", done.stderr)
        self.assertIn("no-such-program", (out / "proposer.log").read_text())
        self.assertEqual(len(trials_of(out)), 1)
        fatune("evolve", "--resume", out, "--proposer", "true", *START[:2])
        self.assertEqual(len(trials_of(out)), 46)
        once = f"test -e {self.folder}/gone && exec ./no-such-program; touch {self.folder}/gone"
        evolve(once, self.folder / "twice", "--trials", 2)
        self.assertIn("exit status 127", trials_of(self.folder / "twice")[2]["reason"])

    def test_silence(self):
        self.assertIn("within 1 s", self.reason(f"sleep {MARK}", "--proposer-seconds", 1))
        self.assertIn("within 1 s", self.reason(f"setsid sleep {MARK} & setsid sleep {MARK}", "--proposer-seconds", 1))

    def test_no_json(self):
        for text in ["not json", "{", "[]", '"text"', '{"candidates": {}}', '{"candidates": [[]]}', "[" * 5000]:
            self.assertTrue(self.reason(f"echo {shlex.quote(text)}"), text)
        self.assertTrue(self.reason("head -c 2000 /dev/urandom"))

    def test_a_line_of_100_megabytes(self):
        self.assertIn("more than 4.0 MiB", self.reason("head -c 100000000 /dev/zero | tr '\\0' x"))

    def test_many_processes(self):
        bomb = f"import os, time\nfor _ in range(8):\n    os.fork()\nos.execvp('sleep', ['sleep', '{MARK}'])\n"
        self.assertIn("more than 64 processes", self.reason(self.script(bomb)))
        hidden = f"i=0; while [ $i -lt 300 ]; do setsid sleep {MARK} & i=$((i+1)); done; wait"
        self.assertIn("more than 64 processes", self.reason(hidden))

    def test_much_memory(self):
        self.assertIn("more than 1.0 GiB", self.reason(self.script("import time\nx = b'x' * (1500 << 20)\ntime.sleep(60)\n"), "--proposer-memory", 1))

    def test_a_limit_is_no_exit_code_of_the_program(self):
        for code in (121, 122):
            self.assertIn(f"exit status {code}", self.reason(f"exit {code}"))
        half = "import time\nprint('{\"candidates\": ', end='', flush=True)\nx = b'x' * (1500 << 20)\ntime.sleep(60)\n"
        self.assertIn("more than 1.0 GiB", self.reason(self.script(half), "--proposer-memory", 1))

    def test_paths_and_headers_of_others(self):
        manifest = json.loads((EXAMPLES / "start" / "poor_rows.json").read_text())
        self.assertIn("not a name such as", self.reason(self.answer(manifest={**manifest, "source": "../../poor_rows.cu"})))
        self.assertIn("passwd", self.reason(self.answer(source='#include "../../../../etc/passwd"\n')))
        self.assertIn("parents", self.reason(self.answer(parents=["../t0"], edits=[])))
        self.assertIn("role", self.reason(self.answer(manifest={**manifest, "role": "reference"})))

    def test_kernels_that_do_not_compile(self):
        self.assertIn("error", self.reason(self.answer(source='extern "C" __global__ void poor_rows_main() { nonsense; }\n')))
        self.assertIn("262144", self.reason(self.answer(source="x" * 300_000)))
        self.assertIn("the same as t0", self.reason(self.answer(edits=[])))
        self.assertIn("stands 0 times", self.reason(self.answer(edits=[{"find": "no such text", "replace": ""}])))

    def test_limits_of_an_answer(self):
        self.assertIn("parents", self.reason(self.answer(parents=["t0"] * 9)))
        self.assertIn("edits", self.reason(self.answer(edits=[{"find": "a", "replace": "b"}] * 257)))
        for usage in [{"prompt_tokens": 1 << 62}, {"cost": 1e300}]:
            self.assertIn("usage", self.reason(self.script(f"import json\nprint(json.dumps({{'candidates': [{{}}], 'usage': {usage!r}}}))\n")))

    def test_a_flood_of_errors(self):
        self.assertIn("16.0 MiB to stderr", self.reason("cat /dev/zero >&2"))
        for log in self.folder.glob("*/proposer.log"):
            self.assertLessEqual(log.stat().st_size, 16 << 20)

    def test_a_guard_that_is_stopped(self):
        """The run still ends all processes of its proposer."""
        self.assertIn("within 1 s", self.reason(f"kill -STOP $PPID; setsid sleep {MARK} & sleep {MARK}", "--proposer-seconds", 1))

    def test_a_guard_that_is_killed(self):
        left = f"setsid sleep {MARK} & (setsid sleep {MARK} &) ; setsid sh -c 'sleep {MARK} & sleep {MARK}' & "
        for way in ("kill -9 $PPID", f"setsid sh -c 'sleep 1; exec kill -9 $0' $PPID & sleep {MARK}"):
            self.assertTrue(self.reason(left + way, "--proposer-seconds", 3))

    def test_what_json_cannot_hold_repeats(self):
        run, again = self.folder / "run", self.folder / "again"
        evolve(self.script("import sys\nsys.stdout.buffer.write(b'{\"candidates\":[{\"thought\":\"\\xff\"}]}')\n"), run, "--trials", 1)
        fatune("evolve", "--proposer", f"replay:{run}", *START, *SHAPE, "--trials", 1, "--device", f"recorded:{run}", "--out", again)
        self.assertEqual(lines_of(run / "ledger.jsonl")[1:], lines_of(again / "ledger.jsonl")[1:])
        self.assertIn("UTF-8", trials_of(run)[1]["reason"])

    def test_what_is_read_is_no_duty(self):
        """A proposer may answer without reading its request, whatever the length."""
        out = self.folder / "run"
        evolve("exec <&-; echo '{\"candidates\": [{}]}'", out, "--trials", 2)
        self.assertEqual([trial["reason"] for trial in trials_of(out)[1:]], ["the same as t0, which was elite"] * 2)

    def test_words_of_the_command_line(self):
        for words, told in [(["--mode", "fast"], "--mode"), (["--trials", "0"], "--trials"), (["--kernel", "poor_row"], "poor_rows"),
                            (["--device", "recorded"], "recorded:RUN"), (["--resume", str(self.folder / "nowhere")], "")]:
            done = subprocess.run([FATUNE, "evolve", "--proposer", "true", *START[:2], *SHAPE, "--device", "none", *START[2:],
                                   "--out", str(self.folder / "x"), *words] if "--kernel" not in words and "--device" not in words
                                  else [FATUNE, "evolve", "--proposer", "true", *START[:2], *SHAPE, *words, *([] if "--kernel" in words else START[2:]),
                                        "--out", str(self.folder / "x")], capture_output=True, text=True, timeout=120)
            self.assertIn(done.returncode, [2, 4], f"{words}: {done.stderr}")
            self.assertIn(told, done.stderr)

    def test_a_folder_that_has_a_run(self):
        out = self.folder / "run"
        evolve("true", out, "--trials", 1)
        self.assertIn("--resume", evolve("true", out, "--trials", 1, code=2).stderr)
        for words in (["--trials", "2"], ["--dtype", "e4m3"], ["--out-dtype", "f16"], ["--quant", "fused"], ["--size", "n=1"]):
            self.assertIn(f"has its own {words[0]}", fatune("evolve", "--resume", out, "--proposer", "true", *START[:2], *words, code=2).stderr)


class Kills(Temporary):
    """A killed and resumed run ends like an undisturbed run."""

    def begin(self, out, proposer):
        return subprocess.Popen([FATUNE, "evolve", "--proposer", proposer, *START, *SHAPE, "--device", "none", "--out", str(out), "--trials", "10"],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def wait_for_trials(self, out, count):
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                if (out / "ledger.jsonl").read_text().count('"t":"trial"') >= count:
                    return
            time.sleep(0.02)
        self.fail("no trials")

    def test_resume(self):
        evolve(RULES, self.folder / "whole", "--trials", 10)
        whole = (self.folder / "whole" / "ledger.jsonl").read_bytes()
        slow = f"sleep 0.2; {RULES}"
        for word, ended in [("kill", signal.SIGKILL), ("interrupt", signal.SIGINT)]:
            with self.subTest(word):
                out = self.folder / word
                process = self.begin(out, slow)
                self.wait_for_trials(out, 4)
                process.send_signal(ended)
                code = process.wait(timeout=60)
                self.assertEqual(code, 130 if ended == signal.SIGINT else -signal.SIGKILL)
                fatune("evolve", "--proposer", RULES, "--device", "none", "--resume", out)
                self.assertEqual((out / "ledger.jsonl").read_bytes(), whole)
        self.assertIn("leave out --trials", fatune("evolve", "--proposer", RULES, "--device", "none", "--resume", self.folder / "kill", "--trials", 3, code=2).stderr)

    def test_kernels_that_a_kill_has_cost(self):
        """Kills between the ledger's line and the files, or within the files."""
        out = self.folder / "run"
        evolve(RULES, out, "--trials", 2)
        ledger = (out / "ledger.jsonl").read_text().splitlines(keepends=True)
        (out / "ledger.jsonl").write_text("".join(ledger[:3]))
        kept = (out / "kernels" / "t1" / "manifest.json").read_bytes()
        (out / "kernels" / "t1" / "manifest.json").unlink()
        (out / "kernels" / "t1" / "manifest.json.999999999-0.tmp").write_bytes(kept[:9])
        fatune("evolve", "--proposer", RULES, "--device", "none", "--resume", out)
        self.assertEqual((out / "ledger.jsonl").read_text().splitlines(keepends=True), ledger)
        self.assertEqual({path.name for path in (out / "kernels" / "t1").iterdir()}, {"manifest.json", "poor_rows.cu"})
        self.assertEqual((out / "kernels" / "t1" / "manifest.json").read_bytes(), kept)

    def test_a_kill_before_the_first_line(self):
        out = self.folder / "run"
        out.mkdir()
        (out / "ledger.jsonl").touch()
        evolve("true", out, "--trials", 1)

    def test_edited_ledgers(self):
        """Damaged ledgers are refused with a message and stay unchanged."""
        run = self.folder / "run"
        evolve(RULES, run, "--trials", 2)
        lines = lines_of(run / "ledger.jsonl")
        twice = [*lines[:3], lines[2], *lines[3:]]
        no_shapes = [lines[0], {key: value for key, value in lines[1].items() if key != "shapes"}]
        for edited, code, words in [(twice, 4, "of the next trial"), (no_shapes, 4, "field 'shapes' has 0 of the run's 1 problems")]:
            text = "".join(json.dumps(line) + "\n" for line in edited)
            (run / "ledger.jsonl").write_text(text)
            self.assertIn(words, fatune("evolve", "--proposer", RULES, "--device", "none", "--resume", run, code=code).stderr)
            self.assertEqual((run / "ledger.jsonl").read_text(), text)

    def test_nothing_is_left_of_a_proposer(self):
        process = self.begin(self.folder / "run", f"setsid sleep {MARK} & sleep {MARK}")
        deadline = time.monotonic() + 60
        while len(sleepers()) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        process.kill()
        process.wait()
        deadline = time.monotonic() + 20
        while sleepers() and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(sleepers(), [])


PROBLEM = "bf16-causal"

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fatune", required=True)
    options, rest = parser.parse_known_args()
    FATUNE = os.path.abspath(options.fatune)
    unittest.main(argv=[sys.argv[0], *rest])
