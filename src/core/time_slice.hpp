// time_slice.hpp - how soon threads that wake run on a host whose cores all work.
#pragma once

#include <chrono>
#include <optional>

namespace fatune {

/// For this thread and all that it starts, other processes included. The shorter the slice that a
/// thread asks for, the sooner it runs when it wakes or begins, and the sooner others run again;
/// its share of a core stays. Linux takes 0.1 to 100 ms, from 6.12 on; elsewhere, and in threads
/// that are not scheduled in the usual way (chrt), nothing happens.
void set_time_slice(std::chrono::microseconds slice);
/// Empty where the system does not tell.
std::optional<std::chrono::microseconds> time_slice();

}  // namespace fatune
