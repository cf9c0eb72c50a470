// pool_fixture.hpp: Opens compile pools for tests, with a real or a faulty compiler.
#pragma once

#include <filesystem>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "tune/compile/pool.hpp"

namespace fatune::test {

inline gpu::SearchPaths search_paths() {
  return gpu::default_search_paths("", {std::filesystem::path(FATUNE_SOURCE_DIR) / ".deps"});
}

/// Opens a pool, or skips the test if this machine has no NVRTC.
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

/// Options for workers that fail as a request's label says: see worker_main.cpp.
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
