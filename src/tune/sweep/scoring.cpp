// scoring.cpp - picks the baseline, gathers each candidate's terms, scores them alike.
#include "tune/sweep/scoring.hpp"

#include <algorithm>
#include <utility>

#include "core/text.hpp"

namespace fatune {
namespace {

bool measured(const FinalRecord& record) {
  return record.outcome == Outcome::kMeasured && record.hot.has_value();
}

bool is_sdpa(const FinalRecord& record) {
  return record.role == "baseline" &&
         (record.impl.starts_with("torch:") || record.impl.starts_with("cudnn"));
}

/// Hot time of the fastest; empty when none was measured.
std::optional<double> sdpa_time(const std::vector<FinalRecord>& finals) {
  std::optional<double> fastest;
  for (const FinalRecord& record : finals) {
    if (!measured(record) || !is_sdpa(record)) continue;
    fastest = std::min(fastest.value_or(record.hot->median_us), record.hot->median_us);
  }
  return fastest;
}

ScoreInputs inputs_of(const FinalRecord& record, const DeviceUse& use, double sdpa_us) {
  ScoreInputs inputs;
  inputs.candidate_us = record.hot->median_us;
  inputs.sdpa_us = sdpa_us;
  inputs.tensor_pct = use.tensor_pct;
  inputs.sm_busy_pct = use.sm_busy_pct;
  inputs.syncs = use.syncs;
  if (!record.resources) return inputs;
  const Resources& r = *record.resources;
  inputs.registers = r.registers;
  inputs.spill_bytes = static_cast<double>(r.spill_store_bytes + r.spill_load_bytes);
  return inputs;
}

const Candidate* candidate_of(const FinalRecord& record,
                              const std::vector<Implementation>& contestants) {
  for (const Implementation& each : contestants) {
    const bool same = !each.outside && each.impl == record.impl && each.role == record.role &&
                      to_json(each.candidate.config) == record.config;
    if (same) return &each.candidate;
  }
  return nullptr;
}

bool competes(const FinalRecord& record) { return measured(record) && record.role != "baseline"; }

std::string note_of(const CompositeScore& score, const std::map<std::string, DeviceUse>& uses) {
  if (score.absent.empty()) return "";
  std::string note = "scored without " + join(score.absent, ", ");
  for (const auto& [id, use] : uses) {
    if (!use.missing.empty()) return note + ": " + use.missing;
  }
  return note;
}

}  // namespace

Result<std::map<std::string, DeviceUse>> count_finalists(
    const std::vector<FinalRecord>& finals, const std::vector<Implementation>& contestants,
    const CountUse& count) {
  std::map<std::string, DeviceUse> uses;
  if (!count || !sdpa_time(finals)) return uses;
  for (const FinalRecord& record : finals) {
    const Candidate* candidate = candidate_of(record, contestants);
    if (!competes(record) || candidate == nullptr) continue;
    FATUNE_TRY(uses[record.id], count(*candidate));
  }
  return uses;
}

Scoring score_finals(const std::vector<FinalRecord>& finals,
                     const std::map<std::string, DeviceUse>& uses) {
  const auto sdpa_us = sdpa_time(finals);
  if (!sdpa_us) {
    return {{},
            "no score: it is relative to cuDNN's or PyTorch's attention, and neither was measured; "
            "ranked by hot time (see --baselines)"};
  }
  std::vector<std::string> ids;
  std::vector<ScoreInputs> inputs;
  for (const FinalRecord& record : finals) {
    if (!competes(record)) continue;
    const auto use = uses.find(record.id);
    ids.push_back(record.id);
    inputs.push_back(inputs_of(record, use == uses.end() ? DeviceUse() : use->second, *sdpa_us));
  }
  const std::vector<CompositeScore> scores = comparable_scores(std::move(inputs));
  Scoring scoring;
  for (std::size_t i = 0; i < ids.size(); ++i) scoring.by_id[ids[i]] = scores[i].value;
  if (!scores.empty()) scoring.note = note_of(scores.front(), uses);
  return scoring;
}

}  // namespace fatune
