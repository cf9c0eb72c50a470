#!/usr/bin/env python3
"""Tests examples/evolve on stand-ins: a loopback server for openai.py, a recording for both evaluate.py.

    evolve_examples_test.py --fatune PATH
"""
import argparse
import http.server
import importlib.util
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import threading
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "evolve"
KERNEL = ROOT / "kernels" / "fa_rows"
KEY = "a-key-of-tests"
SOURCE = (EXAMPLES / "start" / "poor_rows.cu").read_text()
GOOD = f"""lever: exp two
thought: Exponentials in base 2 are one instruction.
insight: Exponentials were slow.
```cuda
{SOURCE.replace("expf(x)", "fast_exp2(x)").replace("kScale = SOFTMAX_SCALE;", "kScale = SOFTMAX_SCALE_LOG2E;")}```
"""


class Server(http.server.BaseHTTPRequestHandler):
    """A model's answers, one after another: a text, or a status."""

    answers, seen = [], []

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        Server.seen.append((self.path, self.headers.get("Authorization"), body))
        answer = Server.answers.pop(0)
        if isinstance(answer, int):
            self.send_error(answer)
            return
        document = answer if isinstance(answer, bytes) else json.dumps({
            "choices": [{"message": {"role": "assistant", "content": answer}}], "usage": {"prompt_tokens": 1000, "completion_tokens": 200}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(document)))
        self.end_headers()
        self.wfile.write(document)

    def log_message(self, *_):
        pass


class OpenAI(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        Server.seen.clear()

    def evolve(self, answers, mode="insight", **environment):
        Server.answers[:] = answers
        env = {**os.environ, "OPENAI_BASE_URL": f"http://127.0.0.1:{self.server.server_port}/v1", "OPENAI_API_KEY": KEY, "OPENAI_MODEL": "stand-in",
               "OPENAI_PRICE_IN": "2", "OPENAI_PRICE_OUT": "10", "no_proxy": "127.0.0.1", **environment}
        out = self.folder / "run"
        proposer = f"{shlex.quote(sys.executable)} {shlex.quote(str(EXAMPLES / 'openai.py'))}"
        done = subprocess.run([FATUNE, "evolve", "--proposer", proposer, "--kernel-dir", EXAMPLES / "start", "--kernel", "poor_rows", "--shape", "2,8,128,64",
                               "--device", "none", "--mode", mode, "--trials", str(max(1, len(answers))), "--out", out, "--json"],
                              env=env, capture_output=True, text=True, timeout=240)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout), (out / "proposer.log").read_text()

    def test_answers_become_trials(self):
        document, _ = self.evolve([GOOD, 500, "no source here", "```cuda\nnonsense;\n```"])
        first, failed, empty, broken = document["trials"][1:]
        self.assertEqual((first["verdict"], first["lever"]), ("elite", "exp_two"))
        self.assertEqual(first["insight"], "Exponentials were slow.")
        self.assertEqual([trial["step"] for trial in (failed, empty, broken)], ["propose", "propose", "compile"])
        self.assertEqual(document["figures"]["usage"], {"prompt_tokens": 2000, "completion_tokens": 400, "cost": 2 * 0.004})
        path, key, body = Server.seen[0]
        self.assertEqual((path, key, body["model"]), ("/v1/chat/completions", f"Bearer {KEY}", "stand-in"))
        prompts = [seen[2]["messages"][0]["content"] for seen in Server.seen]
        self.assertIn(SOURCE, prompts[0])
        self.assertNotIn("# Insights", prompts[0])
        self.assertIn("Exponentials were slow.", prompts[1])
        self.assertIn("# What failed", prompts[2])

    def test_the_key_is_kept_nowhere(self):
        self.evolve([GOOD])
        for path in self.folder.rglob("*"):
            if path.is_file():
                self.assertNotIn(KEY, path.read_text(errors="replace"), path)

    def test_no_server(self):
        document, log = self.evolve([], OPENAI_BASE_URL="")
        self.assertIn("exit status 1", document["trials"][1]["reason"])
        self.assertIn("names no server", log)

    def test_what_is_no_answer(self):
        document, log = self.evolve([b"<html>", b"{}", b'{"choices": []}', b'{"choices": [{"message": {"content": null}}]}'])
        self.assertEqual([trial["step"] for trial in document["trials"][1:]], ["propose"] * 4)
        self.assertIn("openai.py:", log)

    def test_modes_tell_what_they_may(self):
        self.evolve([GOOD, GOOD.replace("lever: exp two", "lever: other"), "x"], mode="free")
        for _, _, body in Server.seen:
            for words in ["# Insights", "# What failed", "# Other good kernels"]:
                self.assertNotIn(words, body["messages"][0]["content"])


class Frameworks(unittest.TestCase):
    """Runs on the recorded device, which answers for fatune's kernels."""

    environment = {"FATUNE_PROBLEM": "mission/mission", "FATUNE_DEVICE": "recorded", "MANIFEST": str(KERNEL / "fa_rows.json")}

    def environ(self):
        return {**os.environ, **self.environment, "FATUNE": FATUNE}

    def test_shinka(self):
        with tempfile.TemporaryDirectory() as folder:
            for program, correct in [(KERNEL / "fa_rows.cu", True), (EXAMPLES / "start" / "poor_rows.cu", False)]:
                subprocess.run([sys.executable, EXAMPLES / "shinka" / "evaluate.py", "--program_path", program, "--results_dir", folder], env=self.environ(), check=True, timeout=120)
                metrics = json.loads((pathlib.Path(folder) / "metrics.json").read_text())
                told = json.loads((pathlib.Path(folder) / "correct.json").read_text())
                self.assertEqual(told["correct"], correct, told)
                self.assertEqual(metrics["combined_score"] > 0, correct)
                self.assertEqual(bool(told["error"]), not correct)
                self.assertEqual(metrics["text_feedback"], told["error"] or "")

    def test_openevolve(self):
        """Replaces the framework's class by one with its name and fields."""
        class EvaluationResult:
            def __init__(self, metrics, artifacts):
                self.metrics, self.artifacts = metrics, artifacts

        package, module = types.ModuleType("openevolve"), types.ModuleType("openevolve.evaluation_result")
        module.EvaluationResult = EvaluationResult
        sys.modules.update({"openevolve": package, "openevolve.evaluation_result": module})
        sys.dont_write_bytecode = True
        spec = importlib.util.spec_from_file_location("evaluate", EXAMPLES / "openevolve" / "evaluate.py")
        evaluation = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(evaluation)
        os.environ.update(self.environ())
        good = evaluation.evaluate(str(KERNEL / "fa_rows.cu"))
        self.assertEqual(good.metrics["correct"], 1.0)
        self.assertGreater(good.metrics["combined_score"], 0)
        bad = evaluation.evaluate(str(EXAMPLES / "start" / "poor_rows.cu"))
        self.assertEqual((bad.metrics["correct"], bad.metrics["combined_score"]), (0.0, 0.0))
        self.assertTrue(bad.artifacts["reason"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fatune", required=True)
    options, rest = parser.parse_known_args()
    FATUNE = os.path.abspath(options.fatune)
    unittest.main(argv=[sys.argv[0], *rest])
