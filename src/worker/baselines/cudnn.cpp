// cudnn.cpp: Runs cuDNN's fused attention by one of the plans that its heuristics offer.
#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/text.hpp"
#include "worker/baselines/cudnn_library.hpp"
#include "worker/baselines/outside.hpp"

namespace fatune {
namespace {

constexpr std::size_t kScalarBytes = 16;

/// One way to run the graph.
struct PlanEntry {
  CudnnDescriptor plan;
  std::string engine;  ///< "engine 1 (knobs 24=3)"; tells plans apart
  std::int64_t workspace_bytes = 0;
};

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

/// "engine 1 (knobs 24=3 27=0)": cuDNN's engines have no names.
Result<std::string> engine_text(const CudnnDescriptor& config) {
  constexpr std::int64_t kMostKnobs = 40;  // chosen: cuDNN gives no number without room for it
  FATUNE_TRY(const auto engines,
             config.descriptors(cudnn_attribute::kConfigEngine, cudnn_descriptor::kEngine, 1));
  if (engines.empty()) return device_error("an engine config of cuDNN has no engine");
  FATUNE_TRY(const std::int64_t index,
             engines.front().value<std::int64_t>(cudnn_attribute::kEngineIndex));
  FATUNE_TRY(const auto choices, config.descriptors(cudnn_attribute::kConfigKnobs,
                                                    cudnn_descriptor::kKnobChoice, kMostKnobs));
  std::map<int, std::int64_t> knobs;  // sorted, as cuDNN's order varies
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

/// Belongs to the context that is current when it is made.
Result<CudnnOwned> make_handle(const CudnnFunctions& functions, CUstream stream) {
  void* raw = nullptr;
  FATUNE_TRY_STATUS(cudnn_check(functions, functions.create(&raw), "start cuDNN"));
  CudnnOwned handle(raw, functions.destroy);
  FATUNE_TRY_STATUS(
      cudnn_check(functions, functions.set_stream(raw, stream), "give cuDNN a stream"));
  return handle;
}

class CudnnAttention : public Executable {
 public:
  CudnnAttention(const CudnnFunctions& functions, const OutsideSetting& setting, CudnnPlan plan,
                 CudnnOwned handle)
      : functions_(functions),
        context_(setting.context),
        stream_(setting.stream),
        plan_(plan),
        problem_(setting.problem.as_attention()),
        handle_(std::move(handle)) {}

  Status find_plans();
  Status bind(const TensorAddresses& tensors) override;
  Status queue() override;
  Status settle(const TimeWork& time) override;
  std::span<const GuardedBuffer> scratch() const override { return scratch_; }
  bool may_vary() const override { return true; }
  std::optional<OwnOutput> own_output() const override;
  std::string detail() const override;

 private:
  Status take_plan(const CudnnDescriptor& config, const std::string& engine);
  Status select(std::size_t candidate);
  Status make_workspace(std::int64_t bytes);
  Status make_fp8_tensors();
  Status make_pack();

  const CudnnFunctions& functions_;
  const gpu::Context& context_;
  CUstream stream_;
  CudnnPlan plan_;
  Attention problem_;
  CudnnOwned handle_;
  CudnnGraph graph_;
  std::vector<PlanEntry> candidates_;
  std::size_t selected_ = 0;  ///< among the candidates; the workspace belongs to it
  std::size_t timed_ = 0;     ///< plans that ran in settle()
  std::optional<TensorAddresses> tensors_;
  std::vector<GuardedBuffer> scratch_;  ///< an fp8 output, if any; then the workspace, if any
  std::size_t outputs_ = 0;             ///< fp8 outputs in scratch_, 0 or 1
  GuardedBuffer device_scalars_;        ///< kScalarBytes each, in the graph's order
  CudnnDescriptor pack_;
};

/// Asks heuristic A, then B, then the fallback, and takes no plan twice. If there is no plan, the
/// error lists each refusal of cuDNN once.
Status CudnnAttention::find_plans() {
  FATUNE_TRY(graph_, build_cudnn_graph(functions_, handle_.get(), problem_));
  if (is_fp8(problem_)) FATUNE_TRY_STATUS(make_fp8_tensors());
  std::vector<std::string> refusals;
  std::set<std::string> seen;
  const auto refuse = [&](const std::string& text) {
    if (std::ranges::find(refusals, text) == refusals.end()) refusals.push_back(text);
  };
  for (const CudnnHeuristic mode :
       {CudnnHeuristic::kA, CudnnHeuristic::kB, CudnnHeuristic::kFallback}) {
    auto configs = engine_configs(functions_, graph_, mode);
    if (!configs) {
      refuse(configs.error().message);
      continue;
    }
    // cuDNN leaves engines that cannot do the problem out of the list without an error.
    if (configs->empty()) refuse("no engine: " + cudnn_last_error(functions_));
    for (const CudnnDescriptor& config : *configs) {
      const auto engine = engine_text(config);
      if (!engine) {
        refuse(engine.error().message);
        continue;
      }
      if (!seen.insert(*engine).second) continue;
      if (const Status taken = take_plan(config, *engine); !taken)
        refuse(*engine + ": " + taken.error().message);
      else if (plan_ == CudnnPlan::kHeuristic)
        return {};
    }
  }
  if (!candidates_.empty()) return {};
  return device_error(fmt::format("cuDNN {} has no plan for {}{}{}",
                                  cudnn_version_text(functions_.version()), describe(problem_),
                                  refusals.empty() ? "" : ":\n  ", join(refusals, "\n  ")));
}

/// Makes the first plan ready whose workspace fits.
Status CudnnAttention::take_plan(const CudnnDescriptor& config, const std::string& engine) {
  FATUNE_TRY(PlanEntry entry, finalize_plan(functions_, handle_.get(), config, engine));
  if (candidates_.empty()) FATUNE_TRY_STATUS(make_workspace(entry.workspace_bytes));
  candidates_.push_back(std::move(entry));
  return {};
}

Status CudnnAttention::make_workspace(std::int64_t bytes) {
  scratch_.resize(outputs_);
  if (bytes == 0) return {};
  FATUNE_TRY(GuardedBuffer buffer,
             GuardedBuffer::make(context_, "cuDNN's workspace", static_cast<std::size_t>(bytes),
                                 kGuardByte, stream_));
  scratch_.push_back(std::move(buffer));
  return {};
}

/// Makes the scalars, aligned as the graph declares them, and the output, of the type of q.
Status CudnnAttention::make_fp8_tensors() {
  std::vector<std::byte> bytes(graph_.device_scalars.size() * kScalarBytes);
  for (std::size_t i = 0; i < graph_.device_scalars.size(); ++i)
    std::memcpy(&bytes[i * kScalarBytes], &graph_.device_scalars[i].value, sizeof(float));
  FATUNE_TRY(device_scalars_, GuardedBuffer::of(context_, "cuDNN's factors", bytes, stream_));
  const auto elements = static_cast<std::size_t>(problem_.query_elements());
  FATUNE_TRY(GuardedBuffer output,
             GuardedBuffer::make(context_, "cuDNN's output", elements, kGuardByte, stream_));
  scratch_.push_back(std::move(output));
  outputs_ = scratch_.size();
  return {};
}

/// cuDNN takes one factor a tensor: the first key head's.
std::optional<OwnOutput> CudnnAttention::own_output() const {
  if (outputs_ == 0) return std::nullopt;
  return OwnOutput{&scratch_.front(), problem_.dtype, problem_.heads / problem_.kv_heads};
}

/// The pack's host values point into the graph, which must outlive it.
Status CudnnAttention::make_pack() {
  std::vector<std::int64_t> ids = {cudnn_id::kQ, cudnn_id::kK, cudnn_id::kV, cudnn_id::kOut};
  std::vector<void*> pointers;
  for (const char* tensor : {"q", "k", "v", "out"})
    pointers.push_back(std::bit_cast<void*>(tensors_->at(tensor)));
  if (outputs_ > 0) {
    pointers.back() = std::bit_cast<void*>(scratch_.front().address());
    for (const auto& [id, tensor] :
         {std::pair{cudnn_id::kQDescale, "q_descale"}, std::pair{cudnn_id::kKDescale, "k_descale"},
          std::pair{cudnn_id::kVDescale, "v_descale"}}) {
      ids.push_back(id);
      pointers.push_back(std::bit_cast<void*>(tensors_->at(tensor)));
    }
  }
  for (std::size_t i = 0; i < graph_.device_scalars.size(); ++i) {
    ids.push_back(graph_.device_scalars[i].id);
    pointers.push_back(std::bit_cast<void*>(device_scalars_.address() + i * kScalarBytes));
  }
  for (const CudnnScalar& scalar : graph_.scalars) {
    const void* value =
        std::visit([](const auto& number) -> const void* { return &number; }, scalar.value);
    ids.push_back(scalar.id);
    pointers.push_back(const_cast<void*>(value));  // cuDNN only reads it
  }
  void* const room[] = {
      std::bit_cast<void*>(scratch_.size() == outputs_ ? 0 : scratch_.back().address())};
  FATUNE_TRY(pack_, CudnnDescriptor::make(
                        functions_, cudnn_descriptor::kVariantPack,
                        {{cudnn_attribute::kPackIds, std::span<const std::int64_t>(ids)},
                         {cudnn_attribute::kPackPointers, std::span<void* const>(pointers)},
                         {cudnn_attribute::kPackWorkspace, std::span<void* const>(room)}}));
  return {};
}

Status CudnnAttention::bind(const TensorAddresses& tensors) {
  tensors_ = tensors;
  return make_pack();
}

Status CudnnAttention::queue() {
  FATUNE_CHECK(tensors_.has_value(), "an executable is bound before it is queued");
  const PlanEntry& entry = candidates_[selected_];
  const int status = functions_.execute(handle_.get(), entry.plan.raw(), pack_.raw());
  return cudnn_check(functions_, status, "run " + entry.engine);
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
  return fmt::format("cuDNN {}, {}, {}", cudnn_version_text(functions_.version()), chosen,
                     candidates_[selected_].engine);
}

}  // namespace

Result<std::unique_ptr<Executable>> open_cudnn_with(const CudnnFunctions& functions,
                                                    const OutsideSetting& setting, CudnnPlan plan) {
  FATUNE_TRY_STATUS(check_cudnn_problem(setting.problem.as_attention(), functions.version()));
  FATUNE_TRY(CudnnOwned handle, make_handle(functions, setting.stream));
  auto attention = std::make_unique<CudnnAttention>(functions, setting, plan, std::move(handle));
  FATUNE_TRY_STATUS(attention->find_plans());
  return std::unique_ptr<Executable>(std::move(attention));
}

Result<std::unique_ptr<Executable>> open_cudnn(
    const OutsideSetting& setting, CudnnPlan plan,
    const std::vector<std::filesystem::path>& library_folders) {
  // Searched once, as the search starts python3 and a worker's folders do not change.
  static const Result<CudnnFunctions> functions = open_cudnn_library(library_folders);
  if (!functions) return functions.error();
  return open_cudnn_with(*functions, setting, plan);
}

}  // namespace fatune
