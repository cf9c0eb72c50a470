// suite_choice.hpp - the configs that serve a whole suite, and those that were turned down.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/results/record.hpp"

namespace fatune {

struct SuiteConfig {
  std::string kernel;
  Json config = Json::object();
  /// Geometric mean over the problems it did, of the default config's time over its own; empty
  /// where there is none to compare with.
  std::optional<double> speedup;
  std::vector<std::string> problems;  ///< where it is the one to use
  std::string turned_down;            ///< why; empty: chosen
};

struct SuiteChoice {
  std::vector<std::string> order;    ///< the problems, as they were searched and raced
  std::vector<SuiteConfig> configs;  ///< chosen ones first
};
void fields(SuiteConfig& x, FieldList& f);
void fields(SuiteChoice& x, FieldList& f);

}  // namespace fatune
