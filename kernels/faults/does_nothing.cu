// does_nothing.cu - takes its arguments and goes home.
#include "faults/attend.cuh"

FAULT_ENTRY {}
