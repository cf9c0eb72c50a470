// report_text.hpp: Declares the report of a journal as tables, CSV and a document.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/fields_fwd.hpp"
#include "model/results/fast_p.hpp"
#include "model/results/sol_score.hpp"
#include "report/page/page_run.hpp"
#include "report/text/layout.hpp"
#include "search/strategies/importance.hpp"
#include "tune/sweep/best.hpp"

namespace fatune {

struct Ranked {
  const CandidateRecord* record = nullptr;
  std::size_t place = 1;  ///< from 1; equal for candidates that tie with a group's first
};

/// Ranks measured candidates only; `objective` is "hot" or "cold". Candidates tie unless
/// told_apart() separates them. The search takes few samples, so its ranking is a hint; the finals
/// decide.
std::vector<Ranked> rank_candidates(std::span<const CandidateRecord> candidates,
                                    const std::string& objective);

/// Lists every candidate with outcome and reason, measured candidates first, by place.
Table candidates_table(std::span<const CandidateRecord> candidates, const std::string& objective);
/// Returns the candidates as CSV: a column per member of the problem and per parameter, in the
/// order of appearance, and whether a row is recorded and was checked.
std::string candidates_csv(std::span<const CandidateRecord> candidates,
                           const std::string& objective);

/// `format` is "text" for outcomes and the ten best of each group, "md" or "csv" for every
/// candidate. "text" and "md" also have the parameter importance.
std::string report_text(const std::vector<JournalGroup>& groups, const Journal& journal,
                        const std::string& format, const Paint& paint);

struct ReportedKernel {
  std::string kernel;
  std::size_t configs = 0;
  std::map<Outcome, std::size_t> outcomes;
  std::string best;  ///< id of the fastest candidate; empty if none was measured
  std::optional<ParameterImportance> importance{};  ///< empty if configs have different parameters
};
struct ReportedProblem {
  NamedProblem problem;
  std::vector<ReportedKernel> kernels{};
  std::vector<CandidateRecord> candidates{};  ///< in the order tried
  std::vector<BestRow> finalists{}, baselines{};
  std::optional<Gate> gate{};
  std::optional<SolScore> sol{};
};
/// fatune.report/1: all results of a run, its final phase included.
struct ReportDocument {
  DocumentHead head;
  std::string sweep;  ///< command that made the run
  Environment environment;
  std::string status, strategy, objective;
  std::uint64_t seed = 0;
  std::string correctness;  ///< "skipped", or empty
  std::vector<ReportedProblem> problems;
  std::optional<FastP> fast_p{};  ///< set for a suite
};
void fields(ReportedKernel& x, FieldList& f);
void fields(ReportedProblem& x, FieldList& f);
void fields(ReportDocument& x, FieldList& f);
ReportDocument report_document(const PageRun& run, DocumentHead head);

}  // namespace fatune
