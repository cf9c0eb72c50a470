// provenance.hpp - where an exported kernel comes from, as lines for a comment.
#pragma once

#include <string>
#include <vector>

#include "model/wisdom/kernel_facts.hpp"

namespace fatune {

/// What it computes, how fast it was and where, whether it was verified, which command found it and
/// which fatune exported it. An unverified or recorded kernel says so in the first lines. No text
/// has an end of line in it.
std::vector<std::string> provenance(const KernelFacts& facts);
/// "6.28 us (95 % interval 6.28 to 6.29), 0.64 of cudnn's time"; empty when it was not measured.
std::string describe_measured(const KernelFacts& facts);
/// "out = softmax(scale q k^T) v ..." with the tensors' layout.
std::string describe_computation(const KernelFacts& facts);
/// What a run said of itself, fit for a comment: a line's end in it would begin code.
std::string one_line(std::string text);

}  // namespace fatune
