// pool_fixture.hpp - pools for tests: with this machine's compiler if it has one, or with a faulty
// one.
#pragma once

#include <filesystem>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "tune/compile/pool.hpp"

namespace fatune::test {

inline gpu::SearchPaths search_paths() {
  return gpu::default_search_paths("", {std::filesystem::path(FATUNE_SOURCE_DIR) / ".deps"});
}

/// Skips the test when this machine has no NVRTC.
inline CompilePool real_pool(const std::filesystem::path& cache, std::size_t jobs = 2) {
  PoolOptions options;
  options.jobs = jobs;
  options.cache = cache;
  options.search = search_paths();
  auto pool = CompilePool::start(options);
  if (!pool && pool.error().kind == ErrorKind::kEnvironment) SKIP(pool.error().message);
  REQUIRE(pool);
  return *std::move(pool);
}

/// Its workers do what the label of a request says: see worker_main.cpp.
inline PoolOptions faulty_options(const std::filesystem::path& cache) {
  PoolOptions options;
  options.jobs = 2;
  options.cache = cache;
  options.search.nvrtc = "faulty-compiler";
  return options;
}

inline CompileRequest request(const std::string& label, const std::string& text) {
  return {.label = label,
          .source = {"test/test.cu", text},
          .headers = {},
          .macros = {},
          .arch = {80, 0},
          .toolkit_headers = false,
          .submitted = false};
}

}  // namespace fatune::test
