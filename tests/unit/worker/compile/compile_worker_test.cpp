// compile_worker_test.cpp: Checks the command line and the messages between pool and worker.
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "worker/protocol/compilation.hpp"

using namespace fatune;

TEST_CASE("a worker without a cache's folder is told what is missing") {
  const auto missing = read_value<WorkerOptions>(Json{{"nvrtc", {"x"}}}, "compile-worker");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().message == "compile-worker: field 'cache' is missing");
  const std::vector<std::string> wrong[] = {{}, {"--cache"}, {"{}"}};
  for (const auto& args : wrong) CHECK(compile_worker_main(args) == 2);
}
