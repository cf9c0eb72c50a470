// request.hpp: Declares the request that a proposer receives as one line.
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

/// I2: a kernel that passed, with its times.
struct RequestKernel {
  std::string id;
  std::string source, manifest;
  std::optional<double> speedup;
  std::vector<ShapeTrial> shapes;
  std::string lever, thought;
  std::string profile;  ///< registers, shared memory and spills, in words
};
void fields(RequestKernel& x, FieldList& f);

/// I3: a proposer's thought on a move, and the measured gain of the move.
struct RequestInsight {
  std::string text;
  std::string lever, id;
  std::optional<double> gain;  ///< speed-up over the parent; empty if the move failed
};
void fields(RequestInsight& x, FieldList& f);

struct RequestFailure {
  std::string id, lever, step, reason;
};
void fields(RequestFailure& x, FieldList& f);

/// One line of history, without sources.
struct RequestTrial {
  std::string id, lever, verdict;
  std::vector<std::string> parents;
  std::optional<double> speedup;
};
void fields(RequestTrial& x, FieldList& f);

struct ProposalBudget {
  std::int64_t trials_left = 0;
  std::int64_t answer_seconds = 0;  ///< time limit of this answer
  std::int64_t evaluations = 0;     ///< configs tried per problem for a template
};
void fields(ProposalBudget& x, FieldList& f);

/// The request, fatune.evolve_request/1.
struct ProposalRequest {
  std::int64_t ask = 0;    ///< counted from 0
  std::uint64_t seed = 0;  ///< for proposers that draw at random; differs for each request
  ProposerMode mode = ProposerMode::kFree;
  std::string operation;  ///< "mutation" of one parent, or "crossover" of two
  std::int64_t wanted = 1;
  ProposalBudget budget;
  ProposalTask task;
  std::vector<RequestKernel> parents, elites;
  std::vector<RequestInsight> insights;
  std::vector<RequestFailure> failures;
  std::vector<RequestTrial> history;
};
void fields(ProposalRequest& x, FieldList& f);

}  // namespace fatune
