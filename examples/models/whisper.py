"""whisper.py - Whisper large, 8 layers each side, on 30 seconds of sound and 64 tokens; random weights.

It scales its queries itself and passes the scale 1.0, which is captured, and kernels are compiled with it.

    python -m fatune optimize examples/models/whisper.py
"""
import sys

import torch
import transformers

small = "--small" in sys.argv  # for a CPU
device = "cuda" if torch.cuda.is_available() else "cpu"
layers = 1 if small else 8
config = transformers.WhisperConfig(
    d_model=1280, num_mel_bins=128, encoder_layers=layers, encoder_attention_heads=20, encoder_ffn_dim=5120,
    decoder_layers=layers, decoder_attention_heads=20, decoder_ffn_dim=5120)
model = transformers.WhisperModel(config).to(device, torch.float16).eval()
sound = torch.randn(1 if small else 8, 128, 3000, device=device).half()
tokens = torch.randint(config.vocab_size, (len(sound), 64), device=device)


@torch.inference_mode()
def step():
    return model(sound, decoder_input_ids=tokens, use_cache=False).last_hidden_state


if __name__ == "__main__":
    print(tuple(step().shape))
