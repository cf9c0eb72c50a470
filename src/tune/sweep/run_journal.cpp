// run_journal.cpp: Indexes records by candidate and problem, and appends under a lock.
#include "tune/sweep/run_journal.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace fatune {

ResumeIndex::ResumeIndex(const Journal& journal) {
  for (const Record& record : journal.records) {
    const auto* started = std::get_if<StartedRecord>(&record);
    if (started != nullptr && started->problem)
      last_started_.insert_or_assign(*started->problem, *started);
    add(record);
    const auto* end = std::get_if<EndRecord>(&record);
    complete_ = end != nullptr && end->status == "complete";
  }
}

void ResumeIndex::add(const Record& record) {
  note_span(record);
  finals_.add(record);
  last_at_s_ = std::max(last_at_s_, moment_of(record));
  if (const auto* finished = std::get_if<CandidateRecord>(&record))
    finished_.insert_or_assign(finished->key, *finished);
}

/// Without a `begin` record, a problem begins at the record before its first one.
void ResumeIndex::note_span(const Record& record) {
  const Problem* const problem = problem_of(record);
  if (problem == nullptr) return;
  const auto* begin = std::get_if<BeginRecord>(&record);
  const double begin_s = begin != nullptr ? begin->at_s : last_at_s_;
  Span& span = spans_.try_emplace(*problem, Span{begin_s, begin_s, begin != nullptr}).first->second;
  if (begin == nullptr) span.last_s = std::max(span.last_s, moment_of(record));
}

std::optional<CandidateRecord> ResumeIndex::find(const Candidate& candidate) const {
  const std::string key = candidate_key(candidate);
  if (const auto found = finished_.find(key); found != finished_.end()) return found->second;
  const StartedRecord* const last = suspect(candidate.problem);
  if (last == nullptr || last->key != key || !last->again) return std::nullopt;
  CandidateRecord record = new_record(candidate, last->id);
  record.outcome = Outcome::kCrashed;
  record.reason = "the run ended twice while this candidate was on the device";
  record.at_s = last_at_s_;
  return record;
}

const StartedRecord* ResumeIndex::suspect(const Problem& problem) const {
  const auto last = last_started_.find(problem);
  const bool unfinished = last != last_started_.end() && !finished_.contains(last->second.key);
  return unfinished ? &last->second : nullptr;
}

std::vector<CandidateRecord> ResumeIndex::results(const Problem& problem) const {
  std::vector<CandidateRecord> found;
  for (const auto& [key, record] : finished_) {
    if (record.problem == problem) found.push_back(record);
  }
  std::ranges::stable_sort(found, {}, &CandidateRecord::at_s);
  return found;
}

const ResumeIndex::Span* ResumeIndex::span(const Problem& problem) const {
  const auto found = spans_.find(problem);
  return found == spans_.end() ? nullptr : &found->second;
}

Status RunJournal::append(const Record& record) {
  const std::lock_guard lock(mutex_);
  FATUNE_TRY_STATUS(writer_.append(record));
  known_.add(record);
  new_finals_ = new_finals_ || std::holds_alternative<FinalRecord>(record);
  return {};
}

Status RunJournal::append(Record record, double at_s) {
  if (double* const own = time_of(record)) *own = at_s;
  return append(record);
}

std::optional<StartedRecord> RunJournal::suspect(const Problem& problem) const {
  const std::lock_guard lock(mutex_);
  const StartedRecord* const found = known_.suspect(problem);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

std::optional<ResumeIndex::Span> RunJournal::span(const Problem& problem) const {
  const std::lock_guard lock(mutex_);
  const ResumeIndex::Span* const found = known_.span(problem);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

}  // namespace fatune
