#!/usr/bin/env python3
"""import_test.py: Checks imported problems of other benchmarks, and refused ones."""
import contextlib
import io
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

from fatune import commands, documents
from fatune.benchmarks import importing, problems, tasks, trace_sets, yaml_text
from fatune.errors import FatuneError

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests/data/interchange"
TASK = DATA / "kernelbot/causal_attention"
TWO = ("benchmark-1 4,8(kv 2),512,64 bf16 causal bshd; "
       "benchmark-2 1,32(kv 8),4096,128 bf16 causal bshd")


def told(read, *arguments):
    """The problems of a suite, or the error."""
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            suite = read(*arguments)
        return "; ".join(f"{name} {each.words()}" for name, each in suite.problems.items())
    except FatuneError as error:
        return str(error)


class Command(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.out = self.folder / "suite.json"

    def run_import(self, *words):
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = commands.main(["import", *map(str, words), "-o", str(self.out)])
        return code, said.getvalue()

    def test_a_byte_order_mark_is_no_part_of_a_reference(self):
        task = self.folder / "task.py"
        task.write_bytes(b"\xef\xbb\xbf" + (DATA / "kernelbench/7_CausalAttention.py").read_bytes())
        self.assertEqual(self.run_import(task, "--dtype", "bf16")[0], 0)

    def test_the_program_reads_the_suites(self):
        """Labels are the program's own, of each kind of task."""
        for task, labels in (([DATA / "traces"], [
                "2,32(kv 8),1024,128 bf16 causal bshd", "8,32(kv 8),16x8192,128 bf16 causal bshd"
        ]), ([DATA / "sol"], ["1,24,4608,64 f16", "4,24,1178,64 f16"]), ([TASK], [
                "4,8(kv 2),512,64 bf16 causal bshd", "1,32(kv 8),4096,128 bf16 causal bshd"
        ]), ([DATA / "kernelbench/7_CausalAttention.py", "--dtype",
              "bf16"], ["4,8,512,64 bf16 causal"])):
            self.assertEqual(self.run_import(*task)[0], 0)
            done = subprocess.run(
                [os.environ["FATUNE"], "judge", "--jsonl", "--device", "none", "--suite", self.out],
                input='{"tool":"list_problems"}\n',
                capture_output=True,
                text=True,
                check=True)
            found = json.loads(done.stdout.splitlines()[0])
            self.assertEqual([each["label"] for each in self.problems(found)], labels)

    def problems(self, value):
        if isinstance(value, dict):
            return value["problems"] if "problems" in value else [
                found for each in value.values() for found in self.problems(each)]
        return []

    def test_stderr_says_what_is_left_out(self):
        code, said = self.run_import(DATA / "traces")
        self.assertEqual(code, 0)
        self.assertIn(
            "workload 93aa6c0e-again is the same problem as gqa_causal_h32_kv8_d128-1f0c9a52", said)
        self.assertIn(
            "rmsnorm_h4096.json: is of the tensors x, w to y: attention here has three "
            "tensors in and one out", said)
        self.assertIn("field 'benchmarks[2]' is the same problem as benchmark-1",
                      self.run_import(TASK)[1])

    def test_texts_of_files_are_printable_and_short(self):
        said = str(FatuneError("a\x1b[31m\ud800" + "x" * 5_000_000 + "z"))
        self.assertTrue(said.startswith(r"a\x1b[31m\ud800xxx") and said.endswith("xz") and len(said) < 1100, said[:2000])
        with self.assertRaisesRegex(FatuneError, "f: is not valid JSON: .*surrogates"):
            documents.parse_json(r'{"name": "\uD800"}', "f")
        self.assertEqual(documents.parse_json(r'"\ud83d\ude00"', "f"), "\U0001F600")

    def test_exit_codes(self):
        file = DATA / "kernelbench/7_CausalAttention.py"
        code, said = self.run_import(file)
        self.assertEqual((code, "say --dtype f16 or bf16" in said), (2, True))
        self.assertEqual(self.run_import(TASK, "--dtype", "f16")[0], 2)
        self.assertEqual(self.run_import(self.folder / "nothing.py")[0], 4)
        self.assertEqual(self.run_import(self.folder / "nothing")[0], 4)
        code, said = self.run_import(DATA / "kernelbench")
        self.assertEqual((code, "holds no definitions/*.json" in said), (4, True))
        self.out = self.folder / "missing/suite.json"
        self.assertEqual(self.run_import(TASK)[0], 4)

    def test_it_needs_no_pytorch(self):
        text = (
            "import sys; sys.modules['torch'] = None; import fatune.commands\n"
            f"sys.exit(fatune.commands.main(['import', {str(TASK)!r}, '-o', {str(self.out)!r}]))")
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)


