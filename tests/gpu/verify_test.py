#!/usr/bin/env python3
"""Every honest kernel passes every gate at problems chosen to be awkward.

    verify_test.py --fatune PATH
"""
from gpu_support import Checks, arguments, run_json

PROBLEMS = [
    ["--shape", "4,8,512,64"],
    ["--shape", "4,8,512,64", "--causal", "--dtype", "bf16"],
    ["--shape", "1,3,17,64", "--seq-kv", "129"],
    ["--shape", "2,8,129,128", "--kv-heads", "2", "--causal"],
    ["--shape", "1,2,300,32", "--seq-kv", "77", "--causal"],
    ["--shape", "1,2,200,96", "--dtype", "bf16"],
    ["--shape", "1,2,130,256", "--causal"],
    ["--shape", "1,1,1,80", "--seq-kv", "513"],
]


def main():
    args = arguments(__doc__.splitlines()[0])
    checks = Checks()
    code, document, stderr = run_json(args.fatune, "kernels")
    checks.expect(code == 0, "kernels: " + stderr)
    honest = [kernel["name"] for kernel in document["kernels"] if kernel["role"] == "attention"]
    for problem in PROBLEMS:
        for kernel in honest:
            code, result, stderr = run_json(args.fatune, "verify", "--kernel", kernel, *problem)
            if code == 2 and "cannot do" in stderr:
                continue
            rows = (result or {}).get("rows", [])
            if rows and all(row["outcome"] == "infeasible" for row in rows):
                print(f"{kernel} {' '.join(problem)}: its default config is not possible there")
                continue
            told = "; ".join(f"{row.get('outcome')}: {row.get('reason')}" for row in rows if not row.get("passed"))
            checks.expect(code == 0 and rows, f"{kernel} {' '.join(problem)}: exit {code}; {told} {stderr[-500:]}")
    checks.finish()


if __name__ == "__main__":
    main()
