// report_text.hpp - what a journal holds of each kernel and problem: candidates in order of time,
// as tables for a terminal, Markdown and CSV, and as a document.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/fields_fwd.hpp"
#include "model/results/fast_p.hpp"
#include "model/results/sol_score.hpp"
#include "out/page/page_run.hpp"
#include "out/text/layout.hpp"
#include "search/strategies/importance.hpp"
#include "tune/sweep/best.hpp"

namespace fatune {

struct Ranked {
  const CandidateRecord* record = nullptr;
  std::size_t place = 1;  ///< from 1; equal for candidates that tie with the first of their group
};

/// Only those measured; `objective` is "hot" or "cold". Two candidates tie when
/// told_apart() does not tell them apart. The search phase takes few samples: its ranking is a
/// hint, the finals decide.
std::vector<Ranked> rank_candidates(std::span<const CandidateRecord> candidates,
                                    const std::string& objective);

/// Every candidate: the measured ones by place, then the others in the order they were tried, with
/// outcome and reason.
Table candidates_table(std::span<const CandidateRecord> candidates, const std::string& objective);
/// The same as CSV, with a column for each member of the problem and for each parameter, in the
/// order in which the candidates first have them, and whether a row is recorded and was checked.
std::string candidates_csv(std::span<const CandidateRecord> candidates,
                           const std::string& objective);

/// `format`: "text" has outcomes and the ten best of each group, "md" and "csv" every candidate;
/// "text" and "md" also what the parameters explain.
std::string report_text(const std::vector<JournalGroup>& groups, const Journal& journal,
                        const std::string& format, const Paint& paint);

struct ReportedKernel {
  std::string kernel;
  std::size_t configs = 0;
  std::map<Outcome, std::size_t> outcomes;
  std::string best;  ///< id of its fastest candidate; empty: none was measured
  std::optional<ParameterImportance> importance{};  ///< empty: configs of different parameters
};
struct ReportedProblem {
  NamedProblem problem;
  std::vector<ReportedKernel> kernels{};
  std::vector<CandidateRecord> candidates{};  ///< in the order tried
  std::vector<BestRow> finalists{}, baselines{};
  std::optional<Gate> gate{};
  std::optional<SolScore> sol{};
};
/// fatune.report/1: all that a run found, its final phase included.
struct ReportDocument {
  DocumentHead head;
  std::string sweep;  ///< the command that made the run
  Environment environment;
  std::string status, strategy, objective;
  std::uint64_t seed = 0;
  std::string correctness;  ///< "skipped", or empty
  std::vector<ReportedProblem> problems;
  std::optional<FastP> fast_p{};  ///< of a suite
};
void fields(ReportedKernel& x, FieldList& f);
void fields(ReportedProblem& x, FieldList& f);
void fields(ReportDocument& x, FieldList& f);
ReportDocument report_document(const PageRun& run, DocumentHead head);

}  // namespace fatune
