// request.hpp: Declares the request that a proposer receives as one line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/fields_fwd.hpp"
#include "evolve/trial/trial.hpp"
#include "judge/referee/problem_book.hpp"
#include "model/problem/suite.hpp"

namespace fatune {

/// Content of a request beside the task. Free: the best kernel. Insight: measured insights too.
/// Full: elites, parents and history too.
enum class ProposerMode { kFree, kInsight, kFull };
std::string_view name(ProposerMode mode);  ///< "free", "insight", "full"
Result<ProposerMode> parse_proposer_mode(std::string_view text);
FieldWord<ProposerMode> word_of(const ProposerMode*);

/// I1: the task, and the requirements on a kernel.
struct ProposalTask {
  std::string statement;
  std::string reference;  ///< reference that results are compared with
  std::string target;     ///< "sm_90a, NVIDIA H200"
  std::vector<NamedProblem> problems;
  std::vector<StatedMacro> macros;  ///< macros of the first problem
  std::vector<StatedRule> tolerance, gates, rules;
};
void fields(ProposalTask& x, FieldList& f);

struct ProposalBudget {
  std::int64_t trials_left = 0;
  std::int64_t answer_seconds = 0;  ///< time limit of this answer
  std::int64_t evaluations = 0;     ///< configs tried per problem for a template
};
void fields(ProposalBudget& x, FieldList& f);

/// The request, fatune.evolve_request/1. It tells trials in part: kernels with sources and times
/// (I2), thoughts with the gain of their move (I3), failures with reasons, and a history.
struct ProposalRequest {
  std::int64_t ask = 0;    ///< counted from 0
  std::uint64_t seed = 0;  ///< for proposers that draw at random; differs for each request
  ProposerMode mode = ProposerMode::kFree;
  std::string operation;  ///< "mutation" of one parent, or "crossover" of two
  std::int64_t wanted = 1;
  ProposalBudget budget;
  ProposalTask task;
  std::vector<Trial> parents, elites, insights, failures, history;
};
void fields(ProposalRequest& x, FieldList& f);

}  // namespace fatune