class KernelBench(unittest.TestCase):
    TEXT = """import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, q, k, v):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v)

N = 512

def get_inputs():
    q = torch.rand(2, 8, N, 64, device='cuda', dtype=torch.float16)
    k = torch.rand(2, 8, N, 64).half()
    return [q, k, torch.randn((2, 8, N, 64)).cuda().to(torch.float16)]

def get_init_inputs():
    return []
"""

    def changed(self, old, new, dtype=None):
        self.assertIn(old, self.TEXT)
        return told(tasks.parse_kernelbench, self.TEXT.replace(old, new), dtype, "level1/3_A.py")

    def test_a_file_is_a_problem(self):
        self.assertEqual(self.changed("N", "N"), "3_A 2,8,512,64 f16")
        self.assertEqual(self.changed("N", "N", "bf16"), "3_A 2,8,512,64 bf16")
        self.assertEqual(
            self.changed("torch.rand(2, 8, N, 64).half()",
                         "torch.rand(2, N, 8, 64).half().transpose(1, 2)"),
            "3_A 2,8,512,64 f16 k=bshd")
        self.assertEqual(self.changed("N = 512", "heads = 4\nN = heads * 2 ** 7 + 1"),
                         "3_A 2,8,513,64 f16")

    def test_what_does_not_bear_on_the_call_is_passed_over(self):
        for old, new in (
            ("N = 512", "N = 512\nif __name__ == '__main__':\n    print(Model()(*get_inputs()))"),
            ("        super().__init__()", "        super().__init__()\n        self.heads = int(8)\n        self.x: int = 1"),
            ("torch.rand(2, 8, N, 64).half()", "torch.rand(*list((2, 8)), *(N, 64)).half()"),
            ("return [q, k, ", "q, k = (torch.rand(2, 8, *s).half() for s in [[N, 64] for _ in range(2)])\n"
             "    return [q, k, ")):
            self.assertEqual(self.changed(old, new), "3_A 2,8,512,64 f16")
        for setting in ("NAME = 'a' + 'b'", "x = [1] * 3", "DEBUG = os.environ.get('A', '0') == '1'", "print('a')", "y = f'{1}'",
                        "try:\n    import triton\nexcept ImportError:\n    triton = None", "a, *b = [1, 2]", "f = lambda q: q",
                        "if True:\n    z = 1", "for i in range(3):\n    j = i", "l = [1]\n" + "l = l + l\n" * 60):
            self.assertEqual(self.changed("N = 512", f"N = 512\n{setting}"), "3_A 2,8,512,64 f16")
        self.assertEqual(self.changed("N = 512", "N, M = (512,) + (1,)"), "3_A 2,8,512,64 f16")

    def test_what_may_bear_on_the_call_is_refused(self):
        for setting in ("self.forward = print", "self._forward_hooks[0] = print", "self.a = setattr(F, 'x', 1)",
                        "self.a, x[0] = 1, 2"):
            self.assertIn("line 6: Model keeps weights or settings", self.changed("super().__init__()", setting))
        for setting, why in (("N = int('512')", "line 11: "), ("if True:\n    N = 512", "line 11: 'if True:' is not understood"),
                             ("N = 512\ntorch.nn.functional.softmax = print", "line 12: "), ("N = 512\nN += 1", "line 12: 'N += 1'"),
                             ("N = 512\nfor i in (1, 2):\n    torch.set_default_dtype(torch.float64)", "line 12: 'for i")):
            self.assertIn(why, self.changed("N = 512", setting))
        self.assertIn("line 12: 'if __name__", self.changed(
            "N = 512", "N = 512\nif __name__ == '__main__':\n    pass\nelse:\n    N = 8"))

    def test_other_files_are_refused(self):
        where = "level1/3_A.py: "
        for old, new, why in (
            ("        super().__init__()", "        self.w = nn.Linear(8, 8)",
             "line 6: Model keeps weights or settings: more than attention is computed"),
            ("return torch.nn", "q = self.w(q)\n        return torch.nn",
             "line 9: 'self' is not known here"),
            ("class Model", "class Other", "has no class Model: it is no problem of KernelBench"),
            ("def forward", "def backward",
             "has no Model.forward(): it is no problem of KernelBench"),
            ("def get_inputs", "def inputs",
             "has no get_inputs(): it is no problem of KernelBench"),
            ("    return [q, k, ", "    return []\n    [",
             "has no tensors in get_inputs(): it is no problem of KernelBench"),
            ("return [q, k, ", "return [q, 1, ", "get_inputs() returns other things than tensors"),
            ("(self, q, k, v)", "(self, q, k)",
             "forward() has 2 parameters, but 3 arguments are given"),
            ("N = 512", "N = torch.load('x')",
             "line 11: torch.load() is called: more than attention is computed")):
            self.assertEqual(self.changed(old, new), where + why)
        self.assertIn("say --dtype f16 or bf16", self.changed(", dtype=torch.float16", ""))


