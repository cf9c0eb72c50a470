// profile.cpp - shares of time, and the JSON object of a profile.
#include "tune/profile/profile.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace fatune {

std::vector<LaunchShare> breakdown(const std::vector<Counters>& launches) {
  std::vector<LaunchShare> shares;
  double total = 0;
  for (const Counters& launch : launches) {
    if (!launch.time_us) return {};
    total += *launch.time_us;
    auto known = std::find_if(shares.begin(), shares.end(), [&](const LaunchShare& share) {
      return share.kernel == launch.kernel;
    });
    if (known == shares.end()) known = shares.insert(shares.end(), {launch.kernel});
    ++known->launches;
    known->time_us += *launch.time_us;
  }
  for (LaunchShare& share : shares) share.share = total > 0 ? share.time_us / total : 0;
  std::stable_sort(shares.begin(), shares.end(), [](const LaunchShare& a, const LaunchShare& b) {
    return a.time_us > b.time_us;
  });
  return shares;
}

const Counters* longest(const std::vector<Counters>& launches) {
  const auto found =
      std::max_element(launches.begin(), launches.end(), [](const Counters& a, const Counters& b) {
        return a.time_us.value_or(0) < b.time_us.value_or(0);
      });
  return found == launches.end() ? nullptr : &*found;
}

Json profile_json(const LaunchFacts& facts, const NcuOutcome& outcome) {
  Json object = {{"status", name(outcome.status)}};
  if (!outcome.reason.empty()) object["reason"] = outcome.reason;
  if (!outcome.remedies.empty()) object["remedies"] = outcome.remedies;
  object["facts"] = to_json(facts);
  if (outcome.status != ProfileStatus::kProfiled) return object;
  object["dropped_metrics"] = outcome.dropped;
  object["breakdown"] = Json::array();
  for (const LaunchShare& share : breakdown(outcome.launches)) {
    object["breakdown"].push_back({{"kernel", share.kernel},
                                   {"launches", share.launches},
                                   {"time_us", share.time_us},
                                   {"share", share.share}});
  }
  object["launches"] = Json::array();
  for (const Counters& launch : outcome.launches) object["launches"].push_back(to_json(launch));
  if (const Counters* launch = longest(outcome.launches))
    object["reading"] = to_json(read_counters(*launch, facts));
  return object;
}

}  // namespace fatune
