// plan.cpp - fields of a run's plan, and the first difference between two plans.
#include "model/results/plan.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/fields.hpp"
#include "core/text.hpp"

namespace fatune {
namespace {

std::string describe_problems(const RunPlan& plan) {
  std::vector<std::string> texts;
  for (const NamedProblem& named : plan.problems) texts.push_back(describe(named.problem));
  return join(texts, "; ");
}

std::string describe_budget(const RunPlan& plan) {
  std::string text = plan.budget_evaluations == 0
                         ? "unlimited evaluations"
                         : std::to_string(plan.budget_evaluations) + " evaluations";
  if (plan.budget_seconds) text += ", " + describe(Seconds(*plan.budget_seconds));
  return text;
}

std::string changed_kernel(const RunPlan& recorded, const RunPlan& resumed) {
  const std::size_t known = std::min(recorded.kernel_hashes.size(), resumed.kernel_hashes.size());
  for (std::size_t i = 0; i < known && i < recorded.kernels.size(); ++i) {
    if (recorded.kernel_hashes[i] != resumed.kernel_hashes[i]) return recorded.kernels[i];
  }
  return "";
}

}  // namespace

void fields(RunPlan& x, FieldList& f) {
  f("problems", x.problems).option("the problem");
  f("kernels", x.kernels).option("--kernel");
  f("kernel_hashes", x.kernel_hashes).looks_like("[0-9a-f]{64}").about("Of their text and headers");
  f("strategy", x.strategy).required().option("--strategy");
  f("objective", x.objective).required().one_of("hot, cold, score").option("--objective");
  f("seed", x.seed).required().option("--seed");
  f("budget_evaluations", x.budget_evaluations).required().option("--budget");
  f("one_lever", x.one_lever).omitted().option("--one-lever");
  f("budget_seconds", x.budget_seconds).finite().positive().option("--budget");
  f("configs", x.configs).omitted().option("--portfolio").about("That all problems share");
  f("skip_correctness", x.skip_correctness).option("--skip-correctness");
  f("record_cold", x.record_cold).option("cold timing of every candidate");
  f("baselines", x.baselines).omitted().option("--baselines");
  f("warm_starts", x.warm_starts).omitted().incidental();
  f("command", x.command).incidental();
}

std::string difference(const RunPlan& recorded, const RunPlan& resumed) {
  RunPlan before = recorded;
  RunPlan now = resumed;
  for (RunPlan* plan : {&before, &now}) {
    for (NamedProblem& named : plan->problems) named.name.clear();
    // Where one of them does not know the kernels' texts yet, they do not differ in them.
    plan->kernel_hashes.resize(std::min(before.kernel_hashes.size(), now.kernel_hashes.size()));
  }
  auto found = difference<RunPlan>(before, now);
  if (!found) return "";
  if (found->key == "kernel_hashes") {
    return fmt::format("the template text of kernel {} is not the one in the journal",
                       changed_kernel(before, now));
  }
  if (found->key == "problems") {
    found->before = describe_problems(before);
    found->now = describe_problems(now);
  } else if (found->option == "--budget") {
    found->before = describe_budget(before);
    found->now = describe_budget(now);
  }
  return fmt::format("{} is '{}' in the journal and '{}' here", found->option, found->before,
                     found->now);
}

}  // namespace fatune
