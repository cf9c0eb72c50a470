// portfolio.cpp - adds the config that helps most, again and again.
#include "search/strategies/portfolio.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.hpp"

namespace fatune {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();
constexpr double kGain = 1e-12;  // of the mean log ratio: below it two portfolios are equals

/// log(cost / least cost of the problem) for each config and problem; kNone where it failed.
std::vector<std::vector<double>> log_ratios(std::span<const SuiteEntry> configs) {
  const std::size_t problems = configs.empty() ? 0 : configs.front().costs.size();
  std::vector<std::vector<double>> ratios(configs.size(), std::vector<double>(problems, kNone));
  for (std::size_t p = 0; p < problems; ++p) {
    double least = kNone;
    for (const SuiteEntry& config : configs) {
      FATUNE_CHECK(config.costs.size() == problems, "every config has a place for each problem");
      least = std::min(least, config.costs[p].value_or(kNone));
    }
    for (std::size_t c = 0; c < configs.size(); ++c) {
      if (const auto& cost = configs[c].costs[p]) ratios[c][p] = std::log(*cost / least);
    }
  }
  return ratios;
}

/// How well a portfolio does: by problems served, then by the mean of their log ratios.
struct PortfolioScore {
  std::size_t served = 0;
  double mean = 0;

  bool better_than(const PortfolioScore& other) const {
    return served != other.served ? served > other.served : mean < other.mean - kGain;
  }
};

/// Of the portfolio with these log ratios, and of one more config.
PortfolioScore score_with(const std::vector<double>& present, const std::vector<double>& added) {
  PortfolioScore score;
  double sum = 0;
  for (std::size_t p = 0; p < present.size(); ++p) {
    const double ratio = std::min(present[p], added[p]);
    if (ratio == kNone) continue;
    ++score.served;
    sum += ratio;
  }
  if (score.served > 0) score.mean = sum / static_cast<double>(score.served);
  return score;
}

bool named_before(const SuiteEntry& a, const SuiteEntry& b) {
  return a.kernel + ' ' + describe_config(a.config) < b.kernel + ' ' + describe_config(b.config);
}

}  // namespace

Portfolio choose_portfolio(std::span<const SuiteEntry> configs, std::size_t count) {
  const std::vector<std::vector<double>> ratios = log_ratios(configs);
  const std::size_t problems = configs.empty() ? 0 : configs.front().costs.size();
  Portfolio portfolio;
  portfolio.served.resize(problems);
  std::vector<double> present(problems, kNone);
  PortfolioScore reached;
  while (portfolio.chosen.size() < count) {
    std::optional<std::size_t> best;
    PortfolioScore best_score = reached;
    for (std::size_t c = 0; c < configs.size(); ++c) {
      const PortfolioScore score = score_with(present, ratios[c]);
      const bool equal = best && !best_score.better_than(score);
      if (score.better_than(best_score) || (equal && named_before(configs[c], configs[*best]))) {
        best = c;
        best_score = score;
      }
    }
    if (!best) break;
    reached = best_score;
    portfolio.chosen.push_back({*best, std::exp(reached.mean), reached.served});
    for (std::size_t p = 0; p < problems; ++p) {
      if (ratios[*best][p] >= present[p]) continue;
      present[p] = ratios[*best][p];
      portfolio.served[p] = {*best, std::exp(present[p])};
    }
  }
  return portfolio;
}

}  // namespace fatune
