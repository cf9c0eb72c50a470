"""write_traces.py: Writes kernels as a data set of FlashInfer-Trace."""
from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any, Dict, List, Optional

from ..documents import note, write_own
from .kernels import (Kernel, Written, lies, own_call, part, problem_name, reference_body,
                      stored_shape, torch_dtype, uuid_of)
from .problems import Problem

_OPERATION = "attention"  # op_type, and the folder of its files
_LAUNCHED = {"cold": "the L2 cache flushed before each", "plain": "back to back, launched plainly",
             "hot": "back to back, chained"}
_PLAIN_LAUNCH = """\
  check(@name@_launch(kernel, q_at, k_at, v_at, out_at, 0, 0, stream), "the launch failed");
"""
_SCRATCH_LAUNCH = """\
  // Launches that run at the same time each need scratch of their own.
  CUdeviceptr scratch = 0;
  check(cuMemAllocAsync(&scratch, @name@_scratch_bytes(), stream), "cuMemAllocAsync");
  const CUresult code = @name@_launch(kernel, q_at, k_at, v_at, out_at, 0, scratch, stream);
  check(cuMemFreeAsync(scratch, stream), "cuMemFreeAsync");
  check(code, "the launch failed");
"""


def _solution_name(kernel: Kernel) -> str:
    facts = kernel.facts
    return f"{facts['kernel']}_{facts['arch']}_{facts['id'][:8]}"


def _tensor(problem: Problem, tensor: str) -> Dict[str, Any]:
    heads, rows = (("num_qo_heads", "seq_q") if tensor in ("q", "out") else
                   ("num_kv_heads", "seq_kv"))
    between = [rows, heads] if lies(problem, tensor) == "bshd" else [heads, rows]
    return {"shape": ["batch", *between, "head_dim"], "dtype": torch_dtype(problem)}


def _reference(problem: Problem) -> str:
    imported, options = own_call(problem)
    text = f"import torch\nimport torch.nn.functional as F\n{imported}"
    return text + "\n\n@torch.no_grad()\ndef run(q, k, v):\n" + reference_body(problem, options)


def _definition(problem: Problem) -> Dict[str, Any]:
    """Every size is constant: the machine code is of this problem alone."""
    sizes = {
        "batch": problem.batch, "num_qo_heads": problem.heads, "num_kv_heads": problem.kv_heads,
        "seq_q": problem.seq_q, "seq_kv": problem.seq_kv, "head_dim": problem.head_dim
    }
    return {"name": problem_name(problem), "op_type": _OPERATION,
            "description": f"Attention for {problem.words()}", "tags": ["status:unverified"],
            "axes": {name: {"type": "const", "value": value} for name, value in sizes.items()},
            "inputs": {name: _tensor(problem, name) for name in "qkv"},
            "outputs": {"out": _tensor(problem, "out")}, "reference": _reference(problem)}


def _workload(problem: Problem, solution: Optional[str] = None,
              evaluation: Optional[Dict[str, Any]] = None) -> str:
    """A line of a workload, or of a trace where there is a solution."""
    return json.dumps({
        "definition": problem_name(problem),
        "workload": {"uuid": uuid_of(problem), "axes": {},
                     "inputs": {name: {"type": "random"} for name in "qkv"}},
        "solution": solution, "evaluation": evaluation}) + "\n"


def _binding(kernel: Kernel) -> str:
    """The source that checks tensors, takes scratch on the stream and launches the kernel."""
    problem = kernel.problem
    marks = {
        "launch": _SCRATCH_LAUNCH if kernel.facts["scratch"] else _PLAIN_LAUNCH, **{
            name: ", ".join(map(str, stored_shape(problem, name)))
            for name in ("q", "k", "v", "out")
        }, "type_code": "kDLBfloat" if problem.dtype == "bf16" else "kDLFloat", "type_bits": "16",
        "dtype": problem.dtype, "arch": kernel.facts["arch"], "NAME": kernel.name.upper(),
        "name": kernel.name
    }
    text = part("main.cu")
    for mark, value in marks.items():
        text = text.replace(f"@{mark}@", value)
    return text


