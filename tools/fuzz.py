#!/usr/bin/env python3
"""fuzz.py - feeds every reader with broken text made of the repository's own files and prints how many inputs each took.

    fuzz.py [--seconds N | --inputs N] [--jobs N] [--seed N] [TARGET ...]   libFuzzer; N in all, shared between the targets
    fuzz.py --replay [--program FILE] [TARGET ...]                          each seed once, with any build of the program

The program is build/fuzz/tests/fuzz/fuzz (cmake --workflow --preset fuzz). What was found lies in build/fuzz/found, and what
grew in build/fuzz/corpus, where the next run begins. Without --seed each run draws other inputs. Exit code 1: some input
broke its target; the file is named.
"""
import argparse
import concurrent.futures
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PLACE = ROOT / "build" / "fuzz"
LARGEST = 8_000  # chosen: bytes of a seed; large inputs find little more and are slow


def text_of(path):
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def shortened(value, most):
    """The document with at most that many elements in each list, but for pairs of numbers and dimensions."""
    if isinstance(value, dict):
        return {key: shortened(each, most) for key, each in value.items()}
    if not isinstance(value, list) or (len(value) <= 4 and all(isinstance(each, (int, float)) for each in value)):
        return value
    return [shortened(each, most) for each in value[:most]]


def whole_files(*patterns):
    return (text_of(path) for pattern in patterns for path in sorted(ROOT.glob(pattern)))


def files(*patterns):
    for text in whole_files(*patterns):
        for most in (8, 2, 1):
            try:
                text = json.dumps(shortened(json.loads(text), most)).encode() if len(text) > LARGEST else text
            except ValueError:  # no JSON, or one that was never closed
                break
        yield text


