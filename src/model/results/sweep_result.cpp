// sweep_result.cpp - picks out of a sweep's result.
#include "model/results/sweep_result.hpp"

#include <nlohmann/json.hpp>

namespace fatune {

const FinalRecord* ProblemResult::best() const {
  if (finals.empty() || finals.front().role == "baseline") return nullptr;
  return finals.front().outcome == Outcome::kMeasured ? &finals.front() : nullptr;
}

const std::optional<Timing>& objective_timing(const CandidateRecord& record,
                                              const std::string& objective) {
  return objective == "cold" ? record.cold : record.hot;
}

const std::optional<Timing>& objective_timing(const FinalRecord& record,
                                              const std::string& objective) {
  return objective == "cold" ? record.cold : record.hot;
}

std::string describe_config(const Json& config) {
  std::string text;
  for (const auto& [name, value] : config.items()) {
    if (!text.empty()) text += ' ';
    text += name + '=' + (value.is_string() ? value.get<std::string>() : value.dump());
  }
  return text;
}

}  // namespace fatune
