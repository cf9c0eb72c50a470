import torch

functional = torch.nn.functional
