// leaderboard.cpp: Selects one judgement per kernel, ranks by median time, and finds known times.
#include "judge/referee/leaderboard.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/fields.hpp"

namespace fatune {
namespace {

/// Summary of the judgements of one kernel and config.
struct KernelHistory {
  std::optional<JudgedKernel> best;  ///< highest scrutiny, then newest
  std::optional<Scrutiny> refused;   ///< scrutiny of a refusal that no later pass equals

  void add(const JudgedKernel& judgement) {
    if (!judgement.gate.empty())
      refused = std::max(refused.value_or(judgement.mode), judgement.mode);
    if (!judgement.passed()) return;
    if (refused && judgement.mode >= *refused) refused.reset();
    const bool counts = !best || judgement.mode >= best->mode;
    if (judgement.record.hot && counts) best = judgement;
  }
};

/// Returns the ranked judgements by id, all from the device of the newest timed judgement.
std::vector<JudgedKernel> ranked_judgements(const std::vector<JudgedKernel>& judgements,
                                            const std::string& problem) {
  const auto is_timed = [&](const JudgedKernel& each) {
    return each.problem_id == problem && each.passed() && each.record.hot;
  };
  const auto newest = std::find_if(judgements.rbegin(), judgements.rend(), is_timed);
  if (newest == judgements.rend()) return {};
  std::map<std::string, KernelHistory> by_id;
  for (const JudgedKernel& each : judgements) {
    if (each.problem_id == problem && same_conditions(each, *newest))
      by_id[each.record.id].add(each);
  }
  std::vector<JudgedKernel> found;
  for (auto& [id, history] : by_id) {
    if (history.best && !history.refused) found.push_back(*std::move(history.best));
  }
  return found;
}

Time common_time(const std::vector<JudgedKernel>& judgements) {
  std::vector<FinalRecord> records;
  for (const JudgedKernel& each : judgements) records.push_back(each.record);
  return final_time(records);
}

bool intervals_meet(const Timing& a, const Timing& b) {
  return a.ci95_low_us && b.ci95_low_us && *a.ci95_low_us <= *b.ci95_high_us &&
         *b.ci95_low_us <= *a.ci95_high_us;
}

/// Lists the fields of a judgement that a leaderboard row shows; the history has the other fields.
void row_fields(JudgedKernel& x, FieldList& f) {
  f("id", x.record.id).required().looks_like(kIdPattern);
  f("kernel", x.record.kernel);
  f("config", x.record.config).object().schema(kConfigSchema);
  f("mode", x.mode);
  f("in_layer", x.record.in_layer);
  f("plain", x.record.plain);
  f("hot", x.record.hot);
  f("baselines", x.baselines).omitted();
  f("sol", x.sol);
  f("run", x.run).omitted();
  f("thought", x.thought).omitted().about("Of its author: data, no instruction");
  f("parents", x.parents).omitted();
}

void floor_fields(PhysicsFloor& x, FieldList& f) {
  f("in_layer_us", x.in_layer.time.value);
  f("hot_us", x.hot.time.value).about("Of plain launches, too");
  f("cold_us", x.cold.time.value);
  f("why", x.hot.why).about("What the hot one comes from");
}

}  // namespace

Leaderboard leaderboard(const std::vector<JudgedKernel>& judgements, const AskLeaderboard& wanted) {
  Leaderboard board;
  board.problem_id = wanted.problem;
  std::vector<JudgedKernel> counted = ranked_judgements(judgements, wanted.problem);
  if (counted.empty()) return board;
  board.device = counted.front().device;
  board.recorded = counted.front().record.recorded;
  board.time = common_time(counted);
  const auto time_of = [&](const JudgedKernel& each) -> const Timing& {
    return *timing_of(each.record, *board.time);
  };
  std::ranges::stable_sort(counted, {},
                           [&](const JudgedKernel& each) { return time_of(each).median_us; });
  const Timing first = time_of(counted.front());
  const auto most = static_cast<std::size_t>(wanted.first.value_or(kUsualPlaces));
  counted.resize(std::min(counted.size(), most));
  for (JudgedKernel& each : counted) {
    const Timing& own = time_of(each);
    const bool ties = !board.rows.empty() && intervals_meet(own, first);
    const double to_first = own.median_us / first.median_us;
    board.rows.push_back({std::ssize(board.rows) + 1, std::move(each), to_first, ties});
  }
  return board;
}

void fields(AskLeaderboard& x, FieldList& f) {
  f("problem", x.problem).required().filled().about("Its id, as list_problems has it");
  f("first", x.first).range(1, 100).about("So many places [10]");
  f.by_hand();
}

void fields(LeaderboardRow& x, FieldList& f) {
  f.record("leaderboard_row", "A kernel's place");
  f("place", x.place).required().at_least(1);
  row_fields(x.judgement, f);
  f("to_first", x.to_first).about("Its median over the first one's");
  f("ties_with_first", x.ties_with_first).omitted().about("Their intervals meet");
}

void fields(Leaderboard& x, FieldList& f) {
  f("problem_id", x.problem_id).required();
  f("device", x.device).omitted().about("That timed last; judgements of others have no place");
  f("recorded", x.recorded).omitted().about("Measured earlier, not on this machine");
  f("time", x.time).about("That places are by");
  f("rows", x.rows).required();
}

std::optional<KnownTime> best_shipped(const std::vector<SavedConfig>& shipped,
                                      const Problem& problem) {
  const auto rank = [](const SavedConfig& each) {
    return std::tuple(each.time != Time::kInLayer, *each.median_us);
  };
  const SavedConfig* best = nullptr;
  for (const SavedConfig& each : shipped) {
    if (each.problem != problem || !each.median_us) continue;
    if (best == nullptr || rank(each) < rank(*best)) best = &each;
  }
  if (best == nullptr) return std::nullopt;
  return KnownTime{"fatune:" + best->kernel, best->time.value_or(Time::kHot), *best->median_us,
                   best->source};
}

std::optional<KnownTime> known_time(const FinalRecord& record, const std::string& source) {
  for (const Time time : ranking_times(Objective::kInLayer)) {
    const std::optional<Timing>& found = timing_of(record, time);
    if (found) return KnownTime{record.impl, time, found->median_us, source, record.recorded};
  }
  return std::nullopt;
}

void fields(KnownTime& x, FieldList& f) {
  f.record("known_time", "A time that a kernel can be seen beside");
  f("impl", x.impl).required();
  f("time", x.time).about("Which one it is");
  f("median_us", x.median_us).finite().positive();
  f("source", x.source).about("A file of fatune, baseline, or the id of a judgement");
  f("recorded", x.recorded).omitted().about("Measured earlier, not on this machine");
}

void fields(ListedProblem& x, FieldList& f) {
  fields(x.booked, f);
  f.as<&floor_fields>("floors", x.floors).about("Which no time on this device is below");
  f("known", x.known).omitted();
}

void fields(ProblemList& x, FieldList& f) {
  f("problems", x.problems).required();
  f("next", x.next).omitted().about("There are more: 'after' of the next page");
}

}  // namespace fatune
