// committed_configs_test.cpp: Checks that committed configs are configs of today's kernels.
#include <filesystem>
#include <set>

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "core/file.hpp"
#include "model/kernel/kernel.hpp"
#include "support/sample_kernel.hpp"

namespace fatune {
namespace {

namespace fs = std::filesystem;

/// Every {"kernel": ..., "config": {...}} in it, at any depth.
void collect_configs(const Json& json, std::set<std::pair<std::string, std::string>>& found) {
  if (json.is_object()) {
    const auto kernel = json.find("kernel");
    const auto config = json.find("config");
    if (kernel != json.end() && kernel->is_string() && !kernel->get<std::string>().empty() &&
        config != json.end() && config->is_object() && !config->empty())
      found.emplace(kernel->get<std::string>(), dump(*config));
  }
  if (!json.is_structured()) return;
  for (const Json& item : json) collect_configs(item, found);
}

/// JSON and journals, gzipped or not, of a folder and below.
std::set<std::pair<std::string, std::string>> configs_in(const fs::path& folder) {
  std::set<std::pair<std::string, std::string>> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".json")) {
      collect_configs(*load_json(entry.path()), found);
    } else if (name.ends_with(".jsonl.gz")) {
      std::istringstream lines(*read_file(entry.path(), kLargeFile));
      for (std::string line; std::getline(lines, line);) {
        if (const auto json = parse_json(line, name)) collect_configs(*json, found);
      }
    }
  }
  return found;
}

}  // namespace

TEST_CASE("every committed config of a project kernel is one of today's kernels") {
  const std::vector<KernelRef> kernels = project_kernels();
  std::size_t read = 0, older = 0;
  for (const char* folder : {"results/h200", "configs/known", "configs/recorded"}) {
    for (const auto& [name, text] : configs_in(fs::path(FATUNE_SOURCE_DIR) / folder)) {
      const Json config = *parse_json(text, name);
      const auto found = std::find_if(kernels.begin(), kernels.end(), [&](const KernelRef& each) {
        return each->manifest.name == name;
      });
      INFO(folder << " " << name << " " << text);
      if (name == "rmsnorm" || name == "rmsnorm_reference") continue;  // of examples/
      REQUIRE(found != kernels.end());
      const auto& parameters = (*found)->manifest.parameters;
      // Configs of older versions have fewer parameters: a search fills in the defaults.
      if (!std::all_of(parameters.begin(), parameters.end(), [&](const Parameter& parameter) {
            return config.contains(parameter.name);
          })) {
        ++older;
        continue;
      }
      const auto parsed = config_from_json((*found)->manifest, config, name);
      INFO((parsed ? "" : parsed.error().message));
      REQUIRE(parsed);
      CHECK(to_json(*parsed) == config);
      ++read;
    }
  }
  CHECK(read > 1000);
  CHECK(older < 20);
}

}  // namespace fatune
