#!/usr/bin/env python3
"""Whether published winners still have the machine code that was measured, after a kernel's text has changed.

    same_code.py OLD NEW SUITE.json...

OLD and NEW are fatune programs, built before and after the change; both compile the winners of the suites for sm_90a.
Prints each winner whose instructions differ, with how many of how many, and a summary. Exit 1 when one has another
number of instructions. Machine code of both must come from one NVRTC.
"""
import collections
import concurrent.futures
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

INSTRUCTION = 16  # bytes
SECTION = struct.Struct("<IIQQQQIIQQ")  # of a 64-bit ELF file


def code_of(cubin):
    """Machine code by function."""
    data = cubin.read_bytes()
    first, = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    sections = [SECTION.unpack_from(data, first + i * size) for i in range(count)]
    name = lambda section: data[(at := sections[names][4] + section[0]):data.index(b"\0", at)].decode()
    return {name(each): data[each[4]:each[4] + each[5]] for each in sections if name(each).startswith(".text")}


def options_of(problem):
    options = ["--shape", "{batch},{heads},{seq_q},{head_dim}".format(**problem), "--dtype", problem["dtype"],
               "--kv-heads", str(problem.get("kv_heads", problem["heads"])),
               "--seq-kv", str(problem.get("seq_kv", problem["seq_q"])), "--layout", problem.get("layout", "bhsd")]
    for field in ("value_dim", "out_dtype", "quant", "softcap", "bias"):
        options += ["--" + field.replace("_", "-"), str(problem[field])] if field in problem else []
    flags = ["--" + flag for flag in ("lse", "alibi", "sink") if problem.get(flag, False)]
    return options + ["--mask", problem["mask"]] + flags


def compiled(program, winner, folder):
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"kernel": winner["kernel"], "config": winner["config"]}))
    subprocess.run([program, "inspect", "--config", folder / "config.json", "--arch", "sm_90a", "--json", "--cache",
                    folder / "cache"] + options_of(winner["problem"]), check=True, stdout=subprocess.DEVNULL)
    cubin, = (folder / "cache").rglob("*.cubin")
    return code_of(cubin)


def difference(old, new):
    """Instructions that differ, and all; None when there are more or fewer."""
    if {name: len(code) for name, code in old.items()} != {name: len(code) for name, code in new.items()}:
        return None
    differing = sum(code[i:i + INSTRUCTION] != new[name][i:i + INSTRUCTION]
                    for name, code in old.items() for i in range(0, len(code), INSTRUCTION))
    return differing, sum(len(code) for code in old.values()) // INSTRUCTION


def winners_of(paths):
    found = {}
    for path in paths:
        document = json.loads(pathlib.Path(path).read_text())
        for row in document.get("problems", [document]):  # a run of one problem is its row
            if not row.get("best"):
                continue
            winner = {"kernel": row["best"]["kernel"], "config": row["best"]["config"], "problem": row["problem"]}
            found.setdefault(json.dumps(winner, sort_keys=True), (row.get("name", path), winner))
    return list(found.values())


def main():
    old, new, *paths = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor() as pool:
        def compare(item):
            number, (name, winner) = item
            codes = [compiled(program, winner, pathlib.Path(folder) / f"{number}-{side}")
                     for side, program in enumerate((old, new))]
            return name, winner["kernel"], difference(*codes)
        rows = list(pool.map(compare, enumerate(winners_of(paths))))
    for name, kernel, found in rows:
        if found is None:
            print(f"{name} {kernel}: another number of instructions")
        elif found[0] > 0:
            print(f"{name} {kernel}: {found[0]} of {found[1]} instructions differ")
    kinds = collections.Counter("other" if found is None else "same" if found[0] == 0 else "alike" for *_, found in rows)
    print(f"{len(rows)} winners: {kinds['same']} the same to the bit, {kinds['alike']} with as many instructions, "
          f"{kinds['other']} otherwise")
    return 1 if kinds["other"] else 0


if __name__ == "__main__":
    sys.exit(main())
