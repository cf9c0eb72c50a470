// profile.cpp - shares of time, and the fields of a profile.
#include "tune/profile/profile.hpp"

#include <algorithm>

#include "core/fields.hpp"

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

void fields(LaunchShare& x, FieldList& f) {
  f("kernel", x.kernel);
  f("launches", x.launches);
  f("time_us", x.time_us).finite().about("Under replay, with cold caches: never a result");
  f("share", x.share).finite();
}

void fields(Profile& x, FieldList& f) {
  NcuOutcome& outcome = x.outcome;
  const bool counted = outcome.status == ProfileStatus::kProfiled;
  const Counters* launch = longest(outcome.launches);
  f.derived("status", std::string(name(outcome.status)))
      .one_of("profiled, denied, failed, not_run");
  f("reason", outcome.reason).omitted();
  f("remedies", outcome.remedies).omitted();
  f("facts", x.facts);
  f("dropped_metrics", outcome.dropped).absent_if(!counted);
  f.derived("breakdown", breakdown(outcome.launches)).absent_if(!counted);
  f("launches", outcome.launches).absent_if(!counted);
  f.derived("reading", counted && launch != nullptr ? std::optional(read_counters(*launch, x.facts))
                                                    : std::nullopt);
}

}  // namespace fatune
