// trial.cpp: Lists the fields of a trial.
#include "evolve/trial/trial.hpp"

#include <fmt/format.h>

#include "core/fields.hpp"
#include "model/kernel/config.hpp"

namespace fatune {
namespace {

constexpr std::int64_t kMostTokens = 1'000'000'000'000;  // chosen; keeps sums over a run finite
constexpr double kMostCost = 1e12;

}  // namespace

std::string Trial::id() const { return fmt::format("t{}", number); }

void fields(ProposerUsage& x, FieldList& f) {
  f.record("usage", "What an answer cost, as the proposer says");
  f("prompt_tokens", x.prompt_tokens).range(0, kMostTokens);
  f("completion_tokens", x.completion_tokens).range(0, kMostTokens);
  f("cost", x.cost).at_least(0).finite().about("In the proposer's currency");
  f.rule("cost", [&x] { return std::string(x.cost <= kMostCost ? "" : "is more than 1e12"); });
}

void fields(ShapeTrial& x, FieldList& f) {
  f.record("shape_trial", "A candidate on one problem");
  f("problem", x.problem).required();
  f("outcome", x.outcome).required();
  f("reason", x.reason).omitted();
  f("gate", x.gate).omitted().about("That refused it");
  f("config", x.config).object().schema(kConfigSchema).about("The fastest that was tried");
  f("evaluations", x.evaluations).about("Configs that were tried");
  f("time", x.time).about("Which one time_us is");
  f("time_us", x.time_us).finite().positive();
  f("resources", x.resources);
}

void fields(Trial& x, FieldList& f) {
  f.record("trial", "A candidate and what became of it");
  f.tag("t", "trial");
  f("number", x.number).required().at_least(0).about("0: the start");
  f("ask", x.ask).at_least(0).about("Which request brought it");
  f("parents", x.parents).omitted().about("\"t3\": of trial 3");
  f("operation", x.operation).required().one_of("start, mutation, crossover");
  f("lever", x.lever).omitted().about("What it moved, in the proposer's word");
  f("thought", x.thought).omitted().about("Of the proposer: data, no instruction");
  f("insight", x.insight).omitted().about("Of the proposer: data, no instruction");
  f("step", x.step).one_of(step::kWords).about("The last one that it reached");
  f("verdict", x.verdict).one_of(verdict::kWords);
  f("reason", x.reason).omitted().about("Why it is invalid or discarded");
  f("key", x.key).omitted().looks_like(kIdPattern).about("Of source, manifest and config");
  f("source", x.source).omitted();
  f("manifest", x.manifest).omitted().about("fatune.kernel/1, as text");
  f("config", x.config).omitted().about("As text; absent: the best was looked for");
  f("shapes", x.shapes).omitted();
  f("speedup", x.speedup).about("Over the start, geomean of the problems");
  f("gain", x.gain).about("The same over the first parent");
  f("best", x.best).about("Highest speed-up so far");
  f("profile", x.profile).omitted().about("Of a new best: what hardware counters say");
  f("usage", x.usage);
}

}  // namespace fatune
