# torch_check.py: Checks every kernel against a reference and times it; runs with `python sdpa.py`.

def _describe(facts):
    p, measured = facts["problem"], facts["measured"]
    heads = p["heads"] if p["heads"] == p["kv_heads"] else f"{p['heads']} (kv {p['kv_heads']})"
    seq = p["seq_q"] if p["seq_q"] == p["seq_kv"] else f"{p['seq_q']}x{p['seq_kv']}"
    time = "not measured"
    if measured:
        time = f"{measured.get('us', measured['hot_us']):.2f} us"
        time += f" {measured['time'].replace('_', ' ')}" if "time" in measured else ""
        if measured.get("ratio"):
            time += f", {measured['ratio']:.2f} of {measured['baseline']}"
        time += f", on {facts['device']['name']}"
    more = (f" to {p['out_dtype']}" if "out_dtype" in p else "") + (f" {p['quant']}" if "quant" in p else "")
    more += "".join(f" {name} {p[name]}" for name in ("softcap", "bias") if p.get(name))
    more += ("" if p["mask"] == "none" else f" {p['mask']}") + (f" {p['layout']}" if "layout" in p else "")
    notes = ", recorded" if facts["recorded"] else ""
    notes += "" if facts["verified"] else ", NOT VERIFIED"
    return (f"{p['batch']},{heads},{seq},{p['head_dim']} {p['dtype']}{more}: {facts['kernel']}, {facts['arch']}, {time}"
            f"{notes}")


def _microseconds(call, graph):
    """Times one of 50 consecutive calls, queued by Python or replayed as one graph."""
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


def _mask_for(kernel):
    """Returns the kernel's mask as PyTorch takes it, or values for its bias."""
    p = kernel.facts["problem"]
    if kernel.bias:
        return _bias_for(kernel)
    if p["mask"] != "causal":
        return None if p["mask"] == "none" else _mask_tensor(p["mask"], p["seq_q"], p["seq_kv"], "cuda")
    from torch.nn.attention.bias import causal_lower_right  # the import takes seconds and is rarely needed
    return causal_lower_right(p["seq_q"], p["seq_kv"])


def _bias_for(kernel):
    """Makes a bias of the kernel's sizes, type and strides."""
    front, _, laid = kernel.bias.partition("@")
    sizes, _, told = front.partition(":")
    shape = [int(size) for size in sizes.split(",")]
    strides = [int(step) for step in laid.split(":")] if laid else None
    dtype = {"": kernel.dtype, "f32": torch.float32, "bool": torch.bool}[told]
    made = (torch.empty_strided(shape, strides, dtype=dtype, device="cuda") if strides
            else torch.empty(shape, dtype=dtype, device="cuda"))
    values = torch.randn(shape, device="cuda")
    return made.copy_(values > -1 if dtype == torch.bool else values)


def _fp8_error_of(kernel, tensors):
    """Returns the kernel's error on N(0,1) inputs against PyTorch in 16 bits."""
    more = {"smooth_k": kernel.smooth_k}
    if not kernel.quantizes:
        ones = torch.ones(tensors["k"].shape[:2], device="cuda")
        more = {"descale_q": ones, "descale_k": ones, "descale_v": ones}
    options = {"attn_mask": _mask_for(kernel), "scale": kernel.facts["scale"], "enable_gqa": True}
    return sdpa_fp8(*tensors.values(), **options, **more, return_error=True)[1]


def _check_fp8(kernel, tensors):
    """Prints one line; returns whether the error is within the limit of the kernel's type."""
    error = _fp8_error_of(kernel, tensors)
    limit = 6e-2 if kernel.facts["problem"]["dtype"] == "e4m3" else 1.2e-1  # limits of fatune's gate
    print(f"{'ok' if error <= limit else 'FAILED':6}  {_describe(kernel.facts)}")
    print(f"        differs by {error:.1e} from 16 bits (limit {limit:.0e})")
    return error <= limit


def _tensors_for(kernel):
    """Makes q, k and v with the strides of tuning, each in its own memory."""
    made = {}
    for name, (row, head, batch) in list(kernel.strides.items())[:3]:
        made[name] = torch.empty_strided(kernel.shapes[name], (batch, head, row, 1), dtype=kernel.out_dtype,
                                         device="cuda")
        made[name] = made[name].normal_().to(kernel.dtype)
    return made


def _check(kernel, tensors):
    """Prints one line; returns whether kernel and PyTorch agree within rounding error."""
    p = kernel.facts["problem"]
    options = {"attn_mask": _mask_for(kernel), "enable_gqa": p["heads"] != p["kv_heads"],
               "scale": kernel.facts["scale"]}
    given = None if not kernel.bias else options["attn_mask"]
    word = kernel.mask if given is None else _with_cap(None, p.get("softcap"))
    own = _attend(*tensors, word, kernel.facts["scale"], True, given)
    if own is None:
        print(f"FAILED  {_describe(kernel.facts)}: could not be launched")
        return False
    theirs = (F.scaled_dot_product_attention(*tensors, **options) if not p.get("softcap") else _pytorch_for(
        *tensors, False, options["scale"], True, kernel.mask if given is None else word, given))
    theirs = theirs.nan_to_num()  # of rows that see no key
    error = (torch.linalg.vector_norm(own.float() - theirs.float()) / torch.linalg.vector_norm(theirs.float())).item()
    limit = {torch.float16: 4e-3, torch.bfloat16: 2e-2}[kernel.dtype]  # twice the error that each side may have
    calls = (lambda: _operator(*tensors, False, options["scale"], options["enable_gqa"], word, given), lambda: F.scaled_dot_product_attention(*tensors, **options))
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
    for kernel in _own:
        if not _runs_on(kernel.facts, here):
            print(f"unused  {_describe(kernel.facts)}: not for {name}")
            continue
        tensors = _tensors_for(kernel)
        chosen, why = _choice(_own, tensors, kernel.mask, kernel.facts["scale"], True, kernel.quantizes)
        if chosen is kernel and kernel.fp8:
            right = _check_fp8(kernel, tensors) and right
        elif chosen is kernel:
            right = _check(kernel, tensors.values()) and right
        else:
            print(f"unused  {_describe(kernel.facts)}: {'another is taken for it' if chosen else why}")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(_main())
