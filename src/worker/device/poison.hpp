// poison.hpp - compares two runs over differently poisoned outputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "model/problem/problem.hpp"
#include "model/problem/tensor.hpp"

namespace fatune {

enum class OutputKind {
  kOut,  ///< head_dim elements of the problem's type a row
  kLse,  ///< one fp32 value a row
};

/// What a run left of a buffer that was filled with `pattern` before it.
struct PoisonedRun {
  std::span<const std::byte> bytes;
  std::uint8_t pattern = 0;
};

/// "poison: ..." for elements that were never written, "repeat: ..." for others that differ; empty
/// when the runs agree to the bit.
std::string poison_finding(const Problem& problem, OutputKind kind, const PoisonedRun& first,
                           const PoisonedRun& second);
/// The same for an output of a custom operation.
std::string poison_finding(const TensorPlan& tensor, const PoisonedRun& first,
                           const PoisonedRun& second);

}  // namespace fatune
