# torch_check.py: Checks every kernel against a reference and times it; runs with `python sdpa.py`.

def _describe(facts):
    p, measured = facts["problem"], facts["measured"]
    head_dim = f"{p['head_dim']}(v {p['value_dim']})" if "value_dim" in p else p["head_dim"]
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
    more += "".join(f" {name} {p[name]}" for name in ("softcap", "bias", "score") if p.get(name))
    more += "".join(f" {name}" for name in ("alibi", "sink") if p.get(name))
    more += "".join(f" tensor {text.partition(':')[0]}" for text in p.get("tensors", ()))
    more += ("" if p["mask"] == "none" else f" {p['mask']}") + (f" {p['layout']}" if "layout" in p else "")
    notes = ", recorded" if facts["recorded"] else ""
    notes += "" if facts["verified"] else ", NOT VERIFIED"
    return (f"{p['batch']},{heads},{seq},{head_dim} {p['dtype']}{more}: {facts['kernel']}, {facts['arch']}, {time}"
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


def _arguments_for(kernel):
    """Returns arguments of attention() that ask for the kernel, with values for its tensors."""
    p = kernel.facts["problem"]
    base, kind = _parted(p["mask"])
    numbers = [int(number) for number in p["mask"].rpartition(":")[2].split(",")] if kind else []
    if kind.startswith("document"):
        numbers = list(itertools.accumulate(numbers, initial=0))
    elif kind:
        numbers = (numbers * p["batch"])[:p["batch"]]
    heads = p["heads"]
    return {"mask": f"{base}+{kind.partition(' ')[0]}" if kind else base, "scale": kernel.facts["scale"], "enable_gqa": True,
            "softcap": p.get("softcap"), "score": p.get("score"), "return_lse": p.get("lse", False),
            "lengths": torch.tensor(numbers, dtype=torch.int32, device="cuda") if kind else None,
            "bias": _bias_for(kernel) if kernel.bias else None,
            "tensors": dict(map(_recorded, p.get("tensors", ()))),
            "alibi": torch.rand(heads, device="cuda") / 8 if p.get("alibi") else None,
            "sink": torch.randn(heads, device="cuda").to(kernel.dtype) if p.get("sink") else None}


def _recorded(text):
    """Returns the name of a problem's tensor, and the tensor with its recorded values; without any, of random ones."""
    form, _, told = text.partition(":")
    dtype, shape = _type_and_shape(form)
    if not told:
        return form.partition("=")[0], torch.randn(shape, device="cuda")
    runs = [run.partition("*") for run in told.split(",")]
    values = torch.tensor([float(value) for value, _, _ in runs], dtype=torch.float64, device="cuda")
    counts = torch.tensor([int(count or 1) for _, _, count in runs], device="cuda")
    return form.partition("=")[0], values.repeat_interleave(counts).to(dtype).reshape(shape)


def _check_every(kernel, tensors):
    """Like _check, for a kernel that attention() alone takes."""
    asked = _arguments_for(kernel)
    call = lambda: attention(*tensors, **asked)
    before = sum(row["calls"] for row in counts() if row["reason"] is None)
    try:
        own = call()
    except ValueError as error:
        print(f"FAILED  {_describe(kernel.facts)}: {error}")
        return False
    served = sum(row["calls"] for row in counts() if row["reason"] is None) > before
    told, p = kernel.facts["expressions"], kernel.facts["problem"]
    base, kind = _parted(p["mask"])
    mask = "+".join(filter(None, (told["beside"] if told["mask"] else base, kind.partition(" ")[0])))

    def change(scores):
        if told["score"]:
            scores = _evaluated(told["score"], p, asked["tensors"], scores)
        return scores if not told["mask"] else scores.masked_fill(
            _evaluated(told["mask"], p, asked["tensors"], scores) == 0, -math.inf)

    seen = _seen_keys(_with_lengths(mask, asked["lengths"]), asked["lengths"], *tensors[:2])
    theirs = _by_operations(*tensors, asked["scale"], True, asked["softcap"], seen, asked["bias"], asked["alibi"],
                            asked["sink"], change=change)
    pairs = zip(own, theirs) if asked["return_lse"] else [(own, theirs[0])]
    error = max(map(_difference, *zip(*pairs)))
    limit = _LIMITS[kernel.dtype]
    right = served and error <= limit
    print(f"{'ok' if right else 'FAILED':6}  {_describe(kernel.facts)}")
    with torch.no_grad():
        times = [f"{_microseconds(call, graph):.2f}" for graph in (True, False)]
    print(f"        differs by {error:.1e} (limit {limit:.0e}); in a graph {times[0]} us; call by call {times[1]} us")
    return right


_LIMITS = {torch.float16: 4e-3, torch.bfloat16: 2e-2}  # twice the error that each side may have


def _difference(own, theirs):
    """Returns the relative difference in the 2-norm. Of rows that see no key PyTorch may give NaN, and a log-sum-exp is -inf."""
    own, theirs = own.float().masked_fill(own.isneginf(), 0.0), theirs.float().nan_to_num(0.0, neginf=0.0)
    return (torch.linalg.vector_norm(own - theirs) / torch.linalg.vector_norm(theirs)).item()


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
    error, limit = _difference(own, theirs), _LIMITS[kernel.dtype]
    calls = (lambda: _operator(*tensors, False, options["scale"], options["enable_gqa"], word, given), lambda: F.scaled_dot_product_attention(*tensors, **options))
    with torch.no_grad():
        times = [f"{_microseconds(call, graph):.2f}" for graph in (True, False) for call in calls]
    print(f"{'ok' if error <= limit else 'FAILED':6}  {_describe(kernel.facts)}")
    print(f"        differs by {error:.1e} (limit {limit:.0e}); in a graph {times[0]} us, PyTorch {times[1]}; "
          f"call by call {times[2]} us, PyTorch {times[3]}")
    return error <= limit


def _is_for_attention(kernel):
    """Returns whether sdpa() has no arguments for what the kernel computes."""
    p = kernel.facts["problem"]
    return not _has_name(p["mask"]) or bool(p.get("score") or p.get("alibi") or p.get("sink") or kernel.bias and p["mask"] != "none")


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
            check = _check_every if _is_for_attention(kernel) else _check
            right = check(kernel, list(tensors.values())) and right
        else:
            print(f"unused  {_describe(kernel.facts)}: {'another is taken for it' if chosen else why}")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(_main())
