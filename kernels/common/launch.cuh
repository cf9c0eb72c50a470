// launch.cuh - when a launch begins beside the work in front of it on the stream, and lets what is
// behind begin beside itself (sm_90: programmatic dependent launch).
//
// LAUNCH_PLAIN: neither. LAUNCH_DEPENDENT: blocks begin while the work in front ends, prepare, and
// wait for it here. LAUNCH_CHAINED: and the work behind may begin as soon as every block is past
// that wait.
#pragma once

#include "common/prelude.cuh"

/// Returns when the work in front has ended and what it wrote can be read. Nothing of a tensor is
/// read or written before; one thread of a block suffices when the others wait for it.
DEVICE void wait_for_work_in_front() {
#if LAUNCH != LAUNCH_PLAIN
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// After the wait, by every block: what is behind may begin to prepare.
DEVICE void let_work_behind_begin() {
#if defined(LAUNCH_CHAINED) && LAUNCH == LAUNCH_CHAINED
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
