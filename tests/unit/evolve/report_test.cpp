// report_test.cpp: Tests the reports of a run: figures and text.
#include "evolve/report.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "core/fields.hpp"
#include "evolve_fakes.hpp"

using namespace fatune;

namespace {

Trial tried(std::int64_t number, const char* verdict, std::optional<double> speedup) {
  Trial trial;
  trial.number = number;
  trial.verdict = verdict;
  trial.step = speedup ? step::kSelect : step::kCompile;
  trial.speedup = speedup;
  trial.best = number < 2 ? 1 : 3;
  trial.key = "0123456789abcdef";
  if (number > 0) trial.parents = {number == 3 ? "t2" : "t0"};
  trial.usage = {.prompt_tokens = 100 * number, .completion_tokens = 10 * number, .cost = 0.25};
  if (speedup) {
    ShapeTrial shape;
    shape.problem = "small";
    shape.outcome = Outcome::kMeasured;
    shape.time_us = 100 / *speedup;
    shape.evaluations = 4;
    trial.shapes.push_back(shape);
  }
  return trial;
}

EvolutionDocument sample() {
  Ledger ledger;
  ledger.header.plan = {.mode = ProposerMode::kInsight, .trials = 4, .kernel = "poor"};
  ledger.header.plan.problems = {test::kSmall};
  ledger.header.environment.device_name = "NVIDIA Fake";
  ledger.trials = {tried(0, verdict::kElite, 1), tried(1, verdict::kInvalid, std::nullopt),
                   tried(2, verdict::kElite, 3), tried(3, verdict::kKept, 2),
                   tried(4, verdict::kDiscarded, 5)};
  Duel duel;
  duel.problem = "small";
  duel.start_us = 100;
  duel.best_us = 40;
  duel.speedup = Ratio{2.5, 2.4, 2.6};
  ledger.duels = {{"t2", duel}};
  ledger.complete = true;
  return evolution_document(std::move(ledger), {});
}

}  // namespace

TEST_CASE("both figures of merit are of the trials without the start") {
  const EvolutionFigures figures = sample().figures;
  CHECK(figures.trials == 4);
  CHECK(figures.valid == 3);
  CHECK(figures.compiled == 3);
  CHECK(figures.validity() == Catch::Approx(0.75));
  CHECK(figures.best == "t2");  // what was discarded is no best
  CHECK(figures.speedup.value() == Catch::Approx(3));
  CHECK(figures.final_speedup.value() == Catch::Approx(2.5));
  CHECK(figures.usage.tokens() == 1100);
  CHECK(figures.evaluations == 16);
}

TEST_CASE("the text has figures, curve and trials") {
  const std::string text = evolution_text(sample(), Paint(Colour::kNone, 120));
  CHECK(text.find("speed-up  3.00x over the start (t2)") != std::string::npos);
  CHECK(text.find("validity  3 of 4 trials") != std::string::npos);
  CHECK(text.find("tokens    1000 in, 100 out") != std::string::npos);
  CHECK(text.find("best so far\n   3.00x |") != std::string::npos);
  CHECK(text.find("2.40 to 2.60") != std::string::npos);
}

TEST_CASE("a run without times or trials has figures, too") {
  Ledger ledger;
  ledger.header.plan.problems = {test::kSmall};
  ledger.trials = {tried(0, verdict::kElite, std::nullopt)};
  const EvolutionDocument document = evolution_document(ledger, {});
  CHECK_FALSE(document.figures.valid);
  CHECK_FALSE(to_json(document.figures).contains("validity"));
  ledger.trials.clear();
  CHECK(evolution_document(std::move(ledger), {}).figures.trials == 0);
}
