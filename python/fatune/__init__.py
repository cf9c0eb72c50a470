"""fatune: from a PyTorch model to a faster one, by attention kernels tuned for its calls."""
