// report_text.hpp - what a journal holds of each kernel and problem, as tables and as a document.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/fields_fwd.hpp"
#include "out/page/page_run.hpp"
#include "out/text/paint.hpp"
#include "search/strategies/importance.hpp"
#include "tune/sweep/best.hpp"

namespace fatune::cli {

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
};
/// fatune.report/2: all that a run found, its final phase included.
struct ReportDocument {
  DocumentHead head;
  std::string sweep;  ///< the command that made the run
  Environment environment;
  std::string status, strategy, objective;
  std::uint64_t seed = 0;
  std::vector<ReportedProblem> problems;
};
void fields(ReportedKernel& x, FieldList& f);
void fields(ReportedProblem& x, FieldList& f);
void fields(ReportDocument& x, FieldList& f);
ReportDocument report_document(const PageRun& run, DocumentHead head);

}  // namespace fatune::cli
