// request.hpp - what a proposer is asked, in one line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/fields_fwd.hpp"
#include "evolve/trial/trial.hpp"
#include "judge/referee/problem_book.hpp"
#include "model/problem/suite.hpp"

namespace fatune {

/// What a proposer is told beside the task: nothing but the best kernel; measured insights too;
/// elites, parents and history too.
enum class ProposerMode { kFree, kInsight, kFull };
std::string_view name(ProposerMode mode);  ///< "free", "insight", "full"
Result<ProposerMode> parse_proposer_mode(std::string_view text);
FieldWord<ProposerMode> word_of(const ProposerMode*);

/// I1: what is wanted, and what a kernel must keep to.
struct ProposalTask {
  std::string statement;
  std::string reference;  ///< what results are compared with
  std::string target;     ///< "sm_90a, NVIDIA H200"
  std::vector<NamedProblem> problems;
  std::vector<StatedMacro> macros;  ///< of the first problem
  std::vector<StatedRule> tolerance, gates, rules;
};
void fields(ProposalTask& x, FieldList& f);

/// I2: a kernel that passed, with its times.
struct ToldKernel {
  std::string id;
  std::string source, manifest;
  std::optional<double> speedup;
  std::vector<ShapeTrial> shapes;
  std::string lever, thought;
  std::string profile;  ///< registers, shared memory and spills, in words
};
void fields(ToldKernel& x, FieldList& f);

/// I3: what a proposer said of a move, and what the move brought.
struct ToldInsight {
  std::string text;
  std::string lever, id;
  std::optional<double> gain;  ///< over its parent; none: it failed
};
void fields(ToldInsight& x, FieldList& f);

struct ToldFailure {
  std::string id, lever, step, reason;
};
void fields(ToldFailure& x, FieldList& f);

/// A line of what was tried, without sources.
struct ToldTrial {
  std::string id, lever, verdict;
  std::vector<std::string> parents;
  std::optional<double> speedup;
};
void fields(ToldTrial& x, FieldList& f);

struct ProposalBudget {
  std::int64_t trials_left = 0;
  std::int64_t answer_seconds = 0;  ///< for this answer
  std::int64_t evaluations = 0;     ///< configs of a template that are tried on a problem
};
void fields(ProposalBudget& x, FieldList& f);

/// fatune.evolve_request/1
struct ProposalRequest {
  std::int64_t ask = 0;    ///< counted from 0
  std::uint64_t seed = 0;  ///< for proposers that draw: another one for each request
  ProposerMode mode = ProposerMode::kFree;
  std::string operation;  ///< "mutation": of one parent; "crossover": of two
  std::int64_t wanted = 1;
  ProposalBudget budget;
  ProposalTask task;
  std::vector<ToldKernel> parents, elites;
  std::vector<ToldInsight> insights;
  std::vector<ToldFailure> failures;
  std::vector<ToldTrial> history;
};
void fields(ProposalRequest& x, FieldList& f);

}  // namespace fatune
