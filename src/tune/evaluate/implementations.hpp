// implementations.hpp - candidates, and names of kernels, libraries and programs, to what is timed.
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

/// What is timed: a candidate, or a library or program by its name.
struct Implementation {
  std::string impl;     ///< "fatune:fa_mma", "naive", "cudnn", "torch:flash", "external:fa3"
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

/// Every name that parse_outside_name knows, "external:NAME" for those described in the folders
/// and in the program itself.
std::vector<std::string> implementation_names(const OutsideOptions& options);

/// One of the role "baseline" for each name, in order. A name without a colon that is a
/// kernel's is that kernel with its default config; a kernel that cannot do the problem still gets
/// its row. A name that is neither is a usage error with those that exist.
Result<std::vector<Implementation>> baseline_implementations(const std::vector<std::string>& impls,
                                                             const Problem& problem,
                                                             const std::vector<KernelRef>& kernels,
                                                             const OutsideOptions& options);

/// A usage error when a name means nothing or computes something else than `operation`, before
/// anything is measured; a faulty description of an external program is one, too.
Status check_implementations(const std::vector<std::string>& impls,
                             const std::vector<KernelRef>& kernels, const OutsideOptions& options,
                             std::string_view operation = "attention");

}  // namespace fatune
