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

/// A contestant: a candidate, or an external implementation given by name.
struct Implementation {
  std::string impl;  ///< "fatune:fa_mma", "naive", "cudnn", "torch:flash", "python:mine:attend"
  RowRole role = RowRole::kFinalist;
  Candidate candidate;  ///< without kernel and config for an external implementation
  std::optional<OutsideProgram> outside = {};
  std::string problem_name = {};  ///< in the suite or file; may be empty

  NamedProblem problem() const { return {problem_name, candidate.problem}; }
};
/// Returns "fatune:" and the kernel's name.
Implementation implementation_of(Candidate candidate, RowRole role = RowRole::kFinalist);
/// Whether the implementation is external: neither kernel nor config of fatune.
std::vector<OutsideProgram> outside_programs(std::span<const Implementation> implementations);
/// Returns a record with the fields that are known before the evaluation. `id` is that of a
/// candidate.
CandidateRecord new_record(const Candidate& candidate, std::string id);
FinalRecord new_record(const Implementation& contestant, std::string id);
/// Removes all times of a record, with their rounds.
void drop_times(FinalRecord& record);
/// Finds a kernel by name, with or without "fatune:"; null if there is none.
KernelRef kernel_named(std::span<const KernelRef> kernels, std::string_view name);

/// Returns a baseline for each name, in order. A kernel's name without a colon means its default
/// config; a kernel that does not support the problem still gets a row. An unknown name is a usage
/// error that lists the known names.
Result<std::vector<Implementation>> baseline_implementations(const std::vector<std::string>& impls,
                                                             const Problem& problem,
                                                             const std::vector<KernelRef>& kernels,
                                                             const OutsideOptions& options);

/// Checks names before any measurement. An unknown name, another operation than `operation`, or two
/// names that are equal in records is a usage error.
Status check_implementations(const std::vector<std::string>& impls,
                             const std::vector<KernelRef>& kernels,
                             std::string_view operation = "attention");

}  // namespace fatune
