// launch.cuh: Waits in and triggers programmatic dependent launches (sm_90), which start while the
// preceding grid ends.
//
// LAUNCH_PLAIN: they do not. LAUNCH_DEPENDENT: they start early, prepare, and wait here.
// LAUNCH_CHAINED: and the following grid may start as soon as every CTA is past that wait.
#pragma once

#include "common/prelude.cuh"

/// Returns when the preceding grid has ended and its writes are visible. No tensor is read or
/// written before it; one thread of a CTA suffices when the others wait for that thread.
DEVICE void grid_dependency_wait() {
#if LAUNCH != LAUNCH_PLAIN
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// After the wait, by every CTA: lets the following grid start.
DEVICE void launch_dependents() {
#if defined(LAUNCH_CHAINED) && LAUNCH == LAUNCH_CHAINED
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
