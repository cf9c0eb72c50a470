// resume_index.cpp - sorts a journal's records into finished, started and final.
#include "tune/sweep/resume_index.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace fatune {

ResumeIndex::ResumeIndex(const Journal& journal) {
  for (const Record& record : journal.records) {
    if (const auto* started = std::get_if<StartedRecord>(&record)) {
      last_started_ = *started;
    } else if (const auto* finished = std::get_if<CandidateRecord>(&record)) {
      finished_.insert_or_assign(finished->key, *finished);
      last_at_s_ = std::max(last_at_s_, finished->at_s);
    } else if (const auto* final = std::get_if<FinalRecord>(&record)) {
      finals_.push_back(*final);
    } else if (const auto* end = std::get_if<EndRecord>(&record)) {
      last_at_s_ = std::max(last_at_s_, end->seconds);
    }
  }
  const auto* end =
      journal.records.empty() ? nullptr : std::get_if<EndRecord>(&journal.records.back());
  complete_ = end != nullptr && end->status == "complete";
}

std::optional<CandidateRecord> ResumeIndex::find(const Candidate& candidate) const {
  const std::string key = candidate_key(candidate);
  if (const auto found = finished_.find(key); found != finished_.end()) return found->second;
  if (!last_started_ || last_started_->key != key) return std::nullopt;
  CandidateRecord record;
  record.id = last_started_->id;
  record.key = key;
  record.kernel = candidate.kernel->manifest.name;
  record.config = to_json(candidate.config);
  record.problem = candidate.problem;
  record.outcome = Outcome::kCrashed;
  record.reason = "the run ended while this candidate was on the device";
  record.at_s = last_at_s_;
  return record;
}

std::vector<CandidateRecord> ResumeIndex::results(const Problem& problem) const {
  std::vector<CandidateRecord> found;
  for (const auto& [key, record] : finished_) {
    if (record.problem == problem) found.push_back(record);
  }
  return found;
}

std::vector<FinalRecord> ResumeIndex::finals(const Problem& problem) const {
  std::vector<FinalRecord> found;
  for (const FinalRecord& record : finals_) {
    if (record.problem != problem) continue;
    const auto same = std::find_if(found.begin(), found.end(), [&](const FinalRecord& other) {
      return other.impl == record.impl && other.role == record.role &&
             other.config == record.config;
    });
    if (same == found.end()) {
      found.push_back(record);
    } else {
      *same = record;
    }
  }
  return found;
}

}  // namespace fatune
