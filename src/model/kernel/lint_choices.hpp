// lint_choices.hpp - finds parameters whose 'when' says nothing; private to space/.
#pragma once

#include <vector>

#include "model/kernel/manifest.hpp"
#include "model/problem/problem.hpp"
#include "model/space/lint.hpp"

namespace fatune {

/// Notes what the rules of every 'when' are, over problems, devices and configs.
class ChoiceCheck {
 public:
  /// The manifest must outlive it.
  explicit ChoiceCheck(const Manifest& manifest);
  void look(const Problem& problem, const DeviceLimits& limits);
  /// One for each rule that was always true, or never: for no config of no problem.
  std::vector<LintFinding> findings() const;

 private:
  struct Seen {
    std::size_t parameter, rule;
    bool holds = false, broken = false;
  };
  const Manifest& manifest_;
  std::vector<Seen> seen_;  ///< in the order of parameters and their rules
};

}  // namespace fatune
