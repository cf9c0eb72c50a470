#!/usr/bin/env python3
"""examples_test.py - what is captured of examples/models, small, on the CPU; needs transformers and diffusers.

Exit code 77, a skip, where they are not installed.
"""
import contextlib
import importlib.util
import io
import json
import pathlib
import sys
import tempfile
import unittest

import fatune
from fatune import commands

MODELS = pathlib.Path(__file__).resolve().parents[2] / "examples" / "models"
PROBLEMS = {
    "bert": [{"shape": "1,12,128,64", "layout": "bshd"}],
    "vit": [{"shape": "1,16,197,64", "layout": "bshd"}],
    "whisper": [{"shape": "1,20,1500,64", "scale": 1.0}, {"shape": "1,20,64,64", "causal": True, "scale": 1.0},
                {"shape": "1,20,64,64", "seq_kv": 1500, "scale": 1.0}],
    "gpt2": [{"shape": "1,16,128,64", "causal": True, "layout": "packed"}],
    "llama": [{"shape": "1,32,128,128", "kv_heads": 8, "dtype": "bf16", "causal": True, "layout": "bshd"}],
    "dit": [{"shape": "1,16,256,72", "layout": "bshd"}],
}


class Examples(unittest.TestCase):
    def test_what_is_captured(self):
        for name, problems in PROBLEMS.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
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
        for script in MODELS.glob("*.py"):
            self.assertLessEqual(len(script.read_text(encoding="utf-8").splitlines()), 40, script.name)
            self.assertIn(script.stem, PROBLEMS)


if __name__ == "__main__":
    missing = [name for name in ("transformers", "diffusers") if importlib.util.find_spec(name) is None]
    if missing:
        print(f"skipped: no {' and no '.join(missing)}")
        sys.exit(77)
    sys.exit(unittest.main())
