// examiner.cpp - an evaluator that hears the client meanwhile, or a compiler alone.
#include "judge/referee/examiner.hpp"

#include <utility>

#include <fmt/format.h>

#include "model/space/rules.hpp"
#include "tune/evaluate/forecast.hpp"
#include "worker/protocol/compilation.hpp"

namespace fatune {
namespace {

constexpr std::chrono::milliseconds kBeatPause{100};  // between two heartbeats

class DeviceExaminer final : public Examiner {
 public:
  explicit DeviceExaminer(OpenEvaluator open) : open_(std::move(open)) {}

  Result<std::vector<FinalRecord>> examine(const std::vector<Implementation>& contestants,
                                           const FinalPlan& plan, const Heartbeat& beat) override {
    if (!evaluator_) {
      FATUNE_TRY(evaluator_, open_());
    }
    Status heard;
    evaluator_->on_progress = [&](std::string_view phase) {
      if (heard) heard = beat(phase);
    };
    auto records = evaluator_->examine(contestants, plan);
    evaluator_->on_progress = nullptr;
    if (!records && records.error().kind != ErrorKind::kUsage)
      evaluator_.reset();  // its device may be gone: the next one opens a fresh one
    if (!heard) return heard.error();
    return records;
  }

  const Environment* environment() const override {
    return evaluator_ ? &evaluator_->environment() : nullptr;
  }

 private:
  OpenEvaluator open_;
  std::unique_ptr<Evaluator> evaluator_;
};

class CompileExaminer final : public Examiner {
 public:
  CompileExaminer(OpenCompilers open, const DeviceLimits& limits)
      : open_(std::move(open)), limits_(limits) {}

  Result<std::vector<FinalRecord>> examine(const std::vector<Implementation>& contestants,
                                           const FinalPlan&, const Heartbeat& beat) override {
    if (!compilers_.service) {
      FATUNE_TRY(compilers_, open_());
    }
    FATUNE_TRY(FinalRecord record, examine_one(contestants.front(), beat));
    return std::vector<FinalRecord>{std::move(record)};
  }

  const Environment* environment() const override { return nullptr; }

 private:
  Result<FinalRecord> examine_one(const Implementation& submitted, const Heartbeat& beat) {
    const Candidate& candidate = submitted.candidate;
    FinalRecord record;
    record.impl = submitted.impl;
    record.role = submitted.role;
    record.kernel = candidate.kernel->manifest.name;
    record.config = to_json(candidate.config);
    record.problem = candidate.problem;
    const std::string options = id_options(limits_.arch, compilers_.identity(*candidate.kernel));
    record.id = candidate_id(candidate, options);
    FATUNE_TRY(record.reason, impossible_reason(candidate, limits_));
    if (!record.reason.empty()) {
      record.outcome = Outcome::kInfeasible;
      return record;
    }
    FATUNE_TRY(const Compiled compiled, compile(candidate, beat));
    if (!compiled.ok) {
      record.outcome = Outcome::kCompileError;
      record.reason = compiled.problem;
      return record;
    }
    FATUNE_TRY(const LaunchPlan plan, launch_plan(candidate, limits_));
    record.resources = with_compiler_log(std::nullopt, compiled, plan);
    record.outcome = Outcome::kUnavailable;
    record.reason =
        fmt::format("compiled for {}; no gate ran, as there is no GPU here", name(limits_.arch));
    return record;
  }

  Result<Compiled> compile(const Candidate& candidate, const Heartbeat& beat) {
    CompileService& service = *compilers_.service;
    const Ticket ticket = service.submit(compile_request(candidate, limits_));
    while (!service.ready(ticket)) {
      FATUNE_TRY_STATUS(service.pump(kBeatPause));
      if (const Status heard = beat("compiling"); !heard) {
        service.cancel(ticket);
        return heard.error();
      }
    }
    return service.take(ticket);
  }

  OpenCompilers open_;
  DeviceLimits limits_;
  Compilers compilers_;
};

}  // namespace

std::unique_ptr<Examiner> make_device_examiner(OpenEvaluator open) {
  return std::make_unique<DeviceExaminer>(std::move(open));
}

std::unique_ptr<Examiner> make_compile_examiner(OpenCompilers open, const DeviceLimits& limits) {
  return std::make_unique<CompileExaminer>(std::move(open), limits);
}

}  // namespace fatune
