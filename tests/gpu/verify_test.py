#!/usr/bin/env python3
"""verify_test.py: Checks that honest kernels and libraries pass every gate at awkward problems.

Libraries run at problems whose rows have gaps.

    verify_test.py --fatune PATH
"""
import json
import pathlib
import tempfile

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
    ["--shape", "2,3,170,72", "--layout", "bshd"],
    ["--shape", "1,4,130,104", "--causal", "--dtype", "bf16", "--lse"],
    ["--shape", "1,2,70,8", "--seq-kv", "300"],
    ["--shape", "1,4,1,136", "--kv-heads", "2", "--seq-kv", "513", "--layout", "bshd"],
    ["--shape", "2,4,130,64", "--lse"],
    ["--shape", "1,4,100,128", "--seq-kv", "77", "--kv-heads", "2", "--causal", "--dtype", "bf16", "--lse"],
    ["--shape", "2,8,4,128", "--kv-heads", "2", "--seq-kv", "1301", "--causal"],
    ["--shape", "4,8,512,64", "--dtype", "e4m3"],
    ["--shape", "2,8,129,128", "--kv-heads", "2", "--causal", "--dtype", "e4m3", "--out-dtype", "f16", "--lse"],
    ["--shape", "1,2,300,256", "--seq-kv", "77", "--causal", "--dtype", "e5m2"],
    ["--shape", "1,2,200,96", "--dtype", "e4m3", "--layout", "bshd"],
    ["--shape", "1,3,65,192", "--dtype", "e4m3"],
    ["--shape", "2,8,1,128", "--kv-heads", "2", "--seq-kv", "1301", "--dtype", "e4m3"],
]

LAYOUT_PROBLEMS = [
    ["--shape", "4,8,512,64", "--layout", "bshd"],
    ["--shape", "3,4,257,128", "--layout", "packed", "--dtype", "bf16"],
    ["--shape", "2,8,300,64", "--layout", "packed", "--kv-heads", "2", "--causal", "--lse"],
    ["--shape", "2,8,130,64", "--seq-kv", "411", "--layout", "bshd,q=74888:9360:72,out=68640:64:528"],
    ["--shape", "2,6,65,128", "--kv-heads", "3", "--layout", "q=768:128:1544,k=384:128:768,v=27000:8840:136,out=768:128:1536"],
]
LIBRARIES = "cudnn,cudnn:best,cublas,cutensor,flashinfer,fa4,flex,torch:flash,torch:cudnn,torch:efficient,torch:math,torch:auto"

# Ways through a template that its default config does not take: parameters that differ from the default.
VARIANTS = {
    "fa_wgmma": [
        {"PINGPONG": False, "INTRA_WG_OVERLAP": "off", "BLOCK_M": 64, "PRODUCER": "warp", "STORE": "tma", "MIN_CTAS": 2},
        {"PINGPONG": False, "INTRA_WG_OVERLAP": "on", "BLOCK_M": 64, "INTRA_CTA_SPLITS": 2, "STAGES": 4, "RESCALE": "always"},
        {"PINGPONG": False, "INTRA_WG_OVERLAP": "off", "BLOCK_M": 64, "INTRA_CTA_SPLITS": 4, "STAGES": 4, "PRODUCER": "warpgroup"},
        {"PINGPONG": False, "INTRA_WG_OVERLAP": "on", "BLOCK_M": 64, "CLUSTER_SPLITS": 2, "KV_ORDER": "backward", "LAUNCH": "chained"},
        {"PINGPONG": False, "INTRA_WG_OVERLAP": "off", "BLOCK_M": 64, "CLUSTER_SPLITS": 2, "INTRA_CTA_SPLITS": 2, "EX2_EMULATED": 2},
        {"SCHEDULER": "static_persistent", "GRID_ORDER": "rotate", "STORE": "tma"},
        {"SCHEDULER": "static_persistent", "GRID_ORDER": "zigzag", "STAGGER": 800, "LAUNCH": "plain"},
        {"SCHEDULER": "static_persistent", "GRID_ORDER": "paired", "STORE": "registers", "RESCALE": "late", "INTRA_WG_OVERLAP": "on"},
        {"MMA_PV": "ss", "BLOCK_N": 96},
        {"PACK_GQA": True, "KV_ORDER": "backward"},
        {"BLOCK_M": 256, "PINGPONG": False, "INTRA_WG_OVERLAP": "on"},
    ],
    "fa_wgmma_interleaved": [
        {"ROW_SUM": "mma", "STORE": "tma", "LAUNCH": "chained"},
        {"CLUSTER_SPLITS": 2, "BLOCK_M": 64, "EX2_EMULATED": 2},
        {"PACK_GQA": True, "ROW_SUM": "mma"},
    ],
    "fa_wgmma_stream_k": [
        {"STORE": "tma", "LAUNCH": "plain"},
        {"BLOCK_M": 128, "NUM_SPLITS": 5, "STAGES": 3, "INTRA_WG_OVERLAP": "fenced"},
        {"BLOCK_M": 128, "NUM_SPLITS": 3, "PRODUCER": "warp", "PINGPONG": False, "INTRA_WG_OVERLAP": "off", "STORE": "tma"},
    ],
    "fa_mma": [
        {"RESCALE": "late", "STAGES": 2, "LAUNCH": "chained"},
        {"PACK_GQA": True, "RESCALE": "late", "STAGES": 2},
        {"PACK_GQA": True, "INTRA_CTA_SPLITS": 2, "RESCALE": "always"},
        {"INTRA_CTA_SPLITS": 4, "BLOCK_M": 16, "KV_ORDER": "backward", "LAUNCH": "dependent"},
    ],
}
VARIANT_PROBLEMS = [
    ["--shape", "4,12,200,64", "--kv-heads", "3", "--causal", "--layout", "packed,out=155136:12928:64"],
    ["--shape", "2,8,300,64", "--seq-kv", "411", "--causal", "--lse"],
    ["--shape", "3,12,257,64", "--kv-heads", "3", "--dtype", "bf16"],
    ["--shape", "16,12,130,128", "--seq-kv", "700", "--kv-heads", "6", "--causal", "--lse"],
    ["--shape", "2,24,690,64", "--seq-kv", "411", "--kv-heads", "6", "--lse"],
    ["--shape", "2,24,690,128", "--seq-kv", "700", "--dtype", "bf16", "--layout", "bshd"],
]