class KernelBot(unittest.TestCase):
    def changed(self, old, new):
        """Imports the committed task with a piece of its task.yml or reference.py replaced."""
        task, reference = ((TASK / name).read_text() for name in ("task.yml", "reference.py"))
        self.assertIn(old, task + reference)
        try:
            _, benchmarks = tasks.parse_kernelbot(task.replace(old, new), "task.yml")
        except FatuneError as error:
            return str(error)
        return told(tasks.suite_of_task, benchmarks, reference.replace(old, new), "task.yml")

    def test_benchmarks_are_problems_each_once(self):
        self.assertEqual(told(tasks.load_kernelbot, TASK / "task.yml"), TWO)
        with contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(importing.load_task(TASK).name, "causal_attention")

    def test_inputs_that_are_made_otherwise_are_the_same_problem(self):
        self.assertEqual(
            self.changed("torch.randn_like(k)",
                         'torch.zeros(batch, seq, kvheads, dim).to("cuda", torch.bfloat16)'), TWO)
        self.assertEqual(
            self.changed("    return q, k, v",
                         "    k.uniform_(0, 1, generator=gen)\n    return q, k, v"), TWO)
        self.assertEqual(self.changed(
            "k = torch.empty((batch, seq, kvheads, dim), dtype=torch.bfloat16)",
            "k = torch.empty((batch, kvheads, seq, dim), dtype=torch.bfloat16).transpose(1, 2)"),
            TWO.replace("bshd", "bshd,k=bhsd"))

    def test_fields_are_refused_by_name(self):
        where = "task.yml: field "
        for old, new, why in (
            ('lang: "py"', "lang: cu", where + "'lang' is 'cu': only py is read"),
            ('"name": "reference.py"', '"name": "r.py"', where + "'files' names no reference.py"),
            ('"seq": 512', '"seq": long',
             where + "'benchmarks[0].seq' must be a whole number, but is str"),
            ('"seq": 512', '"seq": 9223372036854775808',
             where + "'benchmarks[0].seq' is too large a number"),
            ('"seq": 512', '"length": 512',
             where + "'benchmarks[0]': reference.py: generate_input() has no parameter 'length'"),
            ("benchmarks:", "benchmark:", where + "'benchmarks' must hold at least one")):
            self.assertEqual(self.changed(old, new), why)
        self.assertIn("batch must be at least 1", self.changed('"batch": 4', '"batch": -4'))
        self.assertIn("aliases", self.changed('ranking_by: "geom"', "a: &a [1]\nb: [*a, *a]"))

    def test_references_are_refused_by_benchmark_and_line(self):
        where = "task.yml: field 'benchmarks[0]': reference.py: "
        for old, new, why in (
            ("def ref_kernel", "def reference",
             "has no ref_kernel(): it is no reference of KernelBot"),
            ("is_causal=True", "attn_mask=q",
             "line 20: attn_mask= is given: no mask but causal is known"),
            ("with DeterministicContext", "with torch.autocast",
             "line 18: 'with torch.autocast()' is not understood"),
            ("q, k, v = data", "q, k, v = data\n        q.normal_()",
             "line 20: .normal_() of a tensor is called: more than attention is computed"),
            ("dtype=torch.bfloat16", "dtype=torch.float32",
             "its tensors are float32, not float16 or bfloat16"),
            ("return q, k, v", "return 1, 2", "generate_input() makes no tensors"),
            ("return q, k, v", "return q, k.half(), v",
             "argument 2 is float16, argument 1 is bfloat16: kernels have one element type"),
            ("return q, k, v", "return q, k, v, seed", "line 19: it does not have 3 values")):
            self.assertEqual(self.changed(old, new), where + why)

    def test_a_reference_outside_of_the_folder_is_not_read(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (folder / "reference.py").symlink_to(TASK / "reference.py")
        text = (TASK / "task.yml").read_text()
        for source in ("../r.py", "/etc/passwd", "/dev/zero", "reference.py"):
            (folder / "task.yml").write_text(
                text.replace('"source": "reference.py"', f'"source": "{source}"'))
            self.assertTrue(
                told(tasks.load_kernelbot,
                     folder / "task.yml").endswith("which is not in this folder"))

    def test_hostile_tasks_are_refused_in_words(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        task = (TASK / "task.yml").read_text()
        bomb = "a0: &a0 [lol]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n"
                                           for i in range(1, 10))
        (folder / "reference.py").write_text("#" * 70_000)
        for text, why in ((bomb + task, "aliases are not read"), ("- " * 60_000,
                                                                  "nested deeper than 16 levels"),
                          ("[" * 100_000, "nested deeper than 16 levels"),
                          ("a: 1\na: 2\n",
                           "a mapping has a key twice"), (task + "z: [" + "1, " * 30_000 + "]\n",
                                                          "more than 20000 values"),
                          (task + "# " + "x" * 1_000_000,
                           "holds more than 256 KiB"), (task + "--- \na: 1\n", "another document"),
                          (task + "x: !!python/object/apply:os.system [id]\n", "tags are not read"),
                          ("[", "not valid YAML at line"), ("{[1]: 2}", "a key is no text"),
                          ("plain", "must be an object"), ("", "must be an object"),
                          (task.replace("31232", "3" * 100),
                           "field 'benchmarks[0].seed'"), (task,
                                                           "reference.py: holds more than 64 KiB")):
            (folder / "task.yml").write_text(text)
            self.assertIn(why, told(tasks.load_kernelbot, folder / "task.yml"))

    def test_scalars_are_as_in_json(self):
        self.assertEqual(
            yaml_text.parse_yaml("[1, -2, 1.5, true, False, null, yes, '1', 0o7, 1_0, .nan]", "x"),
            [1, -2, 1.5, True, False, None, "yes", "1", "0o7", "1_0", ".nan"])


class TraceSets(unittest.TestCase):
    WORKLOAD = '{"uuid":"u","axes":{"batch":1,"text":24,"image":40}}'

    def setUp(self):
        self.json = json.loads((DATA / "sol/joint_attention/definition.json").read_text())

    def read(self, workload=WORKLOAD):
        try:
            definition = trace_sets.Definition(json.dumps(self.json), "d.json")
            return definition.problem(trace_sets.parse_workloads(workload, "w.jsonl")[0]).words()
        except FatuneError as error:
            return str(error)

    def alone(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (folder / "d.json").write_text(json.dumps(self.json))
        return told(trace_sets.load_definition, folder / "d.json").removeprefix(f"{folder}/")

    def test_folders_are_suites(self):
        self.assertEqual(told(trace_sets.load_trace_set, DATA / "traces"),
                         "gqa_causal_h32_kv8_d128-1f0c9a52 2,32(kv 8),1024,128 bf16 causal bshd; "
                         "gqa_causal_h32_kv8_d128-77be0d11 8,32(kv 8),16x8192,128 bf16 causal bshd")
        both = "joint_attention-a1 1,24,4608,64 f16; joint_attention-b2 4,24,1178,64 f16"
        self.assertEqual(told(trace_sets.load_trace_set, DATA / "sol"), both)
        self.assertEqual(told(trace_sets.load_trace_set, DATA / "sol/joint_attention"), both)
        self.assertIn("holds no definitions", told(trace_sets.load_trace_set, DATA / "kernelbench"))

    def test_more_workloads_than_are_read_leave_a_definition_out(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (folder / "definition.json").write_text(json.dumps(self.json))
        (folder / "workload.jsonl").write_text(
            '{"uuid":"u","axes":{"batch":1,"text":1,"image":1}}\n' * 2001)
        self.assertTrue(told(trace_sets.load_trace_set, folder).endswith(
            "has 2001 workloads, but at most 2000 are read"))

    def test_a_definition_alone_wants_constant_axes(self):
        self.assertEqual(
            self.alone(),
            "d.json: has variable axes, but no workloads: name the folder that holds both")
        for axis in ("batch", "text", "image"):
            self.json["axes"][axis] = {"type": "const", "value": 32}
        self.assertEqual(self.alone(), "joint_attention 32,24,64,64 f16")

    def test_other_definitions_are_refused_by_name(self):
        self.assertEqual(self.read(), "1,24,64,64 f16")
        for path, value, why in (
            ("inputs.bias", self.json["inputs"]["query"],
             "d.json: is of the tensors query, key, value, bias to out: attention here "
             "has three tensors in and one out"
             ), ("outputs.out.dtype", "float32",
                 "d.json: 'out' is float32, 'query' is float16: kernels have one element type"),
            ("outputs.out.shape", ["batch", "seq", "heads", "head_dim"],
             "d.json: 'out' is declared as (1, 64, 24, 64), but its reference gives (1, 24, 64, 64)"
             ), ("reference", "x = 1", "d.json: field 'reference': has no function run()"),
            ("axes.seq.expression", "text + lost",
             "d.json: axis 'seq': line 1: 'lost' is not known here"),
            ("axes.seq.expression", "text +",
             "d.json: axis 'seq': is no expression of numbers and names"),
            ("axes.seq.expression", "text / 7", "d.json: axis 'seq': is not a whole number"),
            ("axes.seq.type", "maybe",
             "d.json: field 'axes.seq.type' is 'maybe', not const, var or expr"),
            ("inputs.key.shape", ["b"], "d.json: 'key' has the axis 'b', which is not declared"),
            ("inputs.key.shape", [1], "d.json: field 'inputs.key.shape' must list names of axes"),
            ("name", "", "d.json: field 'name' must not be empty")):
            self.setUp()
            at = self.json
            *parents, last = path.split(".")
            for each in parents:
                at = at[each]
            at[last] = value
            self.assertEqual(self.read(), why)
        self.setUp()
        del self.json["reference"]
        self.assertEqual(self.read(), "d.json: field 'reference' is missing")

    def test_one_element_type_of_ours(self):
        for dtype, why in (("float32", "'float32' is none of the element types"),
                           ("float8_e4m3fn", "fp8 attention")):
            for tensor in (*self.json["inputs"].values(), self.json["outputs"]["out"]):
                tensor["dtype"] = dtype
            self.assertIn(why, self.read())

    def test_workloads_are_refused_by_line(self):
        for workload, why in (('{"uuid":"u","axes":{"batch":1}}',
                               "d.json: axis 'text' has no value"),
                              ('{"uuid":"u","axes":{"batch":9e9}}',
                               "line 1 of w.jsonl: field 'axes.batch' must be a whole number"),
                              ('{"uuid":"u","axes":{"batch":-1,"text":1,"image":1}}',
                               "batch must be at least 1"), ('{"uuid":"u","axes":{},"axes":{}}',
                                                             "has a key twice"),
                              ('{"uuid":NaN}', "NaN is not JSON"),
                              ("{", "line 1 of w.jsonl: is not valid JSON"), ("[" * 100_000,
                                                                              "is not valid JSON")):
            self.assertIn(why, self.read(workload))


class Mutations(unittest.TestCase):
    def mutated(self, text):
        """With a few characters changed, removed, repeated or copied."""
        for _ in range(self.random.randint(1, 4)):
            at = self.random.randrange(len(text))
            piece = text[self.random.randrange(len(text)):][:self.random.randint(0, 40)]
            mark = self.random.choice("()[]{},:=*-./'\"\\ \n0 9ak_\0é@#")
            added = self.random.choice((piece, mark * self.random.randint(0, 3)))
            text = text[:at] + added + text[at + self.random.randint(0, 9):]
        return text or "x"

    def test_mutated_tasks_are_read_or_refused_in_words(self):
        self.random = random.Random(7)
        bench, task, reference, definition, workloads = ((DATA / name).read_text() for name in (
            "kernelbench/7_CausalAttention.py", "kernelbot/causal_attention/task.yml",
            "kernelbot/causal_attention/reference.py", "sol/joint_attention/definition.json",
            "sol/joint_attention/workload.jsonl"))
        sizes = tasks.parse_kernelbot(task, "t")[1]
        for _ in range(200):
            told(tasks.parse_kernelbench, self.mutated(bench), "f16", "x.py")
            told(tasks.suite_of_task, sizes, self.mutated(reference), "t")
            told(lambda: tasks.suite_of_task(
                tasks.parse_kernelbot(self.mutated(task), "t")[1], reference, "t"))
            told(lambda: trace_sets.suite_of([(
                trace_sets.Definition(self.mutated(definition), "d"),
                trace_sets.parse_workloads(self.mutated(workloads), "w"))],
                problems.Suite("", "d")))


if __name__ == "__main__":
    sys.exit(unittest.main())
