// judge_fakes.hpp: Provides tools that echo, work and fail for tests of dialects and server.
#pragma once

#include <string>
#include <string_view>

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "judge/protocol/server.hpp"

namespace fatune::test {

inline Tool fake_tool(const char* name,
                      std::function<Result<Json>(const Json&, const Heartbeat&)> run) {
  const auto any_object = [] { return Json{{"type", "object"}}; };
  return {name, "", "", any_object, any_object, std::move(run)};
}

/// `echo` gives its arguments, `fail` an error, `work` beats three times; a text at fake://text,
/// and a prompt that greets whom it is told to.
inline Services fake_services() {
  Services services;
  services.tools = {
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
  services.resources.list = [] {
    return std::vector<ResourceDescription>{{"fake://text", "text", "A text", "text/plain"}};
  };
  services.resources.templates = {{"fake://{name}", "any", "A text by its name", "text/plain"}};
  services.resources.read = [](const std::string& uri) -> Result<ResourceText> {
    if (uri == "fake://text") return ResourceText{"text/plain", "hello"};
    return usage_error("there is nothing at " + uri);
  };
  services.prompts = {{"greet",
                       "Greet",
                       "A greeting",
                       {{"whom", "A name", true}},
                       [](const PromptArguments& given) -> Result<std::string> {
                         return "Hello " + given.at("whom");
                       }}};
  return services;
}

inline Json parsed(std::string_view text) {
  INFO(text);
  auto json = parse_json(text, "test");
  REQUIRE(json);
  return *std::move(json);
}

}  // namespace fatune::test
