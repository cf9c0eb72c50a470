// aliases_test.cpp - configs of earlier manifests become configs of today's.
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

/// The sample after BLOCK_N was TILE_N, `lanes` became `warp`, and PIPE is gone.
KernelRef renamed() {
  std::string manifest =
      sample_with("\"meaning\": \"keys\"", R"("meaning": "keys", "aliases": ["TILE_N", "TN"])");
  const std::string sums = "\"meaning\": \"who sums\"";
  manifest.replace(manifest.find(sums), sums.size(),
                   sums + R"(, "value_aliases": {"lanes": "warp", "thread": "serial"})");
  const std::string constraints = "\"constraints\"";
  manifest.replace(manifest.find(constraints), constraints.size(),
                   R"("former_parameters": {"PIPE": [1, 2]}, "constraints")");
  return sample_kernel(manifest);
}

/// One that was part of the kernel "sample" while that had PIPE=3.
KernelRef split() {
  std::string manifest =
      sample_with("\"constraints\"", R"("split_from": {"kernel": "sample", "config": {"PIPE": 3}},
      "former_parameters": {"PIPE": [3]}, "constraints")");
  const std::string name = "\"name\": \"sample\"";
  manifest.replace(manifest.find(name), name.size(), R"("name": "sample_three")");
  return sample_kernel(manifest);
}

Json config_of(std::string_view text) { return *parse_json(text, "test"); }

}  // namespace

TEST_CASE("former names and values are today's, in today's order") {
  const KernelRef kernel = renamed();
  const Json former =
      config_of(R"({"EXP2": true, "REDUCE": "lanes", "TILE_N": 16, "PIPE": 2, "BLOCK_M": 64})");
  const Json current = with_current_names(kernel->manifest, former);
  CHECK(dump(current) == R"({"BLOCK_M":64,"BLOCK_N":16,"REDUCE":"warp","EXP2":true})");
  CHECK(with_current_names(kernel->manifest, current) == current);
  const auto config = config_from_json(kernel->manifest, former, "file");
  REQUIRE(config);
  CHECK(describe(*config) == "BLOCK_M=64 BLOCK_N=16 REDUCE=warp EXP2=true");
  CHECK(dump(with_current_names(kernel->manifest, config_of(R"({"TN": 32})"))) ==
        R"({"BLOCK_N":32})");
}

TEST_CASE("a config from before a parameter has the value that says so") {
  const KernelRef kernel =
      sample_kernel(sample_with("\"meaning\": \"keys\"", R"("meaning": "keys", "before": 16)"));
  const Json former = config_of(R"({"BLOCK_M": 64, "REDUCE": "warp", "EXP2": true})");
  const Json current = with_current_names(kernel->manifest, former);
  CHECK(dump(current) == R"({"BLOCK_M":64,"BLOCK_N":16,"REDUCE":"warp","EXP2":true})");
  CHECK(with_current_names(kernel->manifest, current) == current);
}

TEST_CASE("what never was a name or a value is refused as before") {
  const KernelRef kernel = renamed();
  const auto error = [&](std::string_view text) {
    const auto config = config_from_json(kernel->manifest, config_of(text), "file");
    return config ? std::string() : config.error().message;
  };
  const std::string rest = R"("REDUCE": "warp", "EXP2": true, "BLOCK_M": 64})";
  CHECK(error(R"({"TILE_N": 17, )" + rest) ==
        "file: field 'BLOCK_N' is 17, which is not one of 16, 32, 64");
  CHECK(error(R"({"TILE_N": 16, "BLOCK_N": 16, )" + rest).find("'TILE_N' is not a parameter") !=
        std::string::npos);
  CHECK(error(R"({"BLOCK_N": 16, "PIPE": 3, )" + rest).find("'PIPE' is not a parameter") !=
        std::string::npos);
}

TEST_CASE("a config of a kernel that was split is of the one that has it now") {
  const std::vector<KernelRef> kernels = {renamed(), split()};
  const auto updated = [&](std::string kernel, std::string_view text) {
    Json config = config_of(text);
    update_names(kernels, kernel, config);
    return kernel + " " + dump(config);
  };
  CHECK(updated("sample", R"({"BLOCK_M": 64, "PIPE": 3})") == R"(sample_three {"BLOCK_M":64})");
  CHECK(updated("sample", R"({"BLOCK_M": 64, "PIPE": 2, "TN": 16})") ==
        R"(sample {"BLOCK_M":64,"BLOCK_N":16})");
  CHECK(updated("other", R"({"PIPE": 3})") == R"(other {"PIPE":3})");
  CHECK(updated("", "{}") == " {}");  // of a library
}

