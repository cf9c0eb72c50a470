#!/usr/bin/env python3
"""Runs fatune with closed descriptors, full disks and hostile files, and expects a message and an exit code.

    hostile_test.py --fatune PATH

No case names a node of /dev for writing: a program that fails the test would replace it for the whole machine.
"""
import argparse
import gzip
import json
import os
import pathlib
import random
import re
import shlex
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import tokenize
import unittest
import xml.etree.ElementTree

FATUNE = CUDA_INCLUDE = ""
HERE = pathlib.Path(__file__).resolve().parent
RECORDED = HERE.parent.parent / "configs/recorded/h200-mission.jsonl.gz"
SWEEP = "sweep --shape 4,8,512,64 --kernel fa_wmma --budget 5 --device recorded --out run"
FILES = 4


class Hostile(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def shell(self, line, code=0, timeout=60):
        """Output of a shell line in which `fatune` is the program. The exit code must be `code`."""
        env = {"PATH": f"{pathlib.Path(FATUNE).parent}:/usr/bin:/bin", "HOME": str(self.folder), "NO_COLOR": "1",
               "COLUMNS": "80", "LC_ALL": "C.UTF-8", "RECORDED": str(RECORDED)}
        done = subprocess.run(["bash", "-c", line], cwd=self.folder, env=env, stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, timeout=timeout, check=False)
        self.assertEqual(done.returncode, code, (line, done.stdout[-500:], done.stderr[-500:]))
        return done.stdout, done.stderr


class Links(Hostile):
    """A run that came as an archive holds links out of it."""

    def test_nothing_is_written_through_a_link_of_a_run(self):
        mine = self.folder / "mine"
        mine.write_text("mine")
        self.shell(f"fatune {SWEEP} -q")
        for name, line in (("best.json", "fatune resume run --device recorded -q"), ("report.html", "fatune report run -o run/report.html"),
                           ("sdpa.py", "fatune export run --to torch -o run/sdpa.py --unverified"),
                           ("cubins", "fatune export run --to wisdom -o run --unverified; true"),
                           ("journal.jsonl", "fatune resume run --device recorded -q; [ $? = 4 ]")):
            with self.subTest(name):
                (self.folder / "run" / name).unlink(missing_ok=True)
                (self.folder / "run" / name).symlink_to("../mine" if name != "cubins" else "..")
                self.shell(line)
                self.assertEqual((mine.read_text(), list(self.folder.glob("*.cubin"))), ("mine", []))


class Streams(Hostile):
    def test_a_sweep_without_stderr_or_stdout_keeps_its_journal(self):
        for number, closed in enumerate(("2>&-", ">&-", "<&-", "<&- >&- 2>&-")):
            with self.subTest(closed):
                run = f"run{number}"
                self.shell(f"fatune {SWEEP}{number} {closed}")
                self.assertNotIn("cut", self.shell(f"fatune report {run}")[1])
                self.assertEqual((self.folder / run / "journal.jsonl").read_bytes().count(b'{"schema"'), 1)

    def test_a_full_stdout_is_exit_4(self):
        self.shell(f"fatune {SWEEP} -q")
        for command in ("report run --json", "report run", "kernels", "kernels --json", "inspect --shape 4,8,512,64 --kernel naive",
                        "replay run --strategy random --repeats 2 --budget 5", "man", "schema", "completions bash", "--help", "--version", "sweep --help"):
            with self.subTest(command):
                _, said = self.shell(f"fatune {command} >/dev/full", FILES)
                self.assertIn("stdout: cannot write all of the answer", said)

    def test_a_closed_pipe_is_no_error_of_ours(self):
        self.shell("set -o pipefail; fatune kernels | true; test ${PIPESTATUS[0]} -eq 0 -o ${PIPESTATUS[0]} -eq 141")


class Interrupts(Hostile):
    """Ctrl-C ends each command with 130, once it has said on stderr what it does."""

    def interrupted(self, words, line):
        env = {"PATH": "/usr/bin:/bin", "HOME": str(self.folder), "LC_ALL": "C.UTF-8"}
        with subprocess.Popen([FATUNE, *words.split()], env=env, cwd=self.folder, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            for said in process.stderr:
                if line in said:
                    break
                if "NVRTC" in said:
                    self.skipTest(said)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, (out, err))
        return out, err

    def test_compile_keeps_its_table(self):
        out, err = self.interrupted("compile --shape 4,8,512,64 --kernel fa_mma --budget 400 --jobs 1", "compile fa_mma 0/")
        self.assertTrue(out.startswith("compiled for sm_90a"), out)
        self.assertIn("interrupted; what was compiled is in the cache", err)

    def test_lint_ends(self):
        self.interrupted("kernels lint fa_mma", "compiling configs of fa_mma")


class Clients(Hostile):
    """Hostile input of the judge."""
    CALL = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {
        "name": "submit_kernel", "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                                           "io.modelcontextprotocol/clientCapabilities": {}},
        "arguments": {"problem": "mission/small", "source": "x", "manifest": {"schema": "fatune.kernel/1", "source": "a.cu"}}}}).encode()
    PIECES = (b"null", b"[", b"{", b'"', b"1e999", b"-", b"\\u0000", b"true,")

    def judge(self, *options):
        return subprocess.Popen([FATUNE, "judge", "--device", "none", "--quiet", *options], cwd=self.folder, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def answers(self, text, *options):
        """Answers, line by line, to a client that sends the text and leaves."""
        judge = self.judge(*options)
        out, said = judge.communicate(text, timeout=120)
        self.assertEqual((judge.returncode, said), (0, b""))
        return [json.loads(line) for line in out.splitlines()]

    def mutated(self, chance):
        line = bytearray(self.CALL)
        for _ in range(chance.randrange(1, 4)):
            at = chance.randrange(len(line))
            length = chance.randrange(9)
            line[at:at + length] = chance.choice((b"", chance.randbytes(length), chance.choice(self.PIECES)))
        return bytes(line).replace(b"\n", b" ")

    def test_no_line_ends_the_session(self):
        chance = random.Random(1)
        noise = b"\n".join(chance.randbytes(chance.randrange(1, 400)) for _ in range(1000))
        mutants = b"\n".join(self.mutated(chance) for _ in range(2000))
        last = b'\n{"jsonrpc":"2.0","id":"last","method":"initialize","params":{"protocolVersion":"2025-11-25"}}\n'
        answers = self.answers(noise + b"\n" + mutants + last)
        self.assertEqual([each["result"]["protocolVersion"] for each in answers if each.get("id") == "last"], ["2025-11-25"])
        self.assertGreater(sum("error" in each for each in answers), 1000)
        lines = self.answers(noise + b'\n{"id":"last","tool":"list_problems"}\n', "--jsonl")
        self.assertIn("result", lines[-1])

    def test_calls_beyond_the_limits_are_refused_and_all_are_answered(self):
        calls = b"".join(b'{"id":%d,"tool":"list_problems","arguments":{"filter":"small"}}\n' % number for number in range(2000))
        answers = self.answers(calls, "--jsonl")
        self.assertEqual(sorted(each["id"] for each in answers), list(range(2000)))
        served = sum("result" in each for each in answers)
        self.assertTrue(64 <= served <= 600, served)

    def test_a_cancelled_compilation_is_answered_at_once(self):
        submission = json.loads((HERE.parent / "data/judge/submissions.jsonl").read_text().splitlines()[0])
        judge = self.judge("--jsonl", "--cache", str(self.folder / "cache"))
        judge.stdin.write((json.dumps({**submission, "id": "a", "progress": True}) + "\n").encode())
        judge.stdin.flush()
        self.assertIn(b"compiling", judge.stdout.readline())
        out, _ = judge.communicate(b'{"cancel":"a"}\n{"id":"b","tool":"history"}\n', timeout=60)
        first, second = map(json.loads, out.splitlines())
        if "error" in first:  # the compiler may have been faster
            self.assertEqual(first["error"], {"kind": "interrupted", "message": "cancelled"})
            self.assertEqual(second["result"], {"judgements": []})

    def test_a_signal_and_a_full_stdout_end_it(self):
        judge = self.judge("--jsonl")
        judge.stdin.write(b'{"tool":"history"}\n')
        judge.stdin.flush()
        judge.stdout.readline()
        judge.terminate()
        self.assertEqual(judge.wait(timeout=20), 130)  # before the end of stdin, which would also end the judge
        self.assertEqual(judge.communicate()[1], b"fatune: error: interrupted\n")
        self.shell("echo '{\"tool\":\"history\"}' | fatune judge --jsonl -q >/dev/full", FILES)


class Outputs(Hostile):
    def setUp(self):
        super().setUp()
        self.shell(f"fatune {SWEEP} -q")

    def test_a_link_to_an_open_file_is_that_file(self):
        """/dev/stdout is a link to the output."""
        (self.folder / "out").symlink_to("/proc/self/fd/1")
        self.shell("echo before >log; fatune report run --json -o out >>log; echo after >>log")
        lines = (self.folder / "log").read_text().splitlines()
        self.assertEqual((lines[0], lines[1], lines[-1]), ("before", "{", "after"))
        answer, _ = self.shell("fatune report run --json -o out | cat")
        self.assertIn('"schema": "fatune.report/', answer)
        self.assertTrue((self.folder / "out").is_symlink())

    def test_no_fifo_or_device_is_read_where_a_file_is_looked_for(self):
        """A FIFO would be waited for, and so would a terminal that nobody types at."""
        self.shell(f"fatune {SWEEP} -q; mkdir -p .config/fatune lone")
        for name, line, code in (("run/journal.jsonl", "fatune report run", FILES), ("run/journal.jsonl", "fatune resume run", FILES),
                                 ("run/journal.jsonl", "fatune replay run/journal.jsonl", FILES), ("run/best.json", "fatune export run -o out", FILES),
                                 ("run/best.json", "fatune bench --config run/best.json --device recorded", FILES),
                                 ("lone/best.json", "fatune export lone -o out", FILES), ("run/best.json", "fatune report run", 0),
                                 (".config/fatune/config.toml", "fatune schema best", FILES), ("wisdom/index.json", "fatune export results --to wisdom -o wisdom", FILES)):
            for plant in (os.mkfifo, lambda path: path.symlink_to("/dev/ptmx"), pathlib.Path.mkdir):
                with self.subTest(name, line=line), tempfile.TemporaryDirectory() as kept:
                    file = self.folder / name
                    file.parent.mkdir(exist_ok=True)
                    if file.exists():
                        file.rename(pathlib.Path(kept) / "file")
                    (self.folder / "results").unlink(missing_ok=True)
                    (self.folder / "results").symlink_to(HERE.parent.parent / "results/h200/mission")
                    plant(file)
                    _, said = self.shell(line, code, timeout=20)
                    self.assertEqual(said.count("error:"), 1 if code else 0, said)
                    file.rmdir() if file.is_dir() else file.unlink()
                    if (pathlib.Path(kept) / "file").exists():
                        (pathlib.Path(kept) / "file").rename(file)

    def test_a_fifo_is_written_to_and_stays(self):
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        got = []
        reader = threading.Thread(target=lambda: got.append(fifo.read_bytes()), daemon=True)
        reader.start()
        self.shell("fatune report run --json -o fifo")
        reader.join(10)
        self.assertTrue(got[0].startswith(b"{"))
        self.assertTrue(stat.S_ISFIFO(fifo.stat().st_mode))

    def test_a_link_is_followed_and_the_permissions_stay(self):
        secret = self.folder / "there" / "secret.json"
        secret.parent.mkdir()
        secret.write_text("old")
        secret.chmod(0o600)
        (self.folder / "link").symlink_to("there/secret.json")
        (self.folder / "dangling").symlink_to("there/new.json")
        for name in ("link", "dangling"):
            self.shell(f"fatune report run --json -o {name}")
            self.assertTrue((self.folder / name).is_symlink())
            self.assertTrue((self.folder / name).read_text().startswith("{"))
        self.assertEqual(stat.S_IMODE(secret.stat().st_mode), 0o600)
        self.assertEqual(sorted(os.listdir(secret.parent)), ["new.json", "secret.json"])



NESTED = "[" * 60_000 + "]" * 60_000


class Readers(Hostile):
    """Each file is refused with a message, quickly and in little memory."""

    def refused(self, line, words, code=FILES):
        _, said = self.shell(f"ulimit -v 2000000; {line}", code, timeout=20)
        self.assertIn(words, said, line)
        self.assertLess(len(said), 2000, line)

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def journal(self, *changes):
        """A journal of two lines of the recording, each change made once."""
        with gzip.open(RECORDED, "rt") as lines:
            text = lines.readline()
            text += next(line for line in lines if '"outcome":"measured"' in line)
        for before, after in changes:
            self.assertIn(before, text)
            text = text.replace(before, after, 1)
        self.write("journal.jsonl", text)
        return text

    def test_deep_nesting(self):
        self.write("kt.json", '{"kernel_name":"k","tune_params_keys":["a"],"tune_params":{"a":[%s,2]},"cache":{"1":{"a":1,"time":1}}}'
                   % NESTED)
        self.write("t4.json", '{"results":[{"configuration":{"a":%s},"invalidity":"correct"}]}' % NESTED)
        self.write("ktt.json", '{"Metadata":{},"Results":[{"Configuration":[{"Name":"a","Value":%s}]}]}' % NESTED)
        self.write("t1.json", '{"ConfigurationSpace":{"TuningParameters":[{"Name":%s}]}}' % NESTED)
        self.write("best.json", '{"kernel":"fa_wmma","config":{"BLOCK_M":%s}}' % NESTED)
        self.write("suite.json", '{"schema":"fatune.problems/1","name":"x","problems":[%s]}' % NESTED)
        (self.folder / "own").mkdir()
        self.write("own/own.json", '{"schema":"fatune.kernel/1","name":%s}' % NESTED)
        self.journal(('"config":{', '"config":{"deep":%s,' % NESTED))
        shape = "--shape 4,8,512,64"
        for line in ("replay kt.json", "replay t4.json", "replay ktt.json", "replay journal.jsonl", "replay kt.json --space t1.json",
                     "report journal.jsonl", "report . -o page.html", "report . --format svg -o plots", "report . --format t4",
                     f"inspect {shape} --config best.json", "export --config best.json --to json --out e", "sweep --suite suite.json",
                     "kernels lint --kernel-dir own", f"bench {shape} --device recorded:journal.jsonl --config best.json",
                     f"sweep {shape} --device recorded:journal.jsonl", f"sweep {shape} --device recorded --import kt.json",
                     f"sweep {shape} --device recorded --warm best.json", f"gate {shape} --device recorded --candidate best.json --baseline best.json"):
            with self.subTest(line):
                self.refused(f"fatune {line}", "is nested deeper than 128 levels at ")

    def test_sizes(self):
        with gzip.open(self.folder / "bomb.jsonl.gz", "wb") as bomb:
            for _ in range(40):
                bomb.write(b"1," * (1 << 19))
        self.refused("fatune report bomb.jsonl.gz", "bomb.jsonl.gz: unpacks to more than 100 times its size")
        self.refused("fatune report /dev/zero", "/dev/zero: holds more than 512.0 MiB, the most that is read")
        self.refused("fatune inspect --shape 4,8,512,64 --config /dev/zero", "/dev/zero: holds more than 128.0 MiB")
        self.refused("fatune replay <(cat /dev/zero)", "holds more than 512.0 MiB")

    def test_many_lines(self):
        """Journals with as many meaningless lines and values as are read, and with more."""
        header, nothing = self.journal().splitlines()[0], '{"t":"end","status":"complete"}\n'
        keys = '{"t":"end","x":{"a":1' + "".join(f',"k{i}":1' for i in range(200_000)) + "}}\n"
        values = '{"t":"end","x":[' + "1," * 4_000_000 + "1]}\n"
        for lines, words in ((nothing * 3_999_999, "4000000 lines would take more than 1.5 GiB of memory"), (nothing * 289_999, "holds no candidate"),
                             (values, "many.jsonl: line 2: holds more than 4000000 values"), (keys * 25, "many.jsonl: line 2: has an object of more than 256 keys")):
            self.write("many.jsonl", header + "\n" + lines)
            with open(self.folder / "said", "w+", encoding="utf-8") as said:
                child = subprocess.Popen([FATUNE, "report", self.folder / "many.jsonl"], stdout=said, stderr=said)
                _, status, used = os.wait4(child.pid, 0)
                child.returncode = os.waitstatus_to_exitcode(status)
                said.seek(0)
                self.assertEqual(child.returncode, FILES)
                self.assertIn(words, said.read())
            self.assertLess(used.ru_maxrss, 512_000)  # kB
            self.assertLess(used.ru_utime + used.ru_stime, 10)  # without optimisation; 0.6 s with it

    def test_little_memory_is_exit_3(self):
        self.refused("ulimit -v 120000; fatune report /dev/zero", "error: out of memory", code=3)

    def test_a_newer_and_an_older_journal(self):
        for version, words in (("0", "not fatune.journal/1"), ("9", "by a newer fatune"), ("x", "not fatune.journal/1")):
            self.journal(("fatune.journal/1", f"fatune.journal/{version}"))
            self.refused("fatune report journal.jsonl", words)

    def test_a_repeated_key_in_a_manifest(self):
        (self.folder / "own").mkdir()
        self.write("own/own.json", '{"schema":"fatune.kernel/1","name":"own","supports":{"dtypes":["f16"],"dtypes":["bf16"]}}')
        self.refused("fatune kernels lint --kernel-dir own", "own/own.json: an object has the key 'dtypes' twice")

    def test_names_do_not_leave_their_folder(self):
        for name in ("../PWN", str(self.folder / "PWN")):
            self.journal(('"kernel":"', f'"kernel":"{name}" ,"was":"'))
            for kind in ("t4", "kernel-tuner", "svg"):
                self.refused(f"fatune report journal.jsonl --format {kind} -o out", "not a kernel's name")
        text = self.journal()
        header, line = text.splitlines()
        header = json.loads(header)
        other = json.loads(line)
        other["problem"]["batch"] += 1
        header["plan"]["problems"] = [{"name": f"../PWN{i}", "problem": each["problem"]} for i, each in enumerate((json.loads(line), other))]
        self.write("journal.jsonl", "\n".join(json.dumps(each) for each in (header, json.loads(line), other)) + "\n")
        self.shell("fatune report journal.jsonl --format svg -o out/plots")
        self.assertEqual([path for path in self.folder.rglob("*PWN*") if path.parent.name != "plots"], [])
        self.assertTrue(list((self.folder / "out/plots").iterdir()))

    def test_nothing_commands_the_terminal(self):
        """Puts control characters and marks of direction into each text of a journal."""
        evil = json.dumps("x\x1b[2J\x1b]0;PWN\x07\x9b\u202ePWN")[1:-1]
        self.journal(('"kernel":"', f'"detail":"{evil}","reason":"{evil}","kernel":"'), ('"environment":{"name":"', f'"environment":{{"name":"{evil}'),
                     ('"name":"', f'"name":"{evil}'), ('"config":{', f'"config":{{"{evil}":"{evil}",'),
                     ('"command":"', f'"command":"{evil}'))
        for line in ("report journal.jsonl", "report journal.jsonl --format md", "report journal.jsonl --format csv",
                     "report journal.jsonl --json", "report journal.jsonl --format t4", "replay journal.jsonl --repeats 1 --budget 1",
                     "report journal.jsonl --format svg -o plots; cat plots/*", "report journal.jsonl -o page.html; cat page.html",
                     "inspect --shape 4,8,512,64 --config journal.jsonl", f"report $'{evil}'"):
            with self.subTest(line):
                done = subprocess.run(["bash", "-c", f"{FATUNE} {line}"], cwd=self.folder, capture_output=True, timeout=60, check=False,
                                      env={"PATH": "/usr/bin:/bin", "HOME": str(self.folder), "LC_ALL": "C.UTF-8"})
                shown = (done.stdout + done.stderr).decode()
                found = [c for c in shown if c in "\x1b\x07\x9b\u202e"]
                self.assertEqual(found, [], shown[-300:])
        for picture in (self.folder / "plots").iterdir():
            xml.etree.ElementTree.parse(picture)

    def test_generated_code_is_not_escaped_from(self):
        """Texts of best.json stay within comments and strings of exported files."""
        self.shell(f"fatune {SWEEP} -q")
        best = json.loads((self.folder / "run/best.json").read_text())
        evil = "*/ PWN /*\nPWN\r\n??/\nPWN \"\"\" PWN\nimport PWN # \\\nPWN"
        best["command"] = best["device"]["name"] = best["device"]["driver"] = evil
        self.write("run/best.json", json.dumps(best))
        package = shlex.quote(str(HERE.parents[1] / "python"))
        self.shell("fatune export run --unverified --name x --to header && fatune export run --unverified --to torch -o x.py && "
                   f"PYTHONPATH={package} python3 -m fatune export run --unverified --to kernelbot && mv attention_*/*.py .", timeout=300)
        gcc = f"gcc -std=c99 -isystem {shlex.quote(CUDA_INCLUDE)} -x c x.h"
        code, _ = self.shell(f"{gcc} -pedantic-errors -fsyntax-only && {gcc} -E -P")
        self.assertNotIn("PWN", re.sub(r'"(\\.|[^"\\])*"', "", code))
        for name in ("x.py", "submission.py", "reference.py"):
            with open(self.folder / name, "rb") as module:
                tokens = [token for token in tokenize.tokenize(module.readline) if token.type == tokenize.NAME]
            self.assertNotIn("PWN", [token.string for token in tokens])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fatune", required=True)
    parser.add_argument("--cuda-include", required=True, help="the folder of cuda.h")
    args, rest = parser.parse_known_args()
    CUDA_INCLUDE = args.cuda_include
    FATUNE = os.path.abspath(args.fatune)
    unittest.main(argv=[sys.argv[0], *rest])
