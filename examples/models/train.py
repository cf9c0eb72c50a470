"""train.py - a training step of GPT-2 medium on 4 texts of 1024 tokens: forward, loss, backward, AdamW; random weights.

    python -m fatune optimize examples/models/train.py

A proof calls the step many times and compares what it returns, so each must begin alike: the learning rate is 0, and
AdamW does all its work for no change. A captured step keeps its gradients in memory of the graph (--graph).
"""
import sys

import torch
import transformers

small = "--small" in sys.argv  # for a CPU
device = "cuda" if torch.cuda.is_available() else "cpu"
config = transformers.GPT2Config(n_embd=1024, n_head=16, n_layer=2 if small else 24, use_cache=False, embd_pdrop=0.0,
                                 resid_pdrop=0.0, attn_pdrop=0.0)  # no kernel draws random numbers
model = transformers.GPT2LMHeadModel(config).to(device, torch.bfloat16).train()
tokens = torch.randint(config.vocab_size, (1, 128) if small else (4, 1024), device=device)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.0, fused=True, capturable=device == "cuda")


def step():
    optimizer.zero_grad()
    loss = model(tokens, labels=tokens).loss
    loss.backward()
    optimizer.step()
    return {"loss": loss.detach(), "gradient of the first layer": model.transformer.h[0].attn.c_attn.weight.grad}


if __name__ == "__main__":
    print(float(step()["loss"]))
