"""bert.py - BERT base on 32 texts of 128 tokens, without padding; random weights.

    python -m fatune optimize examples/models/bert.py
"""
import sys

import torch
import transformers

small = "--small" in sys.argv  # for a CPU
device = "cuda" if torch.cuda.is_available() else "cpu"
config = transformers.BertConfig(num_hidden_layers=2 if small else 12)
model = transformers.BertModel(config, add_pooling_layer=False).to(device, torch.float16).eval()
tokens = torch.randint(config.vocab_size, (1 if small else 32, 128), device=device)


@torch.inference_mode()
def step():
    return model(tokens).last_hidden_state


if __name__ == "__main__":
    print(tuple(step().shape))