TEST_CASE("fa_wgmma's former configs, woven ones included") {
  const std::vector<KernelRef> kernels = project_kernels();
  const auto updated = [&](std::string_view text) {
    std::string kernel = "fa_wgmma";
    Json config = config_of(text);
    update_names(kernels, kernel, config);
    return kernel + " " + dump(config);
  };
  const std::string middle =
      R"("PINGPONG":false,"WEIGHTS":"registers","RESCALE":"once","ROW_SUMS":"product","EXP_FMA":0,)"
      R"("KV_ORDER":"forward","GRID_ORDER":"query","SCHEDULER":"none","STORE":"tensor",)"
      R"("PACK_GQA":false,"STAGGER":0,"MIN_CTAS":1,"LAUNCH":"chained"})";
  CHECK(updated(R"({"BLOCK_M":128,"BLOCK_N":64,"KEY_PARTS":1,"CLUSTER":1,"STAGES":8,)"
                R"("LOADER":"self","OVERLAP":"woven",)" +
                middle) ==
        R"(fa_wgmma_interleaved {"BLOCK_M":128,"BLOCK_N":64,"PACK_GQA":false,"CLUSTER_SPLITS":1,)"
        R"("INTRA_CTA_SPLITS":1,"PRODUCER":"none","ROW_SUM":"mma","EX2_EMULATED":0,"MIN_CTAS":1,)"
        R"("GRID_ORDER":"query","L2_SECTION_MB":18,"STORE":"tma","LAUNCH":"chained"})");
  CHECK(updated(R"({"BLOCK_M":192,"BLOCK_N":80,"KEY_PARTS":1,"CLUSTER":2,"STAGES":2,)"
                R"("LOADER":"warpgroup","OVERLAP":"held","PINGPONG":true,"WEIGHTS":"shared",)"
                R"("RESCALE":"lazy","ROW_SUMS":"lanes","EXP_FMA":2,"KV_ORDER":"backward",)"
                R"("GRID_ORDER":"mirror","SCHEDULER":"static","STORE":"rows","PACK_GQA":true,)"
                R"("STAGGER":400,"MIN_CTAS":2,"LAUNCH":"plain"})") ==
        R"(fa_wgmma {"BLOCK_M":192,"BLOCK_N":80,"PACK_GQA":true,"CLUSTER_SPLITS":2,)"
        R"("INTRA_CTA_SPLITS":1,"STAGES":2,"PRODUCER":"warpgroup","INTRA_WG_OVERLAP":"fenced",)"
        R"("PINGPONG":true,"STAGGER":400,"RESCALE":"lazy","EX2_EMULATED":2,"MIN_CTAS":2,)"
        R"("SCHEDULER":"static_persistent","MMA_PV":"ss","KV_ORDER":"backward",)"
        R"("GRID_ORDER":"zigzag","L2_SECTION_MB":18,"STORE":"vectorized","LAUNCH":"plain"})");
}

namespace {

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
  std::size_t read = 0, split = 0, older = 0;
  for (const char* folder : {"results/h200", "configs/known", "configs/recorded"}) {
    for (const auto& [name, text] : configs_in(fs::path(FATUNE_SOURCE_DIR) / folder)) {
      std::string kernel = name;
      Json config = config_of(text);
      update_names(kernels, kernel, config);
      const auto found = std::find_if(kernels.begin(), kernels.end(), [&](const KernelRef& each) {
        return each->manifest.name == kernel;
      });
      INFO(folder << " " << name << " " << text);
      if (kernel == "rmsnorm" || kernel == "rmsnorm_reference") continue;  // of examples/
      REQUIRE(found != kernels.end());
      const auto& parameters = (*found)->manifest.parameters;
      // Of versions whose configs had fewer parameters: a search fills in the defaults.
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
      split += kernel == "fa_wgmma_interleaved" ? 1 : 0;
    }
  }
  CHECK(read > 1000);
  CHECK(split > 100);
  CHECK(older < 20);
}

}  // namespace fatune
