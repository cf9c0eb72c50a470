// cudnn.cpp - cuDNN's plans in the order of its heuristics, and its fused attention as an
// Executable.
#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/text.hpp"
#include "worker/baselines/cudnn_graph.hpp"
#include "worker/baselines/cudnn_library.hpp"
#include "worker/baselines/outside.hpp"

namespace fatune {
namespace {

/// One way to run the graph.
struct PlanEntry {
  CudnnDescriptor plan;
  std::string engine;  ///< "engine 1 (knobs 24=3)"; tells plans apart
  std::int64_t workspace_bytes = 0;
};

/// Is asked for each plan that cuDNN can finalize, best first; says whether to go on.
enum class Search { kGoOn, kStop };
using PlanVisitor = std::function<Search(PlanEntry)>;

Result<std::vector<CudnnDescriptor>> engine_configs(const CudnnFunctions& functions,
                                                    const CudnnGraph& graph, CudnnHeuristic mode) {
  FATUNE_TRY(const CudnnDescriptor heuristic,
             CudnnDescriptor::make(functions, cudnn_descriptor::kHeuristic,
                                   {{cudnn_attribute::kHeuristicGraph, graph.graph.raw()},
                                    {cudnn_attribute::kHeuristicMode, mode}}));
  FATUNE_TRY(const std::int64_t count, heuristic.count(cudnn_attribute::kHeuristicResults));
  return heuristic.descriptors(cudnn_attribute::kHeuristicResults, cudnn_descriptor::kEngineConfig,
                               count);
}

/// "engine 1 (knobs 24=3 27=0)": cuDNN tells no names of its engines.
Result<std::string> engine_text(const CudnnDescriptor& config) {
  constexpr std::int64_t kMostKnobs = 40;  // chosen: cuDNN tells no number without room for it
  FATUNE_TRY(const auto engines,
             config.descriptors(cudnn_attribute::kConfigEngine, cudnn_descriptor::kEngine, 1));
  if (engines.empty()) return device_error("an engine config of cuDNN has no engine");
  FATUNE_TRY(const std::int64_t index,
             engines.front().value<std::int64_t>(cudnn_attribute::kEngineIndex));
  FATUNE_TRY(const auto choices, config.descriptors(cudnn_attribute::kConfigKnobs,
                                                    cudnn_descriptor::kKnobChoice, kMostKnobs));
  std::map<int, std::int64_t> knobs;  // in one order, whatever cuDNN's was
  for (const CudnnDescriptor& choice : choices) {
    FATUNE_TRY(const int type, choice.value<int>(cudnn_attribute::kKnobType));
    FATUNE_TRY(knobs[type], choice.value<std::int64_t>(cudnn_attribute::kKnobValue));
  }
  std::string text;
  for (const auto& [type, value] : knobs) text += fmt::format(" {}={}", type, value);
  return fmt::format("engine {}{}", index, text.empty() ? "" : " (knobs" + text + ")");
}

Result<PlanEntry> finalize_plan(const CudnnFunctions& functions, void* handle,
                                const CudnnDescriptor& config, std::string engine) {
  PlanEntry entry;
  entry.engine = std::move(engine);
  FATUNE_TRY(entry.plan, CudnnDescriptor::make(functions, cudnn_descriptor::kPlan,
                                               {{cudnn_attribute::kPlanHandle, handle},
                                                {cudnn_attribute::kPlanConfig, config.raw()}}));
  FATUNE_TRY(entry.workspace_bytes,
             entry.plan.value<std::int64_t>(cudnn_attribute::kPlanWorkspace));
  return entry;
}

void add_refusal(std::vector<std::string>& refusals, const std::string& text) {
  if (std::find(refusals.begin(), refusals.end(), text) == refusals.end()) refusals.push_back(text);
}

/// Heuristic A, then B, then the fallback; a plan that an earlier one named is not visited twice.
/// What cuDNN refuses is appended to `refusals`, once each.
void visit_plans(const CudnnFunctions& functions, void* handle, const CudnnGraph& graph,
                 const PlanVisitor& visitor, std::vector<std::string>& refusals) {
  std::set<std::string> seen;
  for (const CudnnHeuristic mode :
       {CudnnHeuristic::kA, CudnnHeuristic::kB, CudnnHeuristic::kFallback}) {
    auto configs = engine_configs(functions, graph, mode);
    if (!configs) {
      add_refusal(refusals, configs.error().message);
      continue;
    }
    // Engines that cannot do the problem are left out of the list without an error.
    if (configs->empty()) add_refusal(refusals, "no engine: " + cudnn_last_error(functions));
    for (const CudnnDescriptor& config : *configs) {
      auto engine = engine_text(config);
      if (!engine) {
        add_refusal(refusals, engine.error().message);
        continue;
      }
      if (!seen.insert(*engine).second) continue;
      auto entry = finalize_plan(functions, handle, config, *engine);
      if (!entry) {
        add_refusal(refusals, *engine + ": " + entry.error().message);
      } else if (visitor(*std::move(entry)) == Search::kStop) {
        return;
      }
    }
  }
}

/// What a plan runs on: device addresses of the graph's tensors and of the workspace (0: none).
struct Binding {
  std::vector<std::int64_t> ids;
  std::vector<void*> pointers;
};

/// The graph's host values point into `graph`, which must outlive the pack.
Result<CudnnDescriptor> make_pack_of(const CudnnFunctions& functions, const CudnnGraph& graph,
                                     Binding binding, CUdeviceptr workspace) {
  for (const CudnnScalar& scalar : graph.scalars) {
    const void* value =
        std::visit([](const auto& number) -> const void* { return &number; }, scalar.value);
    binding.ids.push_back(scalar.id);
    binding.pointers.push_back(const_cast<void*>(value));  // cuDNN only reads it
  }
  void* const room[] = {std::bit_cast<void*>(workspace)};
  return CudnnDescriptor::make(
      functions, cudnn_descriptor::kVariantPack,
      {{cudnn_attribute::kPackIds, std::span<const std::int64_t>(binding.ids)},
       {cudnn_attribute::kPackPointers, std::span<void* const>(binding.pointers)},
       {cudnn_attribute::kPackWorkspace, std::span<void* const>(room)}});
}

/// Owns cuDNN's handle, which belongs to the context current at its creation.
class Session {
 public:
  Session(const CudnnFunctions& functions, void* handle) : functions_(functions), handle_(handle) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() { functions_.destroy(handle_); }
  const CudnnFunctions& functions() const { return functions_; }
  void* handle() const { return handle_; }

