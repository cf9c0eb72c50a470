// compile_worker_test.cpp: Checks the command line and the messages between pool and worker.
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "worker/protocol/compilation.hpp"

using namespace fatune;

TEST_CASE("a worker's options survive the command line") {
  WorkerOptions options;
  options.toolchain.nvrtc = {"/opt/cuda/lib64/libnvrtc.so.13", "libnvrtc.so.12"};
  options.toolchain.include_folders = {"/opt/cuda/include", "/opt/with space/include"};
  options.cache = "/opt/me/.cache/fatune";
  const auto copy = from_json<WorkerOptions>(to_json(options), "x");
  REQUIRE(copy);
  CHECK(copy->toolchain.nvrtc == options.toolchain.nvrtc);
  CHECK(copy->toolchain.include_folders == options.toolchain.include_folders);
  CHECK(copy->cache == options.cache);
  CHECK(copy->fallback.empty());
}

TEST_CASE("a worker without a cache's folder is told what is missing") {
  const auto missing = from_json<WorkerOptions>(Json{{"nvrtc", {"x"}}}, "compile-worker");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().message == "compile-worker: field 'cache' is missing");
  const std::vector<std::string> wrong[] = {{}, {"--cache"}, {"{}"}};
  for (const auto& args : wrong) CHECK(compile_worker_main(args) == 2);
}

TEST_CASE("greetings and replies survive JSON") {
  const Greeting greeting{.problem = "",
                          .path = "/lib/libnvrtc.so.13",
                          .version = "13.0.88",
                          .identity = "nvrtc 13.0.88 CL-1",
                          .archs = {75, 90}};
  const auto greeted = from_json<Greeting>(to_json(greeting), "x");
  REQUIRE(greeted);
  CHECK(greeted->version == "13.0.88");
  CHECK(greeted->archs == std::vector{75, 90});
  Json odd = to_json(greeting);
  odd["archs"] = {"sm_90"};
  CHECK_FALSE(from_json<Greeting>(odd, "x"));

  Reply reply;
  reply.compiled.problem = "no";
  reply.cache_problem = "disk full";
  const auto replied = from_json<Reply>(to_json(reply), "x");
  REQUIRE(replied);
  CHECK(replied->compiled.problem == "no");
  CHECK(replied->cache_problem == "disk full");
  CHECK(replied->failure.empty());
}
