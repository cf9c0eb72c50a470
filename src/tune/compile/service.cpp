// service.cpp - waits for tickets; a list of guesses, and the tickets of those that were begun.
#include "tune/compile/service.hpp"

#include <algorithm>
#include <utility>

namespace fatune {

Result<Compiled> wait_for(CompileService& service, Ticket ticket) {
  while (!service.ready(ticket)) FATUNE_TRY_STATUS(service.pump(std::chrono::milliseconds(100)));
  return service.take(ticket);
}

CompileAhead::CompileAhead(CompileService& compiler, DeviceLimits limits)
    : compiler_(compiler), limits_(std::move(limits)) {}

void CompileAhead::want(std::vector<Candidate> likely) {
  std::reverse(likely.begin(), likely.end());
  wanted_ = std::move(likely);
}

Status CompileAhead::begin(std::size_t keep_free) {
  const std::size_t before = begun_;
  while (!wanted_.empty() && compiler_.idle() > keep_free) {
    const Candidate candidate = std::move(wanted_.back());
    wanted_.pop_back();
    const std::string key = candidate_key(candidate);
    if (tickets_.contains(key)) continue;
    tickets_[key] = compiler_.submit(compile_request(candidate, limits_));
    ++begun_;
  }
  return begun_ == before ? Status() : compiler_.pump(std::chrono::milliseconds(0));
}

std::optional<Ticket> CompileAhead::claim(const std::string& key) {
  std::erase_if(wanted_,
                [&](const Candidate& candidate) { return candidate_key(candidate) == key; });
  const auto found = tickets_.extract(key);
  if (found.empty()) return std::nullopt;
  ++claimed_;
  return found.mapped();
}

void CompileAhead::clear() {
  for (const auto& [key, ticket] : tickets_) compiler_.cancel(ticket);
  tickets_.clear();
  wanted_.clear();
  begun_ = claimed_ = 0;
}

}  // namespace fatune
