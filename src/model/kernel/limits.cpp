// limits.cpp - architecture names, and the limits of a typical device of each.
#include "model/kernel/limits.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "core/fields.hpp"
#include "core/text.hpp"

namespace fatune {
namespace {

struct Typical {
  int number;
  std::int64_t max_shared_block;
  std::int64_t max_shared_sm;
  std::int64_t max_threads_sm;
  std::int64_t max_blocks_sm;
  std::int64_t sm_count;
};

constexpr std::int64_t kKiB = 1024;

// Per multiprocessor: CUDA Programming Guide, "Technical Specifications per Compute Capability".
// The number of multiprocessors is that of the device named.
constexpr std::array<Typical, 10> kTypical = {{
    {75, 64 * kKiB, 64 * kKiB, 1024, 16, 68},      // RTX 2080 Ti
    {80, 163 * kKiB, 164 * kKiB, 2048, 32, 108},   // A100
    {86, 99 * kKiB, 100 * kKiB, 1536, 16, 82},     // RTX 3090
    {87, 163 * kKiB, 164 * kKiB, 1536, 16, 16},    // Jetson AGX Orin 64 GB
    {89, 99 * kKiB, 100 * kKiB, 1536, 24, 128},    // RTX 4090
    {90, 227 * kKiB, 228 * kKiB, 2048, 32, 132},   // H100 SXM, H200
    {100, 227 * kKiB, 228 * kKiB, 2048, 32, 148},  // B200
    {103, 227 * kKiB, 228 * kKiB, 2048, 32, 148},  // B300
    {120, 99 * kKiB, 100 * kKiB, 1536, 24, 170},   // RTX 5090
    {121, 99 * kKiB, 100 * kKiB, 1536, 24, 48},    // GB10
}};

}  // namespace

std::string name(const Arch& arch) {
  std::string text = fmt::format("sm_{}", arch.number);
  if (arch.suffix != 0) text += arch.suffix;
  return text;
}

Result<Arch> parse_arch(std::string_view text) {
  std::string_view rest = text;
  if (rest.starts_with("sm_")) rest.remove_prefix(3);
  Arch arch;
  if (!rest.empty() && (rest.back() == 'a' || rest.back() == 'f')) {
    arch.suffix = rest.back();
    rest.remove_suffix(1);
  }
  const bool digits = !rest.empty() && std::all_of(rest.begin(), rest.end(),
                                                   [](char c) { return c >= '0' && c <= '9'; });
  const auto number = digits ? parse_integer(rest) : std::nullopt;
  if (!number || *number < 10 || *number > 999 || rest.front() == '0') {
    return usage_error(
        fmt::format("'{}' is not an architecture such as sm_80, sm_90a or sm_120", text));
  }
  arch.number = static_cast<int>(*number);
  return arch;
}

FieldWord<Arch> word_of(const Arch*) { return {.parse = parse_arch, .pattern = "sm_[0-9]+[af]?"}; }

void fields(DeviceLimits& x, FieldList& f) {
  f("arch", x.arch).required();
  f("max_shared_block", x.max_shared_block).required().at_least(0);
  f("max_shared_sm", x.max_shared_sm).required().at_least(0);
  f("max_threads_block", x.max_threads_block).at_least(0);
  f("max_threads_sm", x.max_threads_sm).at_least(0);
  f("max_registers_sm", x.max_registers_sm).at_least(0);
  f("max_blocks_sm", x.max_blocks_sm).at_least(0);
  f("sm_count", x.sm_count).required().at_least(0);
  f("memory_bytes", x.memory_bytes).at_least(0);
}

Arch best_arch(int major, int minor) {
  const int number = 10 * major + minor;
  return {number, number == 90 || number == 100 ? 'a' : '\0'};
}

Result<DeviceLimits> typical_limits(const Arch& arch) {
  const auto* found = std::find_if(kTypical.begin(), kTypical.end(),
                                   [&](const Typical& t) { return t.number == arch.number; });
  if (found == kTypical.end()) {
    std::vector<std::string> known;
    for (const Typical& t : kTypical) known.push_back(name(Arch{t.number, 0}));
    return usage_error(fmt::format("no device limits are known for {}; known are {}", name(arch),
                                   join(known, ", ")));
  }
  DeviceLimits limits;
  limits.arch = arch;
  limits.max_shared_block = found->max_shared_block;
  limits.max_shared_sm = found->max_shared_sm;
  limits.max_threads_sm = found->max_threads_sm;
  limits.max_blocks_sm = found->max_blocks_sm;
  limits.sm_count = found->sm_count;
  return limits;
}

}  // namespace fatune
