// last_finals.cpp: Separates the final phases of a problem by the records between them.
#include "model/results/last_finals.hpp"

#include <algorithm>
#include <variant>

#include <nlohmann/json.hpp>

namespace fatune {
namespace {

bool same_contestant(const FinalRecord& a, const FinalRecord& b) {
  return a.impl == b.impl && a.role == b.role && a.config == b.config;
}

}  // namespace

LastFinals::LastFinals(std::span<const Record> records) {
  for (const Record& record : records) add(record);
}

void LastFinals::add(const Record& record) {
  if (const auto* finished = std::get_if<CandidateRecord>(&record)) add(*finished);
  if (const auto* final = std::get_if<FinalRecord>(&record)) add(*final);
}

void LastFinals::add(const CandidateRecord& record) {
  if (const auto phase = phases_.find(record.problem); phase != phases_.end())
    phase->second.is_over = true;
}

void LastFinals::add(const FinalRecord& record) {
  Phase& phase = phases_[record.problem];
  const bool again = std::ranges::any_of(
      phase.records, [&](const FinalRecord& other) { return same_contestant(other, record); });
  if (phase.is_over || again) phase = {phase.replaced + phase.records.size()};
  phase.records.push_back(record);
}

const std::vector<FinalRecord>& LastFinals::of(const Problem& problem) const {
  static const std::vector<FinalRecord> kNone;
  const auto phase = phases_.find(problem);
  return phase == phases_.end() ? kNone : phase->second.records;
}

std::size_t LastFinals::replaced(const Problem& problem) const {
  const auto phase = phases_.find(problem);
  return phase == phases_.end() ? 0 : phase->second.replaced;
}

}  // namespace fatune
