// implementations.hpp: Turns candidates and names of kernels and libraries into contestants.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "model/kernel/candidate.hpp"
#include "model/problem/suite.hpp"
#include "model/results/record.hpp"
#include "worker/protocol/implementation.hpp"

namespace fatune {

/// A contestant: a candidate, or an implementation from elsewhere by its name.
struct Implementation {
  std::string impl;     ///< "fatune:fa_mma", "naive", "cudnn", "torch:flash", "python:mine:attend"
  std::string role;     ///< "finalist", "default", "baseline"
  Candidate candidate;  ///< from elsewhere: without kernel and config
  std::optional<OutsideProgram> outside = {};
  std::string problem_name = {};  ///< in its suite or file; may be empty

  NamedProblem problem() const { return {problem_name, candidate.problem}; }
};
/// "fatune:" and the kernel's name.
Implementation implementation_of(Candidate candidate, std::string role);
/// Of those that are from elsewhere.
std::vector<OutsideProgram> outside_programs(std::span<const Implementation> implementations);
/// A record of which only what is known before the evaluation is filled in.
CandidateRecord new_record(const Candidate& candidate, std::string id);
/// All times of a record, with their rounds.
void drop_times(FinalRecord& record);
/// The kernel of a name, which "fatune:" may precede; null when there is none.
KernelRef kernel_named(std::span<const KernelRef> kernels, std::string_view name);

/// One of the role "baseline" for each name, in order. A name without a colon that is a
/// kernel's is that kernel with its default config; a kernel that cannot do the problem still gets
/// its row. A name that is neither is a usage error with those that exist.
Result<std::vector<Implementation>> baseline_implementations(const std::vector<std::string>& impls,
                                                             const Problem& problem,
                                                             const std::vector<KernelRef>& kernels,
                                                             const OutsideOptions& options);

/// A usage error when a name means nothing or computes something else than `operation`, and when
/// two names are one in records. Nothing has been measured then.
Status check_implementations(const std::vector<std::string>& impls,
                             const std::vector<KernelRef>& kernels,
                             std::string_view operation = "attention");

}  // namespace fatune
