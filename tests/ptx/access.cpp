// access.cpp: Finds the buffer, CTA or thread that owns an address.
#include "ptx/access.hpp"

#include <fmt/format.h>

namespace fatune::ptx {
namespace {

/// "out + 512 bytes", "shared memory + 49152 bytes of CTA 0"
std::string describe_shared(std::uint64_t address) {
  const std::uint64_t offset = address & ((std::uint64_t{1} << kRankShift) - 1);
  return fmt::format("shared memory of CTA {} at {}", address >> kRankShift, offset);
}

std::byte* shared(Cluster& cluster, std::uint64_t address, std::size_t bytes) {
  const std::uint64_t rank = address >> kRankShift;
  const std::uint64_t offset = address & ((std::uint64_t{1} << kRankShift) - 1);
  if (rank >= cluster.ctas.size() || offset < kSharedStart) return nullptr;
  std::vector<std::byte>& memory = cluster.ctas[rank].shared;
  if (offset - kSharedStart + bytes > memory.size()) return nullptr;
  return memory.data() + (offset - kSharedStart);
}

std::byte* within(std::span<std::byte> memory, std::uint64_t offset, std::size_t bytes) {
  if (offset > memory.size() || bytes > memory.size() - offset) return nullptr;
  return memory.data() + offset;
}

void fail(Machine& machine, std::size_t instruction, const std::string& why) {
  if (machine.problem.empty()) machine.problem = machine.program.place(instruction) + ": " + why;
}

}  // namespace

std::uint64_t Memory::add(std::string name, std::span<std::byte> bytes) {
  buffers_.push_back({std::move(name), bytes});
  return std::uint64_t{buffers_.size()} << kBufferShift;
}

std::byte* Memory::find(std::uint64_t address, std::size_t bytes) const {
  const std::uint64_t index = (address >> kBufferShift) - 1;
  if (index >= buffers_.size()) return nullptr;
  return within(buffers_[index].bytes, address & ((std::uint64_t{1} << kBufferShift) - 1), bytes);
}

std::string Memory::describe(std::uint64_t address) const {
  // A little before a buffer is nearer to that one than to the buffer before it.
  const std::uint64_t half = std::uint64_t{1} << (kBufferShift - 1);
  const std::uint64_t index = ((address + half) >> kBufferShift) - 1;
  if (index >= buffers_.size()) return fmt::format("address {:#x}", address);
  const Buffer& buffer = buffers_[index];
  const auto offset = static_cast<std::int64_t>(address - ((index + 1) << kBufferShift));
  return fmt::format("{} of {} bytes at {}", buffer.name, buffer.bytes.size(), offset);
}

std::byte* locate(const Turn& turn, Space space, std::uint64_t address, std::size_t bytes,
                  int lane) {
  if (space == Space::kGeneric) {
    const std::uint64_t window = address >> 56U << 56U;
    if (window == kSharedWindow) space = Space::kShared;
    if (window == kLocalWindow) space = Space::kLocal;
    if (window == kParamWindow) space = Space::kParam;
    if (space == Space::kGeneric) space = Space::kGlobal;
    address -= window;
  }
  std::byte* found = nullptr;
  std::string where;
  switch (space) {
    case Space::kShared:
      found = shared(turn.cluster, address, bytes);
      break;
    case Space::kLocal: {
      const std::size_t own = turn.machine.program.local_bytes;
      const std::span<std::byte> all(turn.warp.local);
      found = within(all.subspan(own * static_cast<std::size_t>(lane), own), address, bytes);
      break;
    }
    case Space::kParam:
      // Entries only read their parameters.
      found = const_cast<std::byte*>(turn.machine.launch.parameters.data()) + address;
      if (address + bytes > turn.machine.launch.parameters.size()) found = nullptr;
      break;
    default:
      found = turn.machine.memory.find(address, bytes);
  }
  if (found != nullptr && address % bytes == 0) return found;
  where = space == Space::kShared   ? describe_shared(address)
          : space == Space::kGlobal ? turn.machine.memory.describe(address)
                                    : fmt::format("local memory or parameters at {}", address);
  turn.fail(fmt::format("lane {} of warp {}: {} bytes {} {}", lane, turn.warp.index, bytes,
                        found == nullptr ? "outside of" : "not aligned in", where));
  return nullptr;
}

std::byte* locate_shared(Machine& machine, Cluster& cluster, std::uint64_t address,
                         std::size_t bytes, std::size_t instruction) {
  std::byte* found = shared(cluster, address, bytes);
  if (found == nullptr)
    fail(machine, instruction,
         fmt::format("{} bytes outside of {}", bytes, describe_shared(address)));
  return found;
}

std::byte* locate_global(Machine& machine, std::uint64_t address, std::size_t bytes,
                         std::size_t instruction) {
  std::byte* found = machine.memory.find(address, bytes);
  if (found == nullptr)
    fail(machine, instruction,
         fmt::format("{} bytes outside of {}", bytes, machine.memory.describe(address)));
  return found;
}

std::uint64_t address_of(const Turn& turn, int operand, int lane) {
  const Ref& ref = turn.at.refs[operand];
  return turn.bits_of(ref, lane) + static_cast<std::uint64_t>(std::int64_t{ref.offset});
}

std::optional<Space> space_of(std::string_view part) {
  if (part == "global" || part == "const") return Space::kGlobal;
  if (part == "shared" || part == "shared::cta" || part == "shared::cluster") return Space::kShared;
  if (part == "local") return Space::kLocal;
  if (part == "param") return Space::kParam;
  return std::nullopt;
}

}  // namespace fatune::ptx