def keys_in(value):
    """Yields each object of the document with each of its keys."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for each in inner:
        yield from keys_in(each)
    if isinstance(value, dict):
        yield from ((value, key) for key in list(value))


def maimed(*patterns):
    """Yields each document without one key, and with that key misspelled, for every key at any depth."""
    for text in files(*patterns):
        document = json.loads(text)
        for place, key in keys_in(document):
            value = place.pop(key)
            yield json.dumps(document).encode()
            place[key + "x"] = value
            yield json.dumps(document).encode()
            del place[key + "x"]
            place[key] = value


def journals():
    """Yields the header of each committed journal, with some lines of every kind behind it."""
    for path in sorted(ROOT.glob("results/**/journal.jsonl*")):
        header, *lines = text_of(path).splitlines()
        kinds = {}
        for line in lines:
            kinds.setdefault(str(re.findall(rb'"(?:t|outcome|role)":"\w+"', line)), line)
        header, *kinds = (json.dumps(shortened(json.loads(line), 1)).encode() + b"\n" for line in (header, *kinds.values()))
        yield header + b"".join(kinds)
        for line in kinds:
            yield header + line


def shards():
    """The same as journals of shards, and of runs that were merged."""
    for text in journals():
        header, lines = text.split(b"\n", 1)
        whole = json.loads(header)
        for shard in ({"number": 2, "of": 3, "problems": [0]}, {"number": 1, "of": 1, "problems": list(range(len(whole["plan"]["problems"])))}):
            whole["plan"]["shard"] = shard | {"plan": "ab" * 32}
            whole["merged"] = [{"number": 1, "device_uuid": "GPU-0", "host": "x"}]
            yield json.dumps(whole).encode() + b"\n" + lines


def strings(field, *patterns):
    for text in whole_files(*patterns):
        yield from re.findall(rb'"%s": *"((?:[^"\\]|\\.)*)"' % field, text)


def caches():
    """Kernel Tuner's, cut to their first entries as an unfinished one is."""
    for text in whole_files("tests/data/recording/*_a100.json.gz", "tests/data/recording/pnpoly*",
                            "tests/data/recording/gemm*", "tests/data/recording/convolution_a100.json"):
        yield text[:LARGEST // 2].rsplit(b"},", 1)[0] + b"}}}"


def messages():
    problem = b'"problem":{"batch":4,"heads":8,"kv_heads":8,"seq_q":512,"seq_kv":512,"head_dim":64,"dtype":"f16","mask":"none"}'
    yield b'{"t":"run","id":"0","program":{"cubin":"a","plan":{}},"verify":true,"hot":true,"cold":false}'
    yield b'{"t":"begin",%s,"checks_cubin":"a","reference":{},"twin":{},"cases":[]}' % problem
    yield b'{"t":"rounds","contestants":[],"rounds":40,"launches_per_round":5,"verify":true,"seed":42}'
    yield b'{"t":"error","kind":"device","message":"x"}'
    for journal in whole_files("results/h200/mission/journal.jsonl.gz"):
        for line in journal.splitlines()[1:60]:
            yield line.replace(b'"t":"candidate"', b'"t":"ran","verify_s":1,"timing_s":1')


def conversation():
    """With a judge, in both dialects: what the tests send, each line in its own file."""
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
    calls = [("list_problems", {"filter": "it"}), ("get_problem", {"id": "it"}), ("history", {"problem": "it", "last": 3}), ("compare", {"ids": ["a", "b"], "rounds": 9}),
             ("leaderboard", {"problem": "it", "first": 2}), ("explain_failure", {"id": "0"}), ("profile_kernel", {"id": "0"})]
    for line in whole_files("tests/data/judge/submissions.jsonl"):
        for each in map(json.loads, line.splitlines()):
            if "tool" in each:
                calls.append((each["tool"], {**each["arguments"], "problem": "it"}))
    for number, (tool, arguments) in enumerate(calls):
        yield json.dumps({"id": number, "tool": tool, "arguments": arguments, "progress": True}).encode()
        params = {"name": tool, "arguments": arguments, "_meta": {**meta, "progressToken": "p"}}
        yield json.dumps({"jsonrpc": "2.0", "id": str(number), "method": "tools/call", "params": params}).encode()
    start = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}}}
    for method in ("tools/list", "resources/list", "resources/templates/list", "prompts/list", "ping", "server/discover"):
        yield b"\n".join(json.dumps(each).encode() for each in (start, {"jsonrpc": "2.0", "id": 1, "method": method, "params": {}}))
    for uri in ("fatune://", "fatune://problem/it", "fatune://kernel/0/source", "fatune://runs/1/journal", "fatune://judgements"):
        yield json.dumps({"resource": uri}).encode()
        yield json.dumps({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": uri, "_meta": meta}}).encode()
    yield b'{"prompt":"full","arguments":{"problem":"it"}}\n{"cancel":1}'
    yield b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}'


def ledgers():
    """The header of the committed run and one line behind it; headers that lack something."""
    for text in whole_files("results/*/evolve/*/ledger.jsonl.gz"):
        header, *lines = (json.dumps(shortened(json.loads(line), 1)).encode() + b"\n" for line in text.splitlines())
        for line in lines[:12] + lines[-2:]:
            yield header + line
        whole = json.loads(header)
        for key in whole:
            yield json.dumps({each: whole[each] for each in whole if each != key}).encode() + b"\n"
        yield json.dumps(whole | {"device": {}}).encode() + b"\n"


def entries():
    """Yields entries of the committed run's transcript, without the longest texts."""
    for text in whole_files("results/*/evolve/*/transcript.jsonl.gz"):
        for line in text.splitlines()[:20]:
            entry = json.loads(line)
            yield json.dumps(entry | {"request": entry["request"][:500]}).encode() + b"\n"


def answers():
    yield b'{"candidates":[{"edits":[{"find":"int a","replace":"int c"}],"lever":"name","thought":"why","parents":["t0"]}],"insight":"x",' \
          b'"usage":{"prompt_tokens":1,"completion_tokens":2,"cost":0.5}}'
    for entry in entries():
        yield json.loads(entry).get("answer", "").encode()


def requests():
    """As browsers, curl and httplib ask for the live page, and some that it refuses."""
    browser = ("Host: 127.0.0.1:8712", "Connection: keep-alive", 'sec-ch-ua: "Chromium";v="118", "Not=A?Brand";v="99"',
               "sec-ch-ua-mobile: ?0", "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36", "Accept: */*",
               "Sec-Fetch-Site: same-origin", "Accept-Encoding: gzip, deflate, br", "Accept-Language: en-US,en;q=0.9")
    for line, *headers in (("GET / HTTP/1.1", *browser, "Upgrade-Insecure-Requests: 1"),
                           ("GET /data.json?1 HTTP/1.1", *browser, 'If-None-Match: "0123456789abcdef"'),
                           ("HEAD /data.json HTTP/1.1", "Host: localhost:8712", "User-Agent: curl/7.88.1", "Accept: */*"),
                           ("POST / HTTP/1.0", "Host: evil.example", "host: 127.0.0.1", "Content-Length: 1", "", "x"),
                           ("GET /../etc/passwd HTTP/1.1", "Range: bytes=0-," * 40), ("G /", "no colon")):
        yield "\r\n".join((line, *headers, "", "")).encode()


# Each target's seeds: texts that it reads, or beginnings of such texts.
SEEDS = {
    "json": lambda: files("configs/*/*.json", "tests/data/cli/*.json"),
    "gzip": lambda: (gzip.compress(text[:5000]) for text in files("docs/*.md", "configs/*/*.json")),
    "words": lambda: [b"../x\x1b[2J\n", b"it's $(x)", "\u202e\u009b é <&>\"".encode(), b"[a-z]{3}\nabc"],
    "manifest": lambda: [*files("kernels/**/*.json"), *maimed("examples/rmsnorm/*.json", "kernels/*/fa_wgmma_stream_k.json", "kernels/faults/*.json")],
    "expression": lambda: strings(b"require", "kernels/**/*.json"),
    "python": lambda: strings(b"Expression", "tests/data/recording/*.json"),
    "suite": lambda: [*files("configs/problems/*.json"), *maimed("configs/problems/fp8.json")],
    "shape": lambda: [b"4,8,512,64", b"ROWS=4096,COLUMNS=1024", b"q=8:2:1,k=bhsd", b"packed", b"bshd"],
    "journal": journals,
    "journal_files": journals,
    "merge": shards,
    "kernel_tuner": caches,
    "t4": lambda: files("tests/data/recording/*_t4.json", "tests/data/recording/hyper*.json"),
    "ktt": lambda: files("tests/data/recording/*_ktt.json"),
    "t1": lambda: files("tests/data/recording/*_t1.json"),
    "best": lambda: [*files("results/**/best.json", "tests/data/tune/best.json", "tests/data/cli/*.json"), *maimed("tests/data/tune/best.json")],
    "saved": lambda: files("results/h200/bench*.json", "results/h200/gate*.json"),
    "known": lambda: files("configs/known/*.json"),
    "wisdom": lambda: [*files("tests/fuzz/seeds/index.json"), *maimed("tests/fuzz/seeds/index.json")],
    "launch": lambda: [*files("tests/fuzz/seeds/launch.json"), *maimed("tests/fuzz/seeds/launch.json")],
    "message": messages,
    "compile_log": lambda: [b"ptxas info    : Compiling entry function 'f' for 'sm_90a'\nptxas info    : Used 40 registers, 1 barriers, "
                            b"376 bytes cmem[0]\n0 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads\n"],
    "ncu": lambda: files("tests/data/profile/*.csv"),
    "sass": lambda: files("tests/data/profile/*.sass", "tests/data/profile/*.txt"),
    "client": conversation,
    "answer": answers,
    "transcript": entries,
    "ledger": ledgers,
    "http": requests,
}


def write_seeds(target, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for number, text in enumerate(SEEDS[target]()):
        (folder / f"{number:04}").write_bytes(text[:LARGEST])


def fuzz(program, target, limits, seeds):
    """(words for the table, whether all went well)"""
    corpus, found = PLACE / "corpus" / target, PLACE / "found"
    for folder in (corpus, found):
        folder.mkdir(parents=True, exist_ok=True)
    write_seeds(target, seeds)
    # 2 s and 512 MB are promised; the sanitizers take several times as much.
    command = [program, target, *limits, f"-max_len={LARGEST}", "-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1",
               "-reload=0", f"-artifact_prefix={found}/{target}-", corpus, seeds]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, errors="replace", check=False,
                          env=os.environ | {"UBSAN_OPTIONS": "print_stacktrace=1"})
    stat = dict(re.findall(r"stat::(\w+): +(\d+)", done.stderr))
    covered = re.findall(r"cov: (\d+)", done.stderr)[-1:] or ["-"]
    row = f"{int(stat.get('number_of_executed_units', 0)):>12,} {covered[0]:>8} {stat.get('peak_rss_mb', '-'):>8}"
    if done.returncode == 0:
        return f"{row}  held", True
    (found / f"{target}.log").write_text(done.stderr)
    return f"{row}  BROKE, see {found / target}.log", False


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=pathlib.Path, default=PLACE / "tests" / "fuzz" / "fuzz")
    parser.add_argument("--seconds", type=int, default=120, metavar="N")
    parser.add_argument("--inputs", type=int, metavar="N")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    parser.add_argument("--replay", action="store_true")
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    args = parser.parse_args()
    for unknown in set(args.targets) - set(SEEDS):
        parser.error(f"no target {unknown}: {', '.join(SEEDS)}")
    targets = args.targets or list(SEEDS)
    program = args.program.resolve()
    listed = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
    if set(listed) != set(SEEDS):
        sys.exit(f"fuzz.py and {program} differ in {', '.join(set(listed) ^ set(SEEDS))}")
    with tempfile.TemporaryDirectory() as scratch:
        places = {target: pathlib.Path(scratch) / target for target in targets}
        if args.replay:
            for target, place in places.items():
                write_seeds(target, place)
                if not list(place.iterdir()):
                    sys.exit(f"{target}: there is no seed")
                if subprocess.run([program, target, *sorted(place.iterdir())], check=False).returncode != 0:
                    sys.exit(f"{target}: a seed broke it")
            print(f"{len(targets)} targets held")
            return 0
        share = max(1, args.seconds * min(args.jobs, len(targets)) // len(targets))
        limits = [f"-runs={args.inputs // len(targets)}" if args.inputs else f"-max_total_time={share}", f"-seed={args.seed}"]
        print(f"{'target':16} {'inputs':>12} {'covered':>8} {'peak MB':>8}", flush=True)
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            rows = {target: pool.submit(fuzz, program, target, limits, places[target]) for target in targets}
            for target, row in rows.items():
                print(f"{target:16} {row.result()[0]}", flush=True)
        return 0 if all(row.result()[1] for row in rows.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
