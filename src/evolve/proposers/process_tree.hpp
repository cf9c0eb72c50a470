// process_tree.hpp - the processes below one, as /proc tells them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>

#include <sys/types.h>

namespace fatune {

/// All that live and descend from `top`, with their resident bytes. A process that ends while it is
/// read is none of them. `proc`: the folder that tells, another one in tests.
std::map<pid_t, std::int64_t> living_below(pid_t top, const std::filesystem::path& proc = "/proc");

}  // namespace fatune
