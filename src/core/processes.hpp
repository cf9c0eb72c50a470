// processes.hpp: Declares the search for the descendants of a process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>

#include <sys/types.h>

namespace fatune {

/// Returns every live descendant of `top` with its resident bytes, except a process that ends
/// during the scan. Tests pass another folder as `proc`.
std::map<pid_t, std::int64_t> living_below(pid_t top, const std::filesystem::path& proc = "/proc");

}  // namespace fatune
