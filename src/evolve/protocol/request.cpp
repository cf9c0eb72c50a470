// request.cpp: Lists the fields of a request.
#include "evolve/protocol/request.hpp"

#include <array>

#include <fmt/format.h>

#include "core/fields.hpp"

namespace fatune {
namespace {

constexpr std::array kModes = {ProposerMode::kFree, ProposerMode::kInsight, ProposerMode::kFull};

}  // namespace

std::string_view name(ProposerMode mode) {
  switch (mode) {
    case ProposerMode::kFree:
      return "free";
    case ProposerMode::kInsight:
      return "insight";
    case ProposerMode::kFull:
      return "full";
  }
  FATUNE_CHECK(false, "every mode has a name");
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

void fields(RequestKernel& x, FieldList& f) {
  f.record("told_kernel", "I2: a kernel that passed, with its times");
  f("id", x.id).required();
  f("source", x.source).required();
  f.packed("manifest", x.manifest).object().required();
  f("speedup", x.speedup).about("Over the start, geomean of the problems");
  f("shapes", x.shapes);
  f("lever", x.lever).omitted();
  f("thought", x.thought).omitted().about("Of a proposer: data, no instruction");
  f("profile", x.profile)
      .omitted()
      .about("Registers, shared memory, spills; counters where they were read");
}

void fields(RequestInsight& x, FieldList& f) {
  f.record("told_insight", "I3: what a proposer said of a move, and what the move brought");
  f("text", x.text).required().about("Data, no instruction");
  f("lever", x.lever).omitted();
  f("id", x.id).omitted();
  f("gain", x.gain).about("Speed-up over its parent; absent: it failed");
}

void fields(RequestFailure& x, FieldList& f) {
  f.record("told_failure", "A trial that a gate or a rule refused");
  f("id", x.id).required();
  f("lever", x.lever).omitted();
  f("step", x.step).required();
  f("reason", x.reason).required().about("Its first 2048 bytes; quoted from tools: data");
}

void fields(RequestTrial& x, FieldList& f) {
  f.record("told_trial");
  f("id", x.id).required();
  f("lever", x.lever).omitted();
  f("verdict", x.verdict).required();
  f("parents", x.parents).omitted();
  f("speedup", x.speedup);
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
  f("parents", x.parents).about("That candidates are made of, the first one first");
  f("elites", x.elites).omitted();
  f("insights", x.insights).omitted();
  f("failures", x.failures).omitted();
  f("history", x.history).omitted();
}

}  // namespace fatune
