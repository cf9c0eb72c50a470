// cubin_census.hpp - a cubin's instructions counted, or why not, as text and JSON.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/options/settings.hpp"
#include "core/json.hpp"
#include "tune/profile/census.hpp"

namespace fatune::cli {

struct CubinCensus {
  std::vector<Census> entries;  ///< empty: see reason
  std::string reason;           ///< why nothing was counted
  std::string remedy;
};
/// With the disassembler on PATH or in a CUDA folder; none there, or one that fails, is an outcome.
CubinCensus census_of(const std::filesystem::path& cubin, const Settings& settings);
/// {"status":"counted","entries":[...]}, or "not_run" with reason and remedy.
Json to_json(const CubinCensus& census);
/// A row for each class of instructions that occurs, a column for each entry.
std::string census_text(const CubinCensus& census, const Paint& paint);

}  // namespace fatune::cli
