"""optimize-flex.py: Optimizes models with flex_attention, as optimize-flex.txt beside it has it.

    PYTHONPATH=python FATUNE=PROGRAM python3 results/h200/models/optimize-flex.py eager|compiled|graph|hf [--budget 12s]
"""
import sys, torch, fatune
from torch.nn.attention import flex_attention as module
which = sys.argv[1] if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else "all"
budget = sys.argv[sys.argv.index("--budget") + 1] if "--budget" in sys.argv else "20s"
B, H, S, D = 2, 16, 2048, 64
flex = torch.compile(module.flex_attention)  # the common idiom: compiled alone


class Layer(torch.nn.Module):
    def __init__(self, attend, **options):
        super().__init__()
        self.attend, self.options = attend, options
        self.qkv, self.out = torch.nn.Linear(H * D, 3 * H * D, bias=False), torch.nn.Linear(H * D, H * D, bias=False)

    def forward(self, x):
        q, k, v = self.qkv(x).view(B, S, 3, H, D).permute(2, 0, 3, 1, 4)
        out = self.attend()(q, k, v, **self.options)
        return x + self.out(out.transpose(1, 2).reshape(B, S, H * D))


def model(attend):
    window = 256
    causal = module.create_block_mask(lambda b, h, q, k: q >= k, None, None, S, S)
    sliding = module.create_block_mask(module.and_masks(lambda b, h, q, k: q >= k, lambda b, h, q, k: q - k < window),
                                       None, None, S, S)
    heads = module.create_block_mask(lambda b, h, q, k: (q >= k) & (q - k < (64 << (h % 4))), None, H, S, S)
    bias = torch.randn(H, S, S, device="cuda", dtype=torch.bfloat16)
    return torch.nn.Sequential(
        Layer(attend, block_mask=causal), Layer(attend, block_mask=sliding), Layer(attend, block_mask=heads),
        Layer(attend, block_mask=causal, score_mod=lambda s, b, h, q, k: 30 * torch.tanh(s / 30)),
        Layer(attend, block_mask=causal, score_mod=lambda s, b, h, q, k: s + torch.exp2(-(h + 1) * 0.5) * (k - q)),
        Layer(attend, score_mod=lambda s, b, h, q, k: s + bias[h, q, k]),
    ).to("cuda", torch.bfloat16).eval().requires_grad_(False)


def report(name, step, *inputs, **options):
    with torch.inference_mode():
        proof = fatune.optimize(step, *inputs, name=name, budget=budget, allow_equal=True, **options)
    print(proof, proof.suite, sep="\n")
    proof.undo()


with torch.device("cuda"):
    torch.manual_seed(0)
    x = torch.randn(B, S, H * D, dtype=torch.bfloat16)
    if which in ("all", "eager"):      # flex compiled alone, held by this module
        report("flex-alone", model(lambda: flex), x)
    if which in ("all", "compiled"):   # the whole model compiled: fatune::_flex in the graph
        report("flex-compiled", torch.compile(model(lambda: module.flex_attention), fullgraph=True), x)
        report("flex-overhead", torch.compile(model(lambda: module.flex_attention), mode="reduce-overhead"), x)
    if which in ("all", "graph"):
        report("flex-graph", model(lambda: flex), x, graph=True)
    if which in ("all", "hf"):         # needs transformers on PYTHONPATH
        from transformers import AutoModelForCausalLM, Gemma2Config, MistralConfig
        base = dict(vocab_size=512, hidden_size=1024, intermediate_size=2048, num_hidden_layers=4, num_attention_heads=16,
                    num_key_value_heads=4, head_dim=64, max_position_embeddings=4096, sliding_window=512)
        for config in (MistralConfig(**base), Gemma2Config(**base)):
            hf = AutoModelForCausalLM.from_config(config, attn_implementation="flex_attention").to("cuda", torch.bfloat16).eval()
            ids = torch.randint(0, 512, (2, 2048))
            report(type(config).__name__, lambda: hf(ids, use_cache=False).logits)
            padded = torch.ones_like(ids)
            padded[1, :100] = 0
            report(type(config).__name__ + "-padded", lambda: hf(ids, attention_mask=padded, use_cache=False).logits)