 private:
  const CudnnFunctions& functions_;
  void* handle_;
};

Result<std::unique_ptr<Session>> make_session(const CudnnFunctions& functions, CUstream stream) {
  void* handle = nullptr;
  FATUNE_TRY_STATUS(cudnn_check(functions, functions.create(&handle), "start cuDNN"));
  auto session = std::make_unique<Session>(functions, handle);
  FATUNE_TRY_STATUS(
      cudnn_check(functions, functions.set_stream(handle, stream), "give cuDNN a stream"));
  return session;
}

class CudnnAttention : public Executable {
 public:
  CudnnAttention(const OutsideSetting& setting, CudnnPlan plan, std::unique_ptr<Session> session)
      : context_(setting.context),
        stream_(setting.stream),
        plan_(plan),
        session_(std::move(session)) {}

  Status find_plans(const Problem& problem);
  Status bind(const TensorAddresses& tensors) override;
  Status queue() override;
  Status settle(const TimeWork& time) override;
  std::span<const GuardedBuffer> scratch() const override { return workspace_; }
  bool may_vary() const override { return true; }
  std::string detail() const override;

 private:
  Search consider(PlanEntry entry, std::vector<std::string>& refusals);
  Status select(std::size_t candidate);
  Status make_workspace(std::int64_t bytes);
  Status make_pack();

