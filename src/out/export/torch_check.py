# torch_check.py - `python sdpa.py`: is every kernel right here, and how fast?

def _describe(facts):
    p, measured = facts["problem"], facts["measured"]
    heads = p["heads"] if p["heads"] == p["kv_heads"] else f"{p['heads']} (kv {p['kv_heads']})"
    seq = p["seq_q"] if p["seq_q"] == p["seq_kv"] else f"{p['seq_q']}x{p['seq_kv']}"
    time = "not measured"
    if measured:
        time = f"{measured['hot_us']:.2f} us" + (" (recorded)" if facts["recorded"] else "")
        if measured.get("ratio"):
            time += f", {measured['ratio']:.2f} of {measured['baseline']}"
        time += f", on {facts['device']['name']}"
    mask = " causal" if p["mask"] == "causal" else ""
    notes = "" if facts["verified"] else ", NOT VERIFIED"
    return (f"{p['batch']},{heads},{seq},{p['head_dim']} {p['dtype']}{mask}: {facts['kernel']}, {facts['arch']}, {time}"
            f"{notes}")


def _microseconds(call, graph):
    """Of one of 50 calls in a row: as Python queues them, or as a replayed graph of them."""
    for _ in range(3):
        call()
    repeat = lambda: [call() for _ in range(50)]
    if graph:
        recording = torch.cuda.CUDAGraph()
        with torch.cuda.graph(recording):
            repeat()
        repeat = recording.replay
    repeat()
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    repeat()
    stop.record()
    stop.synchronize()
    return start.elapsed_time(stop) * 1e3 / 50


def _check(kernel):
    """Prints a line; whether the kernel agrees with PyTorch as far as rounding lets two correct results agree."""
    p = kernel.facts["problem"]
    sizes = [(p["batch"], p["heads"], p["seq_q"]), *[(p["batch"], p["kv_heads"], p["seq_kv"])] * 2]
    tensors = [torch.randn(*size, p["head_dim"], dtype=kernel.dtype, device="cuda") for size in sizes]
    options = {"enable_gqa": p["heads"] != p["kv_heads"], "scale": kernel.facts["scale"]}
    if p["mask"] == "causal":
        options["attn_mask"] = causal_lower_right(p["seq_q"], p["seq_kv"])
    mask = _LOWER_RIGHT if p["mask"] == "causal" else None
    own = _attend(*tensors, mask, kernel.facts["scale"], True)
    if own is None:
        print(f"FAILED  {_describe(kernel.facts)}: could not be launched")
        return False
    theirs = F.scaled_dot_product_attention(*tensors, **options)
    error = (torch.linalg.vector_norm(own.float() - theirs.float()) / torch.linalg.vector_norm(theirs.float())).item()
    limit = {torch.float16: 4e-3, torch.bfloat16: 2e-2}[kernel.dtype]  # each is within half of it of the exact result
    calls = (lambda: sdpa(*tensors, **options), lambda: F.scaled_dot_product_attention(*tensors, **options))
    with torch.no_grad():
        times = [f"{_microseconds(call, graph):.2f}" for graph in (True, False) for call in calls]
    print(f"{'ok' if error <= limit else 'FAILED':6}  {_describe(kernel.facts)}")
    print(f"        differs by {error:.1e} (limit {limit:.0e}); in a graph {times[0]} us, PyTorch {times[1]}; "
          f"call by call {times[2]} us, PyTorch {times[3]}")
    return error <= limit


def _main():
    if not torch.cuda.is_available() or torch.version.cuda is None:
        print("\n".join(map(_describe, info())))
        print("No GPU that PyTorch can use: nothing was run, and sdpa() is PyTorch's own here.")
        return 0
    here, name = torch.cuda.get_device_capability(), torch.cuda.get_device_name()
    right = True
    for kernel in _kernels:
        if _best_kernel(kernel.key, torch.cuda.current_device(), kernel.facts["scale"]) is kernel:
            right = _check(kernel) and right
        else:
            why = "another is taken for it" if _runs_on(kernel.facts, here) else f"not for {name}"
            print(f"unused  {_describe(kernel.facts)}: {why}")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(_main())
