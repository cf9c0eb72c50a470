// page_json.hpp: Declares fatune.page/1, the document that a page draws from runs.
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
  kQuick  ///< omits parameter importance, which takes a second for thousands of candidates
};

inline constexpr int kPageDigits = 5;  ///< significant digits; times have three or four
/// Rounds to decimal digits for short JSON; returns 0 for infinity and NaN.
double rounded(double value, int digits = kPageDigits);
/// Removes the folders of absolute paths, because a page is sent to others.
std::string without_folders(const std::string& text);

/// A contestant of the final phase; the best comes first.
struct PageFinal : FinalRecord {
  Standing standing;
  std::optional<double> best_over_this;  ///< for a baseline: ratio of the best's time to its time
  std::optional<std::size_t> colour;     ///< the kernel's colour; empty for a baseline
};
struct PageReason {
  std::size_t count = 0;
  std::string example;
};
struct PageOutcome {
  Outcome outcome = Outcome::kMeasured;
  std::size_t count = 0;
  std::vector<PageReason> reasons;  ///< most frequent reasons; differences in numbers do not count
};
/// The limits of the device, or the reason why they are unknown.
struct PageHardware {
  PeakRates peak;
  PhysicsFloor floor;
};
struct PageParameter {
  std::string name;
  std::vector<Json> values;  ///< values that candidates have
};
struct PageKernel {
  std::string name;
  std::size_t colour = 0;  ///< position in kernel_colours()
  std::vector<PageParameter> parameters;
  std::optional<ParameterImportance> importance;
  std::string waves_unknown{};  ///< reason for missing waves; empty if candidates have waves
};
/// Columns of equal length, in the order tried.
struct PageCandidates {
  std::vector<std::size_t> kernel;
  std::vector<std::vector<int>> config;  ///< positions in the kernel's values, -1 if missing
  std::vector<std::string> id;
  std::vector<Outcome> outcome;
  std::vector<int> reason;  ///< position in the problem's reasons, -1 if none
  std::vector<double> at_s, compile_s, ready_s, verify_s, timing_s;
  std::vector<std::optional<std::size_t>> compiler;  ///< number of the compile process, from 0
  std::vector<std::optional<std::string>> device;    ///< "cuda:1", if it is not the run's device
  std::vector<std::optional<double>> in_layer_median_us, hot_median_us, cold_median_us, margin;
  std::vector<std::optional<std::int64_t>> registers, shared_bytes, spill_bytes;
  std::vector<std::optional<std::int64_t>> threads;  ///< threads of a block
  std::vector<std::optional<std::int64_t>> blocks_per_sm;
  /// Blocks of the grid over the blocks that the device holds at once.
  std::vector<std::optional<double>> waves;
};
/// A candidate with which the search began, from a known config.
struct PageWarmStart {
  std::size_t candidate = 0;  ///< position among the candidates
  std::string source;         ///< source of the known config
};
struct PageProblemData {
  NamedProblem problem;
  Time time = Time::kHot;         ///< time that ranks and compares finals
  Time search_time = Time::kHot;  ///< time that the search minimised
  double flops = 0, least_bytes = 0;
  bool has_best = false;
  std::vector<PageFinal> finals;
  std::optional<Gate> gate;
  std::optional<SolScore> sol;
  std::vector<PageOutcome> outcomes;
  PageHardware hardware;
  std::vector<PageKernel> kernels;
  PageCandidates candidates;
  std::vector<std::string> reasons;  ///< distinct reasons of candidates
  std::vector<PageWarmStart> warm_starts;
  double begun_s = 0;  ///< since the start of the run
  double ended_s = 0;  ///< end of the final phase, since the start of the run; 0 if unknown
};
/// The counters that ncu read for a candidate.
struct PageProfile {
  std::string id;
  std::string report;  ///< path of ncu's report inside the run's folder; empty if not kept
  Reading reading;
};
/// Distinct lines of machine code; listings refer to lines by position.
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
/// The progress of a running sweep.
struct PageLive {
  SweepProgress progress;
  bool finished = false;
};
struct PageDocument {
  DocumentHead head;
  std::optional<PageLive> live;  ///< set for a page that follows a running sweep
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
/// Times have at most five significant digits.
void fields(PageDocument& x, FieldList& f);

PageDocument page_document(std::span<const PageRun> runs, Depth depth, DocumentHead head);
/// Fills in kernels, candidates, reasons and warm starts.
void add_candidates(const PageProblem& problem, const JournalHeader& header, Depth depth,
                    PageProblemData& data);

}  // namespace fatune