  const gpu::Context& context_;
  CUstream stream_;
  CudnnPlan plan_;
  std::unique_ptr<Session> session_;
  CudnnGraph graph_;
  std::vector<PlanEntry> candidates_;
  std::size_t selected_ = 0;  ///< among the candidates; the workspace is its
  std::size_t timed_ = 0;     ///< plans that ran in settle()
  std::optional<TensorAddresses> tensors_;
  std::vector<GuardedBuffer> workspace_;  ///< one or none
  CudnnDescriptor pack_;
};

Status CudnnAttention::find_plans(const Problem& problem) {
  const CudnnFunctions& functions = session_->functions();
  FATUNE_TRY(graph_, build_cudnn_graph(functions, session_->handle(), problem));
  std::vector<std::string> refusals;
  const PlanVisitor visitor = [&](PlanEntry entry) { return consider(std::move(entry), refusals); };
  visit_plans(functions, session_->handle(), graph_, visitor, refusals);
  if (!candidates_.empty()) return {};
  return device_error(fmt::format("cuDNN {} has no plan for {}{}{}",
                                  cudnn_version_text(functions.version()), describe(problem),
                                  refusals.empty() ? "" : ":\n  ", join(refusals, "\n  ")));
}

/// The first plan whose workspace fits is ready to be queued.
Search CudnnAttention::consider(PlanEntry entry, std::vector<std::string>& refusals) {
  if (candidates_.empty()) {
    if (auto room = make_workspace(entry.workspace_bytes); !room) {
      refusals.push_back(entry.engine + ": " + room.error().message);
      return Search::kGoOn;
    }
  }
  candidates_.push_back(std::move(entry));
  return plan_ == CudnnPlan::kHeuristic ? Search::kStop : Search::kGoOn;
}

Status CudnnAttention::make_workspace(std::int64_t bytes) {
  workspace_.clear();
  if (bytes == 0) return {};
  FATUNE_TRY(GuardedBuffer buffer,
             GuardedBuffer::make(context_, "cuDNN's workspace", static_cast<std::size_t>(bytes),
                                 kGuardByte, stream_));
  workspace_.push_back(std::move(buffer));
  return {};
}

Status CudnnAttention::make_pack() {
  Binding binding;
  for (const auto& [id, address] :
       {std::pair{cudnn_id::kQ, tensors_->q}, std::pair{cudnn_id::kK, tensors_->k},
        std::pair{cudnn_id::kV, tensors_->v}, std::pair{cudnn_id::kOut, tensors_->out}}) {
    binding.ids.push_back(id);
    binding.pointers.push_back(std::bit_cast<void*>(address));
  }
  const CUdeviceptr room = workspace_.empty() ? 0 : workspace_.front().address();
  FATUNE_TRY(pack_, make_pack_of(session_->functions(), graph_, std::move(binding), room));
  return {};
}

Status CudnnAttention::bind(const TensorAddresses& tensors) {
  tensors_ = tensors;
  return make_pack();
}

Status CudnnAttention::queue() {
  FATUNE_CHECK(tensors_.has_value(), "an executable is bound before it is queued");
  const PlanEntry& entry = candidates_[selected_];
  const CudnnFunctions& functions = session_->functions();
  const int status = functions.execute(session_->handle(), entry.plan.raw(), pack_.raw());
  if (status == 0) return {};
  return cudnn_error(functions, status, "run " + entry.engine);
}

Status CudnnAttention::select(std::size_t candidate) {
  selected_ = candidate;
  FATUNE_TRY_STATUS(make_workspace(candidates_[candidate].workspace_bytes));
  return make_pack();
}

Status CudnnAttention::settle(const TimeWork& time) {
  if (plan_ == CudnnPlan::kHeuristic) return {};
  std::optional<std::size_t> best;
  double best_us = 0;
  std::vector<std::string> failures;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    auto ready = select(i);
    const auto each_us = ready ? time([this] { return queue(); }) : std::move(ready).error();
    if (!each_us) {
      failures.push_back(candidates_[i].engine + ": " + each_us.error().message);
      continue;
    }
    ++timed_;
    if (best && *each_us >= best_us) continue;
    best = i;
    best_us = *each_us;
  }
  if (!best) return device_error("none of cuDNN's plans runs:\n  " + join(failures, "\n  "));
  return select(*best);
}

std::string CudnnAttention::detail() const {
  const std::string chosen = plan_ == CudnnPlan::kHeuristic
                                 ? "heuristic plan"
                                 : fmt::format("fastest of {} plans", timed_);
  return fmt::format("cuDNN {}, {}, {}", cudnn_version_text(session_->functions().version()),
                     chosen, candidates_[selected_].engine);
}

}  // namespace

Result<std::unique_ptr<Executable>> open_cudnn_with(const CudnnFunctions& functions,
                                                    const OutsideSetting& setting, CudnnPlan plan) {
  FATUNE_TRY_STATUS(check_cudnn_problem(setting.problem, functions.version()));
  FATUNE_TRY(auto session, make_session(functions, setting.stream));
  auto attention = std::make_unique<CudnnAttention>(setting, plan, std::move(session));
  FATUNE_TRY_STATUS(attention->find_plans(setting.problem));
  return std::unique_ptr<Executable>(std::move(attention));
}

Result<std::unique_ptr<Executable>> open_cudnn(
    const OutsideSetting& setting, CudnnPlan plan,
    const std::vector<std::filesystem::path>& library_folders) {
  // Once for the life of the worker, whose folders do not change; the search asks python3.
  static const Result<CudnnFunctions> functions = open_cudnn_library(library_folders);
  if (!functions) return functions.error();
  return open_cudnn_with(*functions, setting, plan);
}

}  // namespace fatune
