#!/usr/bin/env python3
"""examples_test.py: Checks the captures of small examples/models on the CPU, and their table.

Examples whose library is not installed are skipped.
"""
import contextlib
import importlib.util
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import fatune
import torch
from fatune import commands, proving, scripts

MODELS = pathlib.Path(__file__).resolve().parents[2] / "examples" / "models"
SCRIPTS = [script for script in MODELS.glob("*.py") if script.stem != "table"]
PROBLEMS = {
    "bert": [{"shape": "1,12,128,64", "layout": "bshd"}],
    "vit": [{"shape": "1,16,197,64", "layout": "bshd"}],
    "whisper": [{"shape": "1,20,1500,64", "scale": 1.0}, {"shape": "1,20,64,64", "causal": True, "scale": 1.0},
                {"shape": "1,20,64,64", "seq_kv": 1500, "scale": 1.0}],
    "gpt2": [{"shape": "1,16,128,64", "causal": True, "layout": "packed"}],
    "llama": [{"shape": "1,32,128,128", "kv_heads": 8, "dtype": "bf16", "causal": True, "layout": "bshd"}],
    "dit": [{"shape": "1,16,256,72", "layout": "bshd"}],
    "layers": [{"shape": "1,8,512,64", "layout": "packed"}],
    "video": [{"shape": "1,4,96,128", "dtype": "bf16", "layout": "bshd"}],
}
LIBRARIES = {"dit": "diffusers", **dict.fromkeys(("layers", "video"), "torch")}  # the others are of transformers


class Examples(unittest.TestCase):
    def test_what_is_captured(self):
        for name, problems in PROBLEMS.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                library = LIBRARIES.get(name, "transformers")
                if importlib.util.find_spec(library) is None:
                    self.skipTest(f"{library} is not installed")
                out = pathlib.Path(folder) / "suite.json"
                with contextlib.redirect_stdout(io.StringIO()):
                    code = commands.main(["capture", "-o", str(out), str(MODELS / f"{name}.py"), "--small"])
                self.assertEqual(code, 0)
                found = [{key: value for key, value in problem.items() if key not in ("name", "source")}
                         for problem in fatune.Suite.load(out).problems]
                self.assertEqual(sorted(map(str, found)), sorted(map(str, problems)))

    def test_the_notebook_has_no_outputs_and_its_cells_are_python(self):
        notebook = json.loads((MODELS / "guide.ipynb").read_text(encoding="utf-8"))
        cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        self.assertEqual([cell["outputs"] for cell in cells], [[]] * len(cells))
        for cell in cells:
            compile("".join(cell["source"]), "guide.ipynb", "exec")

    def test_each_is_short(self):
        for script in SCRIPTS:
            self.assertLessEqual(len(script.read_text(encoding="utf-8").splitlines()), 40, script.name)
            self.assertIn(script.stem, PROBLEMS)


_STAND_IN = """
import json, sys, time
name = sys.argv[-1].rsplit("/", 1)[-1]
assert sys.argv[1:4] == ["optimize", "--graph", "--json"]
if name == "vit.py":
    sys.exit("fatune: error: the step cannot be captured")
if name == "gpt2.py":
    time.sleep(60)
times = {"medians_us": {"pytorch": 2000.0, "cudnn": 1990.0, "fatune": 1900.0}, "best": "cudnn", "ratio": 0.955,
         "ci95": [0.95, 0.96]}
print(json.dumps({"verdict": "slower" if name == "llama.py" else "faster", "device": {"name": "GPU"},
                  "before": {"torch": "2.11", "attention_share": 0.06}, "problems": [{"name": "a"}, {"name": "b"}],
                  "times": None if name == "whisper.py" else times,
                  "sustained": {**times, "mhz": {"fatune": 1590, "cudnn": 1680}} if name == "bert.py" else None,
                  "saving": {"measured_us": 90.0, "predicted_us": 100.0, "share": 0.9}}))
"""


class Table(unittest.TestCase):
    def table(self, models, *options):
        """Exit code, rows and text, of a program that answers as fatune would."""
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (folder / "fatune").mkdir()
        (folder / "fatune" / "__main__.py").write_text(_STAND_IN, encoding="utf-8")
        done = subprocess.run([sys.executable, str(MODELS / "table.py"), "--out", str(folder / "out"), "--models",
                               models, *options], env={**os.environ, "PYTHONPATH": str(folder)}, capture_output=True)
        rows = json.loads((folder / "out" / "models.json").read_text(encoding="utf-8"))["rows"]
        return done.returncode, rows, (folder / "out" / "models.md").read_text(encoding="utf-8")

    def test_a_row_a_model(self):
        code, rows, text = self.table("bert")
        self.assertEqual((code, [row["model"] for row in rows]), (0, ["bert"]))
        self.assertIn("GPU, PyTorch 2.11", text)
        self.assertIn("| bert | a, b | 6% | 2.000 | - | 1.990 | 1.900 | 0.955 (0.950 to 0.960), cudnn | "
                      "0.955 (0.950 to 0.960) | 1590, 1680 | 90 | 100 | 0.9", text)

    def test_failures_have_rows_and_the_others_go_on(self):
        code, rows, text = self.table("vit,gpt2,whisper,bert", "--model-s", "3")
        self.assertEqual(code, 1)
        self.assertIn("failed: fatune: error: the step cannot be captured", text)
        self.assertIn("failed: it was not done after 3 s", text)
        self.assertEqual([len(line.split("|")) for line in text.splitlines()[2:]], [16] * 6)
        self.assertIn("proof", rows[-1])

    def test_a_slower_model_is_a_no(self):
        self.assertEqual(self.table("llama")[0], 1)

    def test_time_runs_out(self):
        code, rows, _ = self.table("bert", "--limit-s", "0")
        self.assertEqual((code, rows[0]["failed"]), (1, "no time was left (--limit-s)"))


if __name__ == "__main__":
    sys.exit(unittest.main())
