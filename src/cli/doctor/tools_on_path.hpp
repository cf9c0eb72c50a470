// tools_on_path.hpp - finds NVIDIA's command-line tools that fatune can use but does not need.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/settings.hpp"

namespace fatune::cli {

struct OptionalTool {
  std::string name;
  std::string purpose;  ///< "checks winners for races"
};
std::vector<OptionalTool> optional_tools();
/// On PATH, or in bin/ of a CUDA folder.
std::optional<std::filesystem::path> find_tool(const std::string& name, const Settings& settings);

}  // namespace fatune::cli
