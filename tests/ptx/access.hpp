// access.hpp: Translates addresses of each state space to host memory, with bounds checks.
#pragma once

#include <optional>
#include <string_view>

#include "ptx/machine.hpp"

namespace fatune::ptx {

/// Where `bytes` at an address of a lane lie. Null where they are outside of every buffer, or of
/// the shared memory of the cluster's CTAs, or not aligned to their number; the turn has failed
/// then.
std::byte* locate(const Turn& turn, Space space, std::uint64_t address, std::size_t bytes,
                  int lane = 0);
/// The same of memory that asynchronous work reads and writes; `instruction` began it.
std::byte* locate_shared(Machine& machine, Cluster& cluster, std::uint64_t address,
                         std::size_t bytes, std::size_t instruction);
std::byte* locate_global(Machine& machine, std::uint64_t address, std::size_t bytes,
                         std::size_t instruction);

/// The operand as an address, its offset added.
std::uint64_t address_of(const Turn& turn, int operand, int lane);

std::optional<Space> space_of(std::string_view part);

}  // namespace fatune::ptx
