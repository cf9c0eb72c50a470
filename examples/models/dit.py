"""dit.py - DiT-XL/2 on 16 latents of 32 x 32: 256 tokens, 16 heads of 72 columns; random weights.

    python -m fatune optimize examples/models/dit.py
"""
import sys

import diffusers
import torch

small = "--small" in sys.argv  # for a CPU
device = "cuda" if torch.cuda.is_available() else "cpu"
model = diffusers.DiTTransformer2DModel(
    num_attention_heads=16, attention_head_dim=72, in_channels=4, out_channels=8, sample_size=32, patch_size=2,
    num_layers=2 if small else 28).to(device, torch.float16).eval()
latents = torch.randn(1 if small else 16, 4, 32, 32, device=device).half()
times = torch.full((len(latents),), 500, device=device)
classes = torch.zeros(len(latents), dtype=torch.long, device=device)


@torch.inference_mode()
def step():
    return model(latents, timestep=times, class_labels=classes).sample


if __name__ == "__main__":
    print(tuple(step().shape))
