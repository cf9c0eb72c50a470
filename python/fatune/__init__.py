"""fatune: from a PyTorch model to a faster one, by attention kernels tuned for its calls."""
from .capture import Suite, capture
from .errors import FatuneError

__all__ = ["FatuneError", "Suite", "capture"]
