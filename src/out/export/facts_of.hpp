// facts_of.hpp - a launch plan to the launch facts that a program without fatune needs.
#pragma once

#include "core/result.hpp"
#include "model/kernel/candidate.hpp"
#include "model/wisdom/kernel_facts.hpp"

namespace fatune {

/// Kernel, config, problem, architecture, tensors or scale, and launches; id, machine code and
/// origin are left to the caller. A kernel with a library's product among its stages is a usage
/// error.
Result<KernelFacts> facts_of(const Candidate& candidate, const DeviceLimits& limits);

}  // namespace fatune
