// availability.hpp - what to look for of implementations from elsewhere, and what was found.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "core/result.hpp"

namespace fatune {

/// What implementations from elsewhere need from the user's side; filled by cli/.
struct OutsideOptions {
  std::string python = "python3";                       ///< with PyTorch, for torch:*
  std::vector<std::filesystem::path> library_folders;   ///< looked in before the loader's own path
  std::vector<std::filesystem::path> external_folders;  ///< descriptions NAME.json of externals
  std::vector<std::filesystem::path> program_folders;   ///< PATH, split
};

struct Availability {
  std::string impl;  ///< "cudnn", "torch:*", "external:fa3"
  bool available = false;
  std::string found;   ///< version or place; else what is missing
  std::string remedy;  ///< empty when available
};

/// The device worker's order to look, {"t":"availability",...}, and its answer.
Json availability_order(const OutsideOptions& options);
Result<OutsideOptions> availability_order_from_json(const Json& message);
Json availability_reply(const std::vector<Availability>& found);
Result<std::vector<Availability>> availability_from_json(const Json& message);

}  // namespace fatune
