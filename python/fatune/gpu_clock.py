"""gpu_clock.py - a GPU's clock while it works, and what holds it down, asked from NVIDIA's management library (NVML)."""
from __future__ import annotations

import ctypes
from typing import Any, NamedTuple, Optional

import torch

_LIBRARY = "libnvidia-ml.so.1"
_OF_MULTIPROCESSORS = 1  # of nvmlClockType_t
_POWER_LIMIT = 0x4  # of the reasons: the software power cap


class Reading(NamedTuple):
    """At one moment: MHz of the multiprocessors, and whether the power limit holds them down."""

    mhz: float
    at_power_limit: bool


class Sensor:
    """Of one GPU."""

    def __init__(self, library: Any, device: ctypes.c_void_p) -> None:
        self._library, self._device = library, device

    def read(self) -> Reading:
        """0 MHz and no limit where the driver does not tell."""
        mhz, reasons = ctypes.c_uint(), ctypes.c_ulonglong()
        refused = (self._library.nvmlDeviceGetClockInfo(self._device, _OF_MULTIPROCESSORS, ctypes.byref(mhz))
                   or self._library.nvmlDeviceGetCurrentClocksThrottleReasons(self._device, ctypes.byref(reasons)))
        return Reading(0, False) if refused else Reading(mhz.value, bool(reasons.value & _POWER_LIMIT))


def sensor_of(device: str) -> Optional[Sensor]:
    """PyTorch's current GPU's; None on the CPU, and where there is no NVML that knows it."""
    if device != "cuda":
        return None
    try:
        library, found = ctypes.CDLL(_LIBRARY), ctypes.c_void_p()
        uuid = f"GPU-{torch.cuda.get_device_properties(torch.cuda.current_device()).uuid}".encode()
        refused = library.nvmlInit_v2() or library.nvmlDeviceGetHandleByUUID(uuid, ctypes.byref(found))
    except (AttributeError, OSError):  # an older PyTorch tells no UUID, a machine has no NVML
        return None
    return None if refused else Sensor(library, found)
