"""llama.py - 8 layers of Llama 3 8B on a prompt of 2048 tokens, 8 heads of keys for 32 of queries; random weights.

    python -m fatune optimize examples/models/llama.py
"""
import sys

import torch
import transformers

small = "--small" in sys.argv  # for a CPU
device = "cuda" if torch.cuda.is_available() else "cpu"
config = transformers.LlamaConfig(
    hidden_size=1024 if small else 4096, intermediate_size=2048 if small else 14336, num_attention_heads=32,
    num_key_value_heads=8, head_dim=128, num_hidden_layers=2 if small else 8, max_position_embeddings=8192,
    use_cache=False)
with torch.device(device):
    model = transformers.LlamaModel(config).to(torch.bfloat16).eval()
tokens = torch.randint(config.vocab_size, (1, 128 if small else 2048), device=device)


@torch.inference_mode()
def step():
    return model(tokens).last_hidden_state


if __name__ == "__main__":
    print(tuple(step().shape))
