// judge_fakes.hpp - tools that echo, work and fail, for tests of dialects and of the server.
#pragma once

#include <string>
#include <string_view>

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "judge/protocol/dialect.hpp"

namespace fatune::test {

inline Tool fake_tool(const char* name,
                      std::function<Result<Json>(const Json&, const Heartbeat&)> run) {
  const auto any_object = [] { return Json{{"type", "object"}}; };
  return {name, "", "", any_object, any_object, std::move(run)};
}

/// `echo` gives its arguments, `fail` an error, `work` beats three times.
inline Toolbox fake_tools() {
  return {
      fake_tool("echo", [](const Json& given, const Heartbeat&) { return Result<Json>(given); }),
      fake_tool("fail",
                [](const Json&, const Heartbeat&) -> Result<Json> {
                  return usage_error("arguments: field 'x' is missing");
                }),
      fake_tool("work", [](const Json&, const Heartbeat& beat) -> Result<Json> {
        for (const char* phase : {"compiling", "compiling", "verifying"})
          FATUNE_TRY_STATUS(beat(phase));
        return Json{{"worked", true}};
      })};
}

inline Json parsed(std::string_view text) {
  INFO(text);
  auto json = parse_json(text, "test");
  REQUIRE(json);
  return *std::move(json);
}

}  // namespace fatune::test
