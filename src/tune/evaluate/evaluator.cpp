// evaluator.cpp - candidates to what is timed and to records; names to kernels.
#include "tune/evaluate/evaluator.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

namespace fatune {
namespace {

constexpr std::string_view kPrefix = "fatune:";

}  // namespace

Implementation implementation_of(Candidate candidate, std::string role) {
  std::string impl = std::string(kPrefix) + candidate.kernel->manifest.name;
  return {std::move(impl), std::move(role), std::move(candidate)};
}

CandidateRecord new_record(const Candidate& candidate, std::string id) {
  CandidateRecord record;
  record.id = std::move(id);
  record.key = candidate_key(candidate);
  record.kernel = candidate.kernel->manifest.name;
  record.config = to_json(candidate.config);
  record.problem = candidate.problem;
  return record;
}

KernelRef kernel_named(std::span<const KernelRef> kernels, std::string_view name) {
  if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  const auto found = std::find_if(kernels.begin(), kernels.end(), [&](const KernelRef& kernel) {
    return kernel->manifest.name == name;
  });
  return found == kernels.end() ? nullptr : *found;
}

}  // namespace fatune
