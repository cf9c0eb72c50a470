// page_json.hpp - runs to the document that their page draws: fatune.page/1.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "model/results/document.hpp"
#include "model/results/physics.hpp"
#include "model/results/sol_score.hpp"
#include "model/results/sweep_result.hpp"
#include "out/page/page_run.hpp"
#include "search/strategies/importance.hpp"

namespace fatune {

enum class Depth {
  kFull,
  kQuick  ///< without what the parameters explain, which costs a second for thousands of candidates
};

inline constexpr int kPageDigits = 5;  ///< significant; times are known to three or four
/// Rounded in decimal, so that it is short as JSON; 0 for what is no finite number.
double rounded(double value, int digits = kPageDigits);
/// Absolute paths lose their folders: a page is sent to others.
std::string without_folders(const std::string& text);

/// A contestant of the final phase; the best comes first.
struct PageFinal : FinalRecord {
  Standing standing;
  std::optional<double> best_over_this;  ///< of a baseline: the best's time over its own
  std::optional<std::size_t> colour;     ///< its kernel's; none of a baseline
};
struct PageReason {
  std::size_t count = 0;
  std::string example;
};
struct PageOutcome {
  Outcome outcome = Outcome::kMeasured;
  std::size_t count = 0;
  std::vector<PageReason> reasons;  ///< the most frequent; they may differ in numbers
};
/// What the device allows, or why that is unknown.
struct PageHardware {
  PeakRates peak;
  PhysicsFloor floor;
};
struct PageParameter {
  std::string name;
  std::vector<Json> values;  ///< that candidates have
};
struct PageKernel {
  std::string name;
  std::size_t colour = 0;  ///< position in kernel_colours()
  std::vector<PageParameter> parameters;
  std::optional<ParameterImportance> importance;
  std::string waves_unknown{};  ///< why candidates have none; empty: they have
};
/// Columns of equal length, in the order tried.
struct PageCandidates {
  std::vector<std::size_t> kernel;
  std::vector<std::vector<int>> config;  ///< positions in the kernel's values, -1 where it has none
  std::vector<std::string> id;
  std::vector<Outcome> outcome;
  std::vector<int> reason;  ///< position in the problem's reasons, -1: none
  std::vector<double> at_s, compile_s, ready_s, verify_s, timing_s;
  std::vector<std::optional<std::size_t>> compiler;  ///< the compile process, from 0
  std::vector<std::optional<std::string>> device;    ///< "cuda:1", where it is not the run's
  std::vector<std::optional<double>> in_layer_median_us, hot_median_us, cold_median_us, margin;
  std::vector<std::optional<std::int64_t>> registers, shared_bytes, spill_bytes;
  std::vector<std::optional<std::int64_t>> threads;  ///< of a block
  std::vector<std::optional<std::int64_t>> blocks_per_sm;
  /// Blocks of the grid over those that the device holds.
  std::vector<std::optional<double>> waves;
};
/// A candidate that was not the strategy's idea: the search began with it.
struct PageWarmStart {
  std::size_t candidate = 0;  ///< position
  std::string source;         ///< that knew it
};
struct PageProblemData {
  NamedProblem problem;
  std::string time;         ///< by which finals are ranked and compared
  std::string search_time;  ///< of candidates, which the search minimised
  double flops = 0, least_bytes = 0;
  bool has_best = false;
  std::vector<PageFinal> finals;
  std::optional<Gate> gate;
  std::optional<SolScore> sol;
  std::vector<PageOutcome> outcomes;
  PageHardware hardware;
  std::vector<PageKernel> kernels;
  PageCandidates candidates;
  std::vector<std::string> reasons;  ///< of candidates, each once
  std::vector<PageWarmStart> warm_starts;
  double begun_s = 0;  ///< since the run began
  double ended_s = 0;  ///< its final phase, since the run began; 0: not known
};
/// What ncu counted of a candidate.
struct PageProfile {
  std::string id;
  std::string report;  ///< ncu's own, from the run's folder on; empty: not kept
  Reading reading;
};
/// Each line once, and what lists them by their positions.
struct PageListing {
  std::string id;
  bool remade = false;
  std::int64_t instructions = 0;
  std::vector<std::int64_t> counts;  ///< in the order of instruction_classes()
  std::vector<std::size_t> lines;
};
struct PageListings {
  std::vector<std::string> lines;
  std::vector<PageListing> listings;
};
struct PageRunData : PageRunHead {
  bool recorded = false;
  std::vector<PageProfile> profiles;
  std::optional<PageListings> code;
  std::optional<FleetTimeline> fleet;
  std::vector<PageProblemData> problems;
};
/// How far a running sweep is.
struct PageLive {
  SweepProgress progress;
  bool finished = false;
};
struct PageDocument {
  DocumentHead head;
  std::optional<PageLive> live;  ///< of a page that follows a running sweep
  std::vector<PageRunData> runs;
};
void fields(PageFinal& x, FieldList& f);
void fields(PageReason& x, FieldList& f);
void fields(PageOutcome& x, FieldList& f);
void fields(PageHardware& x, FieldList& f);
void fields(PageParameter& x, FieldList& f);
void fields(PageKernel& x, FieldList& f);
void fields(PageCandidates& x, FieldList& f);
void fields(PageWarmStart& x, FieldList& f);
void fields(PageProblemData& x, FieldList& f);
void fields(PageProfile& x, FieldList& f);
void fields(PageListing& x, FieldList& f);
void fields(PageListings& x, FieldList& f);
void fields(PageRunData& x, FieldList& f);
void fields(PageLive& x, FieldList& f);
/// Times with at most five significant digits.
void fields(PageDocument& x, FieldList& f);

PageDocument page_document(std::span<const PageRun> runs, Depth depth, DocumentHead head);
/// Fills in kernels, candidates, reasons and warm starts.
void add_candidates(const PageProblem& problem, const JournalHeader& header, Depth depth,
                    PageProblemData& data);

}  // namespace fatune
