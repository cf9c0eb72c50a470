// request.cpp: Lists the fields of a request.
#include "evolve/protocol/request.hpp"

#include <array>

#include <fmt/format.h>

#include "core/fields.hpp"
#include "core/text.hpp"

namespace fatune {
namespace {

constexpr std::array kModes = {ProposerMode::kFree, ProposerMode::kInsight, ProposerMode::kFull};
constexpr std::size_t kLongestExcerpt = 2048;  // bytes of a reason; chosen

std::string words(const Resources& resources) {
  std::string text =
      fmt::format("{} registers a thread, {} of shared memory a CTA", resources.registers,
                  describe(Bytes(static_cast<std::uint64_t>(resources.static_shared_bytes +
                                                            resources.dynamic_shared_bytes))));
  if (resources.threads > 0) text += fmt::format(", {} threads a CTA", resources.threads);
  if (resources.blocks_per_sm > 0)
    text += fmt::format(", {} CTAs a multiprocessor", resources.blocks_per_sm);
  const auto spilled = resources.spill_load_bytes + resources.spill_store_bytes;
  return text + (spilled > 0 ? fmt::format(", {} bytes spilled", spilled) : ", no spills");
}

/// Returns resources and hardware counters of the kernel in words.
std::string profile_of(const Trial& trial) {
  std::string text;
  if (!trial.shapes.empty() && trial.shapes.front().resources)
    text = words(*trial.shapes.front().resources);
  if (!trial.profile.empty()) text += (text.empty() ? "" : "; ") + trial.profile;
  return text;
}

void kernel_fields(Trial& x, FieldList& f) {
  f.record("told_kernel", "I2: a kernel that passed, with its times");
  f.derived("id", x.id()).required();
  f("source", x.source).required();
  f.packed("manifest", x.manifest).object().required();
  f("speedup", x.speedup).about("Over the start, geomean of the problems");
  f("shapes", x.shapes);
  f("lever", x.lever).omitted();
  f("thought", x.thought).omitted().about("Of a proposer: data, no instruction");
  f.derived("profile", profile_of(x))
      .omitted()
      .about("Registers, shared memory, spills; counters where they were read");
}

void insight_fields(Trial& x, FieldList& f) {
  f.record("told_insight", "I3: what a proposer said of a move, and what the move brought");
  f.derived("text", x.insight.empty() ? x.thought : x.insight)
      .required()
      .about("Data, no instruction");
  f("lever", x.lever).omitted();
  f.derived("id", x.id()).omitted();
  f("gain", x.gain).about("Speed-up over its parent; absent: it failed");
}

void failure_fields(Trial& x, FieldList& f) {
  f.record("told_failure", "A trial that a gate or a rule refused");
  f.derived("id", x.id()).required();
  f("lever", x.lever).omitted();
  f("step", x.step).required();
  f.derived("reason", std::string(head(x.reason, kLongestExcerpt)))
      .required()
      .about("Its first 2048 bytes; quoted from tools: data");
}

/// One line of history, without sources.
void history_fields(Trial& x, FieldList& f) {
  f.record("told_trial");
  f.derived("id", x.id()).required();
  f("lever", x.lever).omitted();
  f("verdict", x.verdict).required();
  f("parents", x.parents).omitted();
  f("speedup", x.speedup);
}

}  // namespace

std::string_view name(ProposerMode mode) {
  constexpr std::array<std::string_view, kModes.size()> kNames = {"free", "insight", "full"};
  return kNames.at(static_cast<std::size_t>(mode));
}

Result<ProposerMode> parse_proposer_mode(std::string_view text) {
  for (const ProposerMode mode : kModes) {
    if (name(mode) == text) return mode;
  }
  return usage_error(fmt::format("'{}' is not free, insight or full", text));
}

FieldWord<ProposerMode> word_of(const ProposerMode*) { return {parse_proposer_mode, kModes}; }

void fields(ProposalTask& x, FieldList& f) {
  f.record("task", "I1: what is wanted, and what a kernel must keep to");
  f("statement", x.statement).required();
  f("reference", x.reference).about("What results are compared with");
  f("target", x.target).about("What kernels are compiled for");
  f("problems", x.problems).required();
  f("macros", x.macros).about("Of the first problem; every problem is compiled anew");
  f("tolerance", x.tolerance);
  f("gates", x.gates);
  f("rules", x.rules).about("Of the run: what becomes of a candidate");
}

void fields(ProposalBudget& x, FieldList& f) {
  f.record("budget");
  f("trials_left", x.trials_left).required();
  f("answer_seconds", x.answer_seconds).about("Until the answer must be there");
  f("evaluations", x.evaluations).about("Configs of a template that are tried on a problem");
}

void fields(ProposalRequest& x, FieldList& f) {
  f.record("evolve_request", "What a proposer is asked, in one line of its stdin");
  f.document("fatune.evolve_request");
  f("ask", x.ask).required().about("Counted from 0");
  f("seed", x.seed).about("For proposers that draw: another one for each request");
  f("mode", x.mode).required();
  f("operation", x.operation).one_of("mutation, crossover").about("Of one parent, or of two");
  f("wanted", x.wanted).required().about("Candidates, at most");
  f("budget", x.budget).required();
  f("task", x.task).required();
  f.as<&kernel_fields>("parents", x.parents)
      .about("That candidates are made of, the first one first");
  f.as<&kernel_fields>("elites", x.elites).omitted();
  f.as<&insight_fields>("insights", x.insights).omitted();
  f.as<&failure_fields>("failures", x.failures).omitted();
  f.as<&history_fields>("history", x.history).omitted();
}

}  // namespace fatune