class Verifier:
    """Verifies a kernel's default config or a file's; false when it cannot do the problem."""

    def __init__(self, fatune, checks):
        self.fatune, self.checks = fatune, checks

    def __call__(self, choice, problem, label):
        code, result, stderr = run_json(self.fatune, "verify", *choice, *problem)
        rows = (result or {}).get("configs", [])
        if (code == 2 and "cannot do" in stderr) or (rows and all(row.get("outcome") == "infeasible" for row in rows)):
            return False
        told = "; ".join(f"{row.get('outcome')}: {row.get('reason')}" for row in rows if not row.get("passed"))
        self.checks.expect(code == 0 and rows, f"{label} {' '.join(problem)}: exit {code}; {told} {stderr[-500:]}")
        return True


def verify_variants(verify, kernels, folder):
    for kernel, variants in VARIANTS.items():
        parameters = next(entry["parameters"] for entry in kernels if entry["name"] == kernel)
        default = {parameter["name"]: parameter["default"] for parameter in parameters}
        for variant in variants:
            path = folder / "config.json"
            path.write_text(json.dumps({"kernel": kernel, "config": {**default, **variant}}))
            label = f"{kernel} {variant}"
            done = [verify(["--config", str(path)], problem, label) for problem in VARIANT_PROBLEMS]
            verify.checks.expect(any(done), f"{label}: possible at none of the problems")


def bench_libraries(fatune, checks):
    """Each passes its gates, or says why it cannot do the problem or is not here."""
    for problem in LAYOUT_PROBLEMS:
        code, result, stderr = run_json(fatune, "bench", "--impl", LIBRARIES, "--rounds", "3", *problem)
        rows = result["problems"][0]["rows"] if result else []
        checks.expect(code == 0 and rows, f"libraries {' '.join(problem)}: exit {code}; {stderr[-500:]}")
        for row in rows:
            refused = row["outcome"] in ("unavailable", "infeasible") or "cannot do this" in row.get("reason", "")
            checks.expect(row.get("verify", {}).get("passed") or refused,
                          f"{row['impl']} {' '.join(problem)}: {row['outcome']}: {row.get('reason')}")
            print(f"{row['impl']:16} {' '.join(problem[1:])}: {row['outcome']} {row.get('detail', '')} {row.get('reason', '')[:90]}")


def main():
    args = arguments(__doc__.splitlines()[0])
    checks = Checks()
    code, document, stderr = run_json(args.fatune, "kernels")
    checks.expect(code == 0, "kernels: " + stderr)
    honest = [kernel["name"] for kernel in document["kernels"] if kernel["role"] == "attention"]
    verify = Verifier(args.fatune, checks)
    for problem in PROBLEMS + LAYOUT_PROBLEMS:
        for kernel in honest:
            verify(["--kernel", kernel], problem, kernel)
    with tempfile.TemporaryDirectory() as folder:
        verify_variants(verify, document["kernels"], pathlib.Path(folder))
    bench_libraries(args.fatune, checks)
    checks.finish()


if __name__ == "__main__":
    main()
