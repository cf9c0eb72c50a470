// cubin_census.hpp - a cubin's instructions counted, or why not, as text.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/options/settings.hpp"
#include "tune/profile/census.hpp"

namespace fatune::cli {

struct CubinCensus {
  std::vector<Census> entries;  ///< empty: see reason
  std::string reason;           ///< why nothing was counted
  std::string remedy;
};
/// With the disassembler on PATH or in a CUDA folder; none there, or one that fails, is an outcome.
CubinCensus census_of(const std::filesystem::path& cubin, const Settings& settings);
/// A row for each class of instructions that occurs, a column for each entry.
std::string census_text(const CubinCensus& census, const Paint& paint);

}  // namespace fatune::cli
