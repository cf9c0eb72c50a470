// import_test.cpp: Tests the mapping of other tuners' configs to a kernel's parameters.
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "sample_files.hpp"
#include "search/datasets/spaces.hpp"

using namespace fatune;
using test::recording_of;

namespace {

Parameter numbers(const std::string& name, std::vector<std::int64_t> values) {
  Parameter parameter;
  parameter.name = name;
  for (const std::int64_t value : values)
    parameter.values.push_back({Value::Kind::kNumber, value, {}});
  return parameter;
}

Manifest sample_manifest() {
  Manifest manifest;
  Parameter reduce;
  reduce.name = "REDUCE";
  reduce.values = {{Value::Kind::kWord, 0, "warp"}, {Value::Kind::kWord, 1, "block"}};
  Parameter flag;
  flag.name = "FLAG";
  flag.values = {{Value::Kind::kBoolean, 0, {}}, {Value::Kind::kBoolean, 1, {}}};
  manifest.parameters = {numbers("BLOCK_M", {64, 128}), reduce, flag, numbers("STAGES", {2, 1})};
  return manifest;
}

std::string cache(const std::string& keys, const std::string& entries) {
  return R"({"tune_params_keys": [)" + keys + R"(], "cache": {)" + entries + "}}";
}

}  // namespace

TEST_CASE("the best configs that map are taken, what they lack at its default") {
  const Recording recording =
      recording_of(cache(R"("BLOCK_M", "FLAG", "REDUCE", "PRECISION")",
                         R"("256,1,warp,32": {"time": 1}, "128,1,block,32": {"time": 3},
               "64,0,warp,32": {"time": 2}, "64,1,block,32": {"time": "RuntimeFailedConfig"})"));
  const ImportedConfigs imported = import_configs(recording, sample_manifest(), 5);
  REQUIRE(imported.configs.size() == 2);
  CHECK(dump(imported.configs[0]) == R"({"BLOCK_M":64,"REDUCE":"warp","FLAG":false,"STAGES":2})");
  CHECK(dump(imported.configs[1]) == R"({"BLOCK_M":128,"REDUCE":"block","FLAG":true,"STAGES":2})");
  CHECK(imported.note ==
        "2 of 4 configs; 1 better ones have values that it has not, as "
        "BLOCK_M=256");
  CHECK(import_configs(recording, sample_manifest(), 1).configs.size() == 1);
}

TEST_CASE("a recording of other parameters gives nothing, and the note says why") {
  const auto note = [](const std::string& keys, const std::string& entries) {
    return import_configs(recording_of(cache(keys, entries)), sample_manifest(), 5).note;
  };
  CHECK(note(R"("BLOCK_M", "TILE")", R"("64,1": {"time": 1}, "64,2": {"time": 1})") ==
        "none: it has no parameter TILE");
  CHECK(note(R"("TILE")", R"("1": {"time": 1})") == "none: they share no parameter");
}
