// plan.cpp - run plans to JSON and back, and the first difference between two.
#include "model/results/plan.hpp"

#include <nlohmann/json.hpp>

#include "core/text.hpp"

namespace fatune {
namespace {

Json text_array(const std::vector<std::string>& texts) {
  Json array = Json::array();
  for (const std::string& text : texts) array.push_back(text);
  return array;
}

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

std::string yes_no(bool value) { return value ? "on" : "off"; }

}  // namespace

Json to_json(const RunPlan& plan) {
  Json problems = Json::array();
  for (const NamedProblem& named : plan.problems) {
    problems.push_back({{"name", named.name}, {"problem", to_json(named.problem)}});
  }
  Json object = {{"problems", problems},
                 {"kernels", text_array(plan.kernels)},
                 {"kernel_hashes", text_array(plan.kernel_hashes)},
                 {"strategy", plan.strategy},
                 {"objective", plan.objective},
                 {"seed", plan.seed},
                 {"budget_evaluations", plan.budget_evaluations}};
  if (plan.one_lever) object["one_lever"] = true;
  if (plan.budget_seconds) object["budget_seconds"] = *plan.budget_seconds;
  if (plan.configs > 0) object["configs"] = plan.configs;
  object["skip_correctness"] = plan.skip_correctness;
  object["record_cold"] = plan.record_cold;
  if (!plan.baselines.empty()) object["baselines"] = text_array(plan.baselines);
  if (!plan.warm_starts.empty()) object["warm_starts"] = Json::array();
  for (const KnownConfig& known : plan.warm_starts) object["warm_starts"].push_back(to_json(known));
  object["command"] = plan.command;
  return object;
}

Result<RunPlan> plan_from_json(const Json& object, const std::string& where) {
  const Fields fields(object, where);
  RunPlan plan;
  FATUNE_TRY(const std::vector<Fields> problems, fields.objects_or_empty("problems"));
  for (const Fields& entry : problems) {
    NamedProblem named;
    FATUNE_TRY(named.name, entry.text("name"));
    FATUNE_TRY(const Json* problem, entry.value("problem"));
    FATUNE_TRY(named.problem, problem_from_json(*problem, entry.where()));
    plan.problems.push_back(std::move(named));
  }
  FATUNE_TRY(plan.kernels, fields.texts_or("kernels", {}));
  FATUNE_TRY(plan.kernel_hashes, fields.texts_or("kernel_hashes", {}));
  FATUNE_TRY(plan.strategy, fields.text("strategy"));
  FATUNE_TRY(plan.one_lever, fields.boolean_or("one_lever", false));
  FATUNE_TRY(plan.objective, fields.text("objective"));
  FATUNE_TRY(const Json* seed, fields.value("seed"));
  if (!seed->is_number_integer()) return fields.error("seed", "is not a whole number");
  plan.seed = seed->get<std::uint64_t>();  // seeds use all 64 bits
  FATUNE_TRY(const std::int64_t evaluations, fields.integer("budget_evaluations"));
  if (evaluations < 0) return fields.error("budget_evaluations", "is negative");
  plan.budget_evaluations = static_cast<std::uint64_t>(evaluations);
  if (fields.has("budget_seconds")) {
    FATUNE_TRY(plan.budget_seconds, fields.number("budget_seconds"));
  }
  FATUNE_TRY(const std::int64_t configs, fields.integer_or("configs", 0));
  if (configs < 0) return fields.error("configs", "is negative");
  plan.configs = static_cast<std::uint64_t>(configs);
  FATUNE_TRY(plan.skip_correctness, fields.boolean_or("skip_correctness", false));
  FATUNE_TRY(plan.record_cold, fields.boolean_or("record_cold", false));
  FATUNE_TRY(plan.baselines, fields.texts_or("baselines", {}));
  FATUNE_TRY(const std::vector<Fields> warm_starts, fields.objects_or_empty("warm_starts"));
  for (const Fields& entry : warm_starts) {
    FATUNE_TRY(KnownConfig known, known_config_from_json(entry.json(), entry.where()));
    plan.warm_starts.push_back(std::move(known));
  }
  FATUNE_TRY(plan.command, fields.text_or("command", ""));
  return plan;
}

std::string difference(const RunPlan& recorded, const RunPlan& resumed) {
  const auto differs = [](const std::string& field, const std::string& before,
                          const std::string& now) {
    return field + " is '" + before + "' in the journal and '" + now + "' here";
  };
  const std::string problems = describe_problems(recorded);
  if (problems != describe_problems(resumed)) {
    return differs("the problem", problems, describe_problems(resumed));
  }
  if (recorded.kernels != resumed.kernels) {
    return differs("--kernel", join(recorded.kernels, ","), join(resumed.kernels, ","));
  }
  if (const std::string kernel = changed_kernel(recorded, resumed); !kernel.empty()) {
    return "the template text of kernel " + kernel + " is not the one in the journal";
  }
  if (recorded.strategy != resumed.strategy) {
    return differs("--strategy", recorded.strategy, resumed.strategy);
  }
  if (recorded.one_lever != resumed.one_lever) {
    return differs("--one-lever", recorded.one_lever ? "on" : "off",
                   resumed.one_lever ? "on" : "off");
  }
  if (recorded.objective != resumed.objective) {
    return differs("--objective", recorded.objective, resumed.objective);
  }
  if (recorded.seed != resumed.seed) {
    return differs("--seed", std::to_string(recorded.seed), std::to_string(resumed.seed));
  }
  if (recorded.budget_evaluations != resumed.budget_evaluations ||
      recorded.budget_seconds != resumed.budget_seconds) {
    return differs("--budget", describe_budget(recorded), describe_budget(resumed));
  }
  if (recorded.configs != resumed.configs) {
    return differs("--portfolio", std::to_string(recorded.configs),
                   std::to_string(resumed.configs));
  }
  if (recorded.skip_correctness != resumed.skip_correctness) {
    return differs("--skip-correctness", yes_no(recorded.skip_correctness),
                   yes_no(resumed.skip_correctness));
  }
  if (recorded.record_cold != resumed.record_cold) {
    return differs("cold timing of every candidate", yes_no(recorded.record_cold),
                   yes_no(resumed.record_cold));
  }
  if (recorded.baselines != resumed.baselines) {
    return differs("--baselines", join(recorded.baselines, ","), join(resumed.baselines, ","));
  }
  return "";
}

}  // namespace fatune
