"""Answers scripts of Kernel Tuner: their calls of tune_kernel run `fatune sweep`."""
