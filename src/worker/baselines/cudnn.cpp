// cudnn.cpp - cuDNN's fused attention behind the Executable interface.
#include "worker/baselines/cudnn.hpp"

#include <bit>
#include <optional>
#include <utility>

#include "core/check.hpp"
#include "core/text.hpp"
#include "worker/baselines/cudnn_graph.hpp"
#include "worker/baselines/cudnn_library.hpp"
#include "worker/baselines/cudnn_plans.hpp"

namespace fatune {
namespace {

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
  CudnnSearch consider(CudnnPlanEntry entry, std::vector<std::string>& refusals);
  Status select(std::size_t candidate);
  Status make_workspace(std::int64_t bytes);
  Status make_pack();

  const gpu::Context& context_;
  CUstream stream_;
  CudnnPlan plan_;
  std::unique_ptr<Session> session_;
  CudnnGraph graph_;
  std::vector<CudnnPlanEntry> candidates_;
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
  const CudnnPlanVisitor visitor = [&](CudnnPlanEntry entry) {
    return consider(std::move(entry), refusals);
  };
  visit_cudnn_plans(functions, session_->handle(), graph_, visitor, refusals);
  if (!candidates_.empty()) return {};
  return device_error("cuDNN " + cudnn_version_text(functions.version()) + " has no plan for " +
                      describe(problem) + (refusals.empty() ? "" : ":\n  ") +
                      join(refusals, "\n  "));
}

/// The first plan whose workspace fits is ready to be queued.
CudnnSearch CudnnAttention::consider(CudnnPlanEntry entry, std::vector<std::string>& refusals) {
  if (candidates_.empty()) {
    if (auto room = make_workspace(entry.workspace_bytes); !room) {
      refusals.push_back(entry.engine + ": " + room.error().message);
      return CudnnSearch::kGoOn;
    }
  }
  candidates_.push_back(std::move(entry));
  return plan_ == CudnnPlan::kHeuristic ? CudnnSearch::kStop : CudnnSearch::kGoOn;
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
  CudnnBinding binding;
  for (const auto& [id, address] :
       {std::pair{cudnn_id::kQ, tensors_->q}, std::pair{cudnn_id::kK, tensors_->k},
        std::pair{cudnn_id::kV, tensors_->v}, std::pair{cudnn_id::kOut, tensors_->out}}) {
    binding.ids.push_back(id);
    binding.pointers.push_back(std::bit_cast<void*>(address));
  }
  const CUdeviceptr room = workspace_.empty() ? 0 : workspace_.front().address();
  FATUNE_TRY(pack_, make_cudnn_pack(session_->functions(), graph_, std::move(binding), room));
  return {};
}

Status CudnnAttention::bind(const TensorAddresses& tensors) {
  tensors_ = tensors;
  return make_pack();
}

Status CudnnAttention::queue() {
  FATUNE_CHECK(tensors_.has_value(), "an executable is bound before it is queued");
  const CudnnPlanEntry& entry = candidates_[selected_];
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
                                 : "fastest of " + std::to_string(timed_) + " plans";
  return "cuDNN " + cudnn_version_text(session_->functions().version()) + ", " + chosen + ", " +
         candidates_[selected_].engine;
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
