// launch.cuh: Does not compile, cannot be launched, does not end, or begins too early.
#pragma once

#if FAULT == FAULT_DOES_NOT_COMPILE
// It names something that does not exist.
FAULT_ENTRY {
  attend_and_store(q, k, v, out);
  out[0] = this_name_is_declared_nowhere;
}

#elif FAULT == FAULT_TOO_MUCH_STATIC_SHARED
// It declares 300 KiB of static shared memory, unlike its manifest.
FAULT_ENTRY {
  __shared__ volatile float too_large[300 * 256];
  too_large[threadIdx.x] = 0.0f;
  attend_and_store(q, k, v, out);
}

#elif FAULT == FAULT_EXCEEDS_LAUNCH_BOUNDS
// It is compiled for blocks of 64 threads and launched with 128.
extern "C" __global__ void __launch_bounds__(64) fault_main(FAULT_PARAMETERS) {
  attend_and_store(q, k, v, out);
}

#elif FAULT == FAULT_HANGS
// It waits for a key to change that no thread changes.
FAULT_ENTRY {
  const volatile elem* watched = k;
  const elem first = watched[0];
  while (watched[0] == first) {
  }
  attend_and_store(q, k, v, out);
}

#elif FAULT == FAULT_TRAPS
// It executes a trap.
FAULT_ENTRY {
  attend_and_store(q, k, v, out);
  asm volatile("trap;");
}

#elif FAULT == FAULT_BEGINS_EARLY
// It is launched while the work in front of it still runs, and does not wait for it.
FAULT_ENTRY {
  const Row where = this_row();
  if (where.index >= kRows) return;
  store(out, where, attend(q, k, v, where, key_end(where.row)));
}

#elif FAULT == FAULT_TOO_MANY_THREADS || \
    FAULT == FAULT_TOO_MUCH_SHARED || FAULT == FAULT_PERSISTING_WINDOW
// It is right; the manifest asks for blocks of 2048 threads, for 1 MiB of shared memory, or has
// the host keep the keys in the L2 cache, which would make cold launches warm.
FAULT_ENTRY { attend_and_store(q, k, v, out); }

#endif  // FAULT
