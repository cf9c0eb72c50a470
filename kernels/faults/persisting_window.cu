// persisting_window.cu - is right; the host, told by the manifest, sets aside a part of the L2
// cache and keeps the keys in it, which would make cold launches warm.
#include "faults/attend.cuh"

FAULT_ENTRY { attend_and_store(q, k, v, out); }
