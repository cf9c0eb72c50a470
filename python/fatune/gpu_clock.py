"""gpu_clock.py: Reads a GPU's clock and its limits from NVIDIA's management library (NVML)."""
from __future__ import annotations

import ctypes
from typing import Any, NamedTuple, Optional

import torch

_LIBRARY = "libnvidia-ml.so.1"
_OF_MULTIPROCESSORS = 1  # of nvmlClockType_t
_POWER_LIMIT = 0x4  # of the reasons: the software power cap


class Reading(NamedTuple):
    """The clock in MHz at one moment, and whether the power limit holds it down."""

    mhz: float
    at_power_limit: bool


class Sensor:
    """Reads the clock of one GPU."""

    def __init__(self, library: Any, device: ctypes.c_void_p) -> None:
        self._library, self._device = library, device

    def read(self) -> Reading:
        """Returns 0 MHz and no limit where the driver refuses."""
        mhz, reasons = ctypes.c_uint(), ctypes.c_ulonglong()
        refused = (self._library.nvmlDeviceGetClockInfo(self._device, _OF_MULTIPROCESSORS,
                                                        ctypes.byref(mhz))
                   or self._library.nvmlDeviceGetCurrentClocksThrottleReasons(
                       self._device, ctypes.byref(reasons)))
        return Reading(0, False) if refused else Reading(mhz.value,
                                                         bool(reasons.value & _POWER_LIMIT))


def sensor_of(device: str) -> Optional[Sensor]:
    """Returns a sensor of PyTorch's current GPU; None on the CPU and without an NVML that knows the
    GPU."""
    if device != "cuda":
        return None
    try:
        library, found = ctypes.CDLL(_LIBRARY), ctypes.c_void_p()
        uuid = f"GPU-{torch.cuda.get_device_properties(torch.cuda.current_device()).uuid}".encode()
        refused = library.nvmlInit_v2() or library.nvmlDeviceGetHandleByUUID(
            uuid, ctypes.byref(found))
    except (AttributeError, OSError):  # an older PyTorch tells no UUID, a machine has no NVML
        return None
    return None if refused else Sensor(library, found)
