// compile_worker_test.cpp - checks the command line and the messages between pool and worker.
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
  const auto copy = parse_worker_arguments(to_arguments(options));
  REQUIRE(copy);
  CHECK(copy->toolchain.nvrtc == options.toolchain.nvrtc);
  CHECK(copy->toolchain.include_folders == options.toolchain.include_folders);
  CHECK(copy->cache == options.cache);
  CHECK(copy->fallback.empty());
}

TEST_CASE("wrong arguments of a worker are usage errors") {
  const auto parse = [](std::vector<std::string> args) { return parse_worker_arguments(args); };
  CHECK_FALSE(parse({"--cache"}));
  CHECK_FALSE(parse({"--nvrtc", "x"}));
  const auto unknown = parse({"--cache", "/c", "--what", "x"});
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().kind == ErrorKind::kUsage);
  CHECK(unknown.error().message == "compile-worker: unknown flag --what");
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
