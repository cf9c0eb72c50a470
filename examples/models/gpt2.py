"""gpt2.py - GPT-2 medium on 4 prompts of 1024 tokens, taken as a whole; random weights.

    python -m fatune optimize examples/models/gpt2.py
"""
import sys

import torch
import transformers

small = "--small" in sys.argv  # for a CPU
device = "cuda" if torch.cuda.is_available() else "cpu"
config = transformers.GPT2Config(n_embd=1024, n_head=16, n_layer=2 if small else 24, use_cache=False)
model = transformers.GPT2Model(config).to(device, torch.float16).eval()
tokens = torch.randint(config.vocab_size, (1, 128) if small else (4, 1024), device=device)


@torch.inference_mode()
def step():
    return model(tokens).last_hidden_state


if __name__ == "__main__":
    print(tuple(step().shape))
