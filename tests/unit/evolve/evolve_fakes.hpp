// evolve_fakes.hpp: Provides kernels, a bench and a proposer made of formulas.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "evolve/proposers/proposer.hpp"
#include "evolve/trial/bench.hpp"
#include "support/evaluate_fakes.hpp"

namespace fatune::test {

inline const NamedProblem kSmall{
    "small", Attention{.batch = 2, .heads = 8, .kv_heads = 8, .seq_q = 128, .seq_kv = 128}};
inline const NamedProblem kMission{
    "mission", Attention{.batch = 4, .heads = 8, .kv_heads = 8, .seq_q = 512, .seq_kv = 512}};
inline const NamedProblem kLong{
    "long", Attention{.batch = 1, .heads = 8, .kv_heads = 8, .seq_q = 4096, .seq_kv = 4096}};

/// A template whose speed FormulaBench reads from its text: "// us 80 80 80", a number a problem.
inline std::string timed_source(const std::string& times) {
  return "// us " + times + "\nextern \"C\" __global__ void main_entry() {}\n";
}

inline Draft timed_draft(const std::string& times) {
  auto draft = read_draft(timed_source(times), manifest_text("timed", "attention"), "");
  REQUIRE(draft);
  return *std::move(draft);
}

/// Times stand in the text; 0 is a wrong result.
class FormulaBench final : public Bench {
 public:
  FormulaBench() {
    environment_.device_name = "Formula 1";
    environment_.limits = *typical_limits(Arch{90, 'a'});
  }

  const Environment& environment() const override { return environment_; }
  void move_to(const std::string& device) { environment_.device_name = device; }
  Result<ShapeTrial> examine(const Draft& draft, const NamedProblem& problem,
                             const BenchOrder& order) override {
    ++examined;
    if (before) FATUNE_TRY_STATUS(before());
    ShapeTrial row;
    row.problem = label(problem);
    row.evaluations = order.evaluations;
    row.config = to_json(default_config(draft.kernel->manifest));
    const double us = time_of(draft.source, problem);
    row.outcome = us > 0 ? Outcome::kMeasured : Outcome::kWrongResult;
    if (us <= 0) row.reason = "accuracy: planned";
    if (us > 0) row.time_us = us;
    return row;
  }
  Result<Duel> duel(const KernelWithConfig& start, const KernelWithConfig& best,
                    const NamedProblem& problem, int) override {
    Duel duel;
    duel.problem = label(problem);
    duel.time = Time::kPlain;
    duel.start_us = time_of(start.kernel->source.text, problem);
    duel.best_us = time_of(best.kernel->source.text, problem);
    const double ratio = *duel.start_us / *duel.best_us;
    duel.speedup = Ratio{ratio, ratio * 0.9, ratio * 1.1};
    return duel;
  }

  Result<std::string> profile(const KernelWithConfig& kernel, const NamedProblem&) override {
    return "bound by " + kernel.kernel->source.text.substr(6, 2);
  }

  std::size_t examined = 0;
  std::function<Status()> before;

 private:
  static double time_of(const std::string& source, const NamedProblem& problem) {
    const std::vector<std::string> words = split(source.substr(0, source.find('\n')), ' ');
    const std::size_t place = problem.name == "small" ? 0 : problem.name == "mission" ? 1 : 2;
    return parse_number(words.at(2 + place)).value_or(0);
  }
  Environment environment_;
};

inline Json timed_candidate(const std::string& times, const std::string& lever = "") {
  Json candidate = {{"source", timed_source(times)}, {"thought", "it takes " + times}};
  if (!lever.empty()) candidate["lever"] = lever;
  return candidate;
}

/// Answers one after another, then the last one again.
class ListedProposer final : public Proposer {
 public:
  explicit ListedProposer(std::vector<std::string> lines) : lines_(std::move(lines)) {}
  Result<ProposerAnswer> ask(std::int64_t number, const std::string& request) override {
    requests.push_back(request);
    const auto place = std::min(static_cast<std::size_t>(number), lines_.size() - 1);
    if (lines_[place].empty()) return ProposerAnswer{.line = "", .failure = "it said nothing"};
    return ProposerAnswer{.line = lines_[place], .failure = ""};
  }
  std::vector<std::string> requests;

 private:
  std::vector<std::string> lines_;
};

inline std::string answer_of(std::vector<Json> candidates, const std::string& insight = "") {
  Json answer = {{"candidates", candidates},
                 {"insight", insight},
                 {"usage", {{"prompt_tokens", 100}, {"completion_tokens", 20}, {"cost", 0.5}}}};
  return answer.dump();
}

}  // namespace fatune::test