def _solution(kernel: Kernel) -> Dict[str, Any]:
    """Machine code, because the builder compiles without the features of, say, sm_90a."""
    facts = kernel.facts
    sources = {"main.cu": _binding(kernel), f"{kernel.name}.h": kernel.header,
               f"{kernel.name}.cuh": kernel.source}
    return {"name": _solution_name(kernel), "definition": problem_name(kernel.problem),
            "author": f"fatune {facts['fatune']}", "description": "\n".join(kernel.origin()),
            "spec": {"language": "cuda", "target_hardware": [facts["device"].get("name") or "cuda"],
                     "entry_point": "main.cu::run", "dependencies": [],
                     "destination_passing_style": True, "binding": "tvm-ffi"},
            "sources": [{"path": path, "content": text} for path, text in sources.items()]}


def _baseline(result: Dict[str, Any]) -> Optional[Dict[str, Any]]:
    """The baseline of the gate, from the same rounds."""
    name = (result.get("gate") or {}).get("baseline")
    return next((row for row in result.get("baselines", ()) if row["impl"] == name), None)


def _time(result: Dict[str, Any]) -> str:
    """The time that a trace has: FlashInfer-Bench flushes the L2 cache; next best is a plain
    launch."""
    rows = [row for row in (result["best"], _baseline(result)) if row]
    return next((time for time in _LAUNCHED if all(row.get(time) for row in rows)), "")


def _why_no_trace(kernel: Kernel) -> str:
    """A trace says that the machine code is right and how fast it is; empty: that is known."""
    if not kernel.facts["verified"]:
        return "its results are not verified"
    if kernel.facts["recorded"]:
        return "a recording stood in for the device"
    if kernel.result is None or not kernel.result["best"].get("verify"):
        return "it was not measured"
    return "" if _time(kernel.result) else "it has no time"


def _log(kernel: Kernel, result: Dict[str, Any], time: str) -> str:
    baseline = _baseline(result)
    lines = [
        f"latency_ms: median of launches, {_LAUNCHED[time]}",
        f"reference_latency_ms: {baseline['impl']} in the same rounds, not the reference's"
        if baseline else
        "reference_latency_ms: 0, as no baseline was compared with; so is speedup_factor"
    ]
    lines += [f"{each}: {result['best'][each]['median_us']:.4g} us"
              for each in ("in_layer", "plain", "hot", "cold") if result["best"].get(each)]
    lines += ["timestamp: of the export",
              "max_relative_error: not measured; correctness.extra has the relative L2 error"]
    return "\n".join(lines + kernel.origin()) + "\n"


def _evaluation(kernel: Kernel, result: Dict[str, Any]) -> Dict[str, Any]:
    facts, checks, time, baseline = kernel.facts, result["best"]["verify"], _time(
        result), _baseline(result)
    us, rival = result["best"][time]["median_us"], baseline[time]["median_us"] if baseline else 0
    libs = {"nvrtc": facts["nvrtc"], "fatune": facts["fatune"]}
    if facts["device"].get("driver"):
        libs["driver"] = facts["device"]["driver"]
    now = datetime.datetime.now(datetime.timezone.utc)
    return {
        "status": "PASSED",
        "environment": {"hardware": facts["device"].get("name", ""),
                        "libs": libs}, "timestamp": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "log": _log(kernel, result, time), "correctness": {
            "max_relative_error": "NaN", "max_absolute_error": checks["max_abs_diff"], "extra": {
                "relative_l2": checks["relative_l2"],
                "mean_absolute_error": checks["mean_abs_diff"], "margin": checks["margin"],
                "gates": checks["gates"]
            }
        }, "performance": {
            "latency_ms": us / 1e3, "reference_latency_ms": rival / 1e3,
            "speedup_factor": rival / us
        }
    }


def write_trace_set(kernels: List[Kernel], folder: Path) -> Written:
    """Adds the kernels to the data set in the folder; files of the same kernels are replaced."""
    written = []
    for kernel in kernels:
        problem, name, solution = kernel.problem, problem_name(
            kernel.problem), _solution_name(kernel)
        place = Path(_OPERATION) / name
        written += [
            write_own(folder / "definitions" / place.with_suffix(".json"),
                  json.dumps(_definition(problem), indent=2) + "\n"),
            write_own(folder / "workloads" / place.with_suffix(".jsonl"), _workload(problem)),
            write_own(folder / "solutions" / place / f"{solution}.json",
                  json.dumps(_solution(kernel), indent=2) + "\n")]
        why = _why_no_trace(kernel)
        if why or kernel.result is None:
            note(f"warning: --to flashinfer-trace: {kernel.name} has no trace: {why}")
            continue
        evaluation = _evaluation(kernel, kernel.result)
        written.append(write_own(folder / "traces" / place / f"{solution}.jsonl",
                             _workload(problem, solution, evaluation)))
    return written
