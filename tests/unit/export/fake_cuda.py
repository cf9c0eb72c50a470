"""fake_cuda.py: Replaces the CUDA driver behind ctypes; records loads, tensor maps and launches."""
import ctypes
import math

NO_CONTEXT = 201


class Launch:
    """One cuLaunchKernelEx: function name, sizes, attributes, stream, and the argument values."""

    def __init__(self, entry, config, values):
        self.entry, self.stream, self.shared_bytes = entry, config.queue, config.shared_bytes
        self.grid, self.block = tuple(config.sizes[:3]), tuple(config.sizes[3:])
        self.attributes = {attribute.id: tuple(attribute.value[:3])
                           for attribute in config.attributes[:config.attribute_count]}
        # A pointer is its value; a tensor map starts with the address that it describes.
        self.arguments = [ctypes.c_uint64.from_address(value).value for value in values]


class Api:
    """The functions as attributes, as ctypes.CDLL has them. `refuse` maps a function's name to the code it returns."""

    def __init__(self, mode_of_loading=2):
        self.mode_of_loading = mode_of_loading
        self.loaded, self.launches, self.maps, self.prepared = [], [], [], []
        self.refuse, self.context, self.mode = {}, {"set": True}, 0
        self.names = {}

    def __getattr__(self, name):
        raise AssertionError(f"the driver has no {name} here")

    def cuGetErrorString(self, code, text):
        text._obj.value = b"what the driver says"
        return 0

    def cuDeviceGet(self, device, index):
        device._obj.value = index
        return 0

    def cuDevicePrimaryCtxRetain(self, context, device):
        context._obj.value = 0x700 + device.value
        return 0

    def cuCtxSetCurrent(self, context):
        self.context["set"] = context.value
        return 0

    def cuThreadExchangeStreamCaptureMode(self, mode):
        self.mode, mode._obj.value = mode._obj.value, self.mode
        return 0

    def cuModuleLoadData(self, module, code):
        assert self.mode == self.mode_of_loading, "loading must not disturb the capture of a graph"
        self.loaded.append(code)
        module._obj.value = len(self.loaded)
        return self.refuse.get("cuModuleLoadData", 0)

    def cuModuleGetFunction(self, function, module, name):
        function._obj.value = 100 * module.value + len(self.names)
        self.names[function._obj.value] = name.decode()
        return 0

    def cuFuncSetAttribute(self, function, attribute, value):
        self.prepared.append((self.names[function.value], attribute, value))
        return self.refuse.get("cuFuncSetAttribute", 0)

    def cuTensorMapEncodeTiled(self, address, element, rank, pointer, sizes, strides, box, steps, interleave, swizzle,
                               promotion, fill):
        assert address.value % 64 == 0 and pointer.value % 16 == 0 and rank == 4
        assert (interleave, promotion, fill, tuple(steps)) == (0, 3, 0, (1, 1, 1, 1))
        assert all(0 < stride < 2**40 and stride % 16 == 0 for stride in strides)
        self.maps.append({"element": element, "pointer": pointer.value, "sizes": tuple(sizes),
                          "strides": tuple(strides), "box": tuple(box), "swizzle": swizzle})
        ctypes.c_uint64.from_address(address.value).value = pointer.value
        return 0

    def cuLaunchKernelEx(self, config, function, values, extra):
        if not self.context["set"]:
            return NO_CONTEXT
        self.launches.append(Launch(self.names[function.value], config._obj, values))
        return self.refuse.get("cuLaunchKernelEx", 0)


def offsets(shape, strides):
    """Where each element of a tensor lies, in its order."""
    return [sum(i // math.prod(shape[d + 1:]) % shape[d] * strides[d] for d in range(len(shape)))
            for i in range(math.prod(shape))]
