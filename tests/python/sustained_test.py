"""sustained_test.py: Tests long turns with a fake clock, GPU and NVML."""
import contextlib
import ctypes
import types
import unittest
import unittest.mock

from fatune import gpu_clock, proving, sustained
from fatune.gpu_clock import Reading


class Machine:
    """Time passes by its steps alone."""

    def __init__(self, at_limit=True):
        self.now, self.step_us, self.at_limit = 0.0, 4000.0, at_limit

    @contextlib.contextmanager
    def installed(self):
        self.step_us = 2000.0
        try:
            yield
        finally:
            self.step_us = 4000.0

    def step(self):
        self.now += self.step_us

    def read(self):
        return Reading(1500 if self.step_us == 2000 else 1700, self.at_limit)

    def measure(self, sensor):
        clock = types.SimpleNamespace(now=lambda: self.now, us_between=lambda begin, end: end - begin)
        contenders = {"pytorch": proving.Contender(self.step), "cudnn": proving.Contender(self.step),
                      "fatune": proving.Contender(self.step, self.installed)}
        times = proving.Times({"pytorch": [5000.0], "cudnn": [4000.0], "fatune": [2000.0]})
        with unittest.mock.patch.object(sustained.time, "monotonic", lambda: self.now / 1e6):
            return sustained.measure_sustained(contenders, times, clock, sensor)


class Sustained(unittest.TestCase):
    def test_ours_and_the_best_of_the_others_with_clocks_of_their_own(self):
        machine = Machine()
        times = machine.measure(machine)
        self.assertEqual(set(times.rounds_us), {"cudnn", "fatune"})
        self.assertEqual((times.rounds, times.ratio, times.saved_us), (8, 0.5, 2000))
        self.assertEqual(times.mhz, {"cudnn": 1700, "fatune": 1500})
        self.assertAlmostEqual(machine.now / 1e6, 0.3 + 8 * 2 * 0.6, delta=0.5)

    def test_one_clock_for_all_needs_no_long_turns(self):
        machine = Machine(at_limit=False)
        self.assertIsNone(machine.measure(machine))
        self.assertLess(machine.now, 0.5e6)

    def test_nobody_tells(self):
        self.assertIsNone(Machine().measure(None))


class Sensor(unittest.TestCase):
    def library(self, refused=0):
        def tell(value):
            def call(*args):
                ctypes.cast(args[-1], ctypes.POINTER(type(value))).contents.value = value.value
                return refused
            return call
        return types.SimpleNamespace(nvmlDeviceGetClockInfo=tell(ctypes.c_uint(1590)),
                                     nvmlDeviceGetCurrentClocksThrottleReasons=tell(ctypes.c_ulonglong(0x5)))

    def test_what_the_library_says(self):
        self.assertEqual(gpu_clock.Sensor(self.library(), None).read(), Reading(1590, True))
        self.assertEqual(gpu_clock.Sensor(self.library(refused=3), None).read(), Reading(0, False))

    def test_there_is_none_on_the_cpu_nor_without_nvml(self):
        self.assertIsNone(gpu_clock.sensor_of("cpu"))
        with unittest.mock.patch.object(gpu_clock.ctypes, "CDLL", side_effect=OSError):
            self.assertIsNone(gpu_clock.sensor_of("cuda"))


if __name__ == "__main__":
    unittest.main()
