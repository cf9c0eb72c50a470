// candidate.hpp: Defines a candidate: a kernel, config and problem to compile, check and time.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "model/kernel/config.hpp"
#include "model/kernel/expression.hpp"
#include "model/kernel/kernel.hpp"
#include "model/kernel/limits.hpp"
#include "model/problem/problem.hpp"
#include "model/wisdom/kernel_facts.hpp"

namespace fatune {

struct Candidate {
  KernelRef kernel;
  Config config;
  Problem problem;
};

/// Returns sixteen hex digits over template text, config, problem and `options` (compile options,
/// arch, compiler version).
std::string candidate_id(const Candidate& candidate, std::string_view options);
/// candidate_id() bound to a compiler and a device.
using IdOf = std::function<std::string(const Candidate&)>;
/// Identifies kernel, problem and config without the template's text: finds a measurement again
/// after the text changed.
std::string candidate_key(const Candidate& candidate);
/// Returns parameters, problem, device and word constants for the manifest's expressions.
Scope scope_of(const Manifest& manifest, const Config& config, const Problem& problem,
               const DeviceLimits& limits);
/// Returns the -D options in a fixed order: "BLOCK_M=128", ..., "SEQ_Q=512",
/// "SOFTMAX_SCALE=0.125f".
std::vector<std::string> macros_of(const Candidate& candidate, const DeviceLimits& limits);
/// Returns an entry for the compiler. Where parameters are no macros, values stand for their names.
std::string instance_of(const Candidate& candidate, const std::string& entry);

/// A stage's launch with every expression evaluated.
struct StagePlan : StageFacts {
  std::optional<GemmPlan> gemm;  ///< a library's product; the stage then has no entry
  bool counts_static = true;     ///< see StageSpec; not serialized
  /// Arguments of an exported kernel: values that depend on a run-time size are expressions.
  std::vector<std::string> exported_arguments;
};
struct TensorMapPlan {
  std::string name, tensor;
  std::array<std::int64_t, 4> sizes{};  ///< set for a scratch: contiguous, of the problem's dtype
  std::array<std::int64_t, 4> box{1, 1, 1, 1};
  int swizzle = 0;
};
TensorMapFacts facts_of(const TensorMapPlan& plan, const Problem& problem);
/// All facts that the host needs to launch a candidate.
struct LaunchPlan {
  std::vector<StagePlan> stages;
  std::vector<ScratchFacts> scratch;
  std::vector<ConstantFacts> constants;
  std::vector<TensorMapPlan> tensor_maps;
  std::string persisting_window;  ///< see Manifest
};
Result<LaunchPlan> launch_plan(const Candidate& candidate, const DeviceLimits& limits);
/// Tells whether a stage's CTAs loop over work tiles: doubling the batch keeps the grid.
bool is_persistent(Candidate candidate, const DeviceLimits& limits);
/// Prepares a plan for a problem that its config was not chosen for. The library may offer fewer
/// algorithms; its last one replaces a missing one.
void accept_shorter_lists(LaunchPlan& plan);

void fields(StagePlan& x, FieldList& f);
void fields(TensorMapPlan& x, FieldList& f);
void fields(LaunchPlan& x, FieldList& f);

}  // namespace fatune
