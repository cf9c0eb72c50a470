"""vit.py - ViT-L/16 on 64 images of 224 x 224 pixels: 197 tokens; random weights.

    python -m fatune optimize examples/models/vit.py
"""
import sys

import torch
import transformers

small = "--small" in sys.argv  # for a CPU
device = "cuda" if torch.cuda.is_available() else "cpu"
config = transformers.ViTConfig(hidden_size=1024, intermediate_size=4096, num_attention_heads=16,
                                num_hidden_layers=2 if small else 24)
model = transformers.ViTModel(config, add_pooling_layer=False).to(device, torch.float16).eval()
pixels = torch.randn(1 if small else 64, 3, 224, 224, device=device).half()


@torch.inference_mode()
def step():
    return model(pixels).last_hidden_state


if __name__ == "__main__":
    print(tuple(step().shape))
