// compile_bench.cpp: Tries drafts with the compiler alone, on machines without a GPU.
#include <utility>

#include <nlohmann/json.hpp>

#include "core/interrupt.hpp"
#include "core/text.hpp"
#include "evolve/trial/bench.hpp"

namespace fatune {
namespace {

class CompileBench final : public Bench {
 public:
  CompileBench(OpenCompilers open, const DeviceLimits& limits)
      : examiner_(make_compile_examiner(std::move(open), limits)) {
    environment_.limits = limits;
  }

  const Environment& environment() const override { return environment_; }
  bool has_times() const override { return false; }

  Result<ShapeTrial> examine(const Draft& draft, const NamedProblem& problem,
                             const BenchOrder&) override {
    const auto beat = [](std::string_view) -> Status {
      if (interrupted()) return Error{ErrorKind::kInterrupted, "interrupted amid a trial"};
      return {};
    };
    const Config config = draft.settings ? *draft.settings : default_config(draft.kernel->manifest);
    const Candidate candidate{draft.kernel, config, problem.problem};
    FATUNE_TRY(const Examined examined,
               examiner_->examine({implementation_of(candidate)},
                                  examination_plan(Scrutiny::kCheck), beat));
    const FinalRecord& record = examined.records.front();
    ShapeTrial trial;
    trial.problem = label(problem);
    trial.outcome = record.outcome;
    trial.reason = record.reason;
    trial.gate = gate_of(record.outcome, record.reason);
    trial.config = record.config;
    trial.evaluations = 1;
    trial.resources = record.resources;
    return trial;
  }

  Result<Duel> duel(const KernelWithConfig&, const KernelWithConfig&, const NamedProblem& problem,
                    int) override {
    Duel duel;
    duel.problem = label(problem);
    duel.reason = "nothing is timed without a GPU";
    return duel;
  }

 private:
  std::unique_ptr<Examiner> examiner_;
  Environment environment_;
};

}  // namespace

std::unique_ptr<Bench> make_compile_bench(OpenCompilers open, const DeviceLimits& limits) {
  return std::make_unique<CompileBench>(std::move(open), limits);
}

}  // namespace fatune
