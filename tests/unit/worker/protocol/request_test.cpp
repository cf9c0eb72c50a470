// request_test.cpp: Checks the compiler's options and the contents of the cache key.
#include <algorithm>
#include <functional>

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "worker/protocol/compilation.hpp"

using namespace fatune;

namespace {

CompileRequest sample() {
  return {.label = "k BLOCK_M=64",
          .source = {"k/k.cu", "#include \"common/a.cuh\"\n"},
          .headers = {{"common/a.cuh", "int a;"}},
          .macros = {"BLOCK_M=64", "SEQ_Q=512"},
          .arch = {90, 'a'},
          .toolkit_headers = false};
}

}  // namespace

TEST_CASE("the options name target, language and every macro") {
  const auto options = compile_options(sample());
  const auto has = [&](const char* option) {
    return std::find(options.begin(), options.end(), option) != options.end();
  };
  CHECK(has("--gpu-architecture=sm_90a"));
  CHECK(has("--std=c++17"));
  CHECK(has("--ptxas-options=-v"));
  CHECK(has("--define-macro=BLOCK_M=64"));
  CHECK(has("--define-macro=SEQ_Q=512"));
}

TEST_CASE("everything that decides the machine code is in the key, the label is not") {
  const std::string key = cache_key(sample(), "nvrtc 13.0.88");
  CHECK(key.size() == 64);
  CHECK(cache_key(sample(), "nvrtc 13.0.88") == key);
  CHECK(cache_key(sample(), "nvrtc 13.0.89") != key);
  const std::vector<std::function<void(CompileRequest&)>> changes = {
      [](CompileRequest& r) { r.source.text += " "; },
      [](CompileRequest& r) { r.headers[0].text += " "; },
      [](CompileRequest& r) { r.headers.clear(); },
      [](CompileRequest& r) { r.macros[0] = "BLOCK_M=128"; },
      [](CompileRequest& r) { std::swap(r.macros[0], r.macros[1]); },
      [](CompileRequest& r) { r.arch.suffix = 0; },
      [](CompileRequest& r) { r.toolkit_headers = true; },
  };
  for (const auto& change : changes) {
    CompileRequest request = sample();
    change(request);
    CHECK(cache_key(request, "nvrtc 13.0.88") != key);
  }
  CompileRequest renamed = sample();
  renamed.label = "other";
  CHECK(cache_key(renamed, "nvrtc 13.0.88") == key);
}
