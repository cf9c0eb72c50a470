// source_test.cpp: Tests that exported sources compile to the template's machine code.
#include <catch2/catch_test_macros.hpp>

#include "core/file.hpp"
#include "export/export_kernel.hpp"
#include "export_fixture.hpp"
#include "support/pool_fixture.hpp"
#include "support/temporary_folder.hpp"

using namespace fatune;

namespace {

/// The source alone: no macros, no headers of the project.
CompileRequest request_for(const ExportedKernel& kernel, const Candidate& candidate,
                           const DeviceLimits& limits) {
  return {.label = kernel.name,
          .source = {kernel.name + ".cu", kernel.source},
          .headers = {},
          .macros = {},
          .arch = limits.arch,
          .toolkit_headers = candidate.kernel->manifest.needs_toolkit_headers};
}

}  // namespace

TEST_CASE("the source of every exportable kernel compiles to the same machine code") {
  const test::TemporaryFolder folder;
  CompilePool pool = test::real_pool(folder / "cache");
  Attention causal = test::mission();
  causal.mask = Mask::kCausal;
  causal.dtype = Dtype::kBf16;
  const Attention decode{
      .batch = 8, .heads = 32, .kv_heads = 8, .seq_q = 1, .seq_kv = 4096, .head_dim = 128};
  const std::vector<std::pair<std::string, Attention>> cases = {
      {"naive", causal},  {"fa_rows", causal},  {"fa_tiled", causal}, {"fa_wmma", causal},
      {"fa_mma", causal}, {"fa_split", decode}, {"fa_wgmma", causal}};
  for (const auto& [kernel, problem] : cases) {
    INFO(kernel);
    BestFile saved;
    saved.where = "x.json";
    saved.problems.emplace_back().best.emplace();
    const ExportRequest request{.name = "exported",
                                .candidate = test::default_candidate(kernel, problem),
                                .limits = test::limits_of("sm_90a"),
                                .saved = &saved,
                                .winner = &saved.problems.front(),
                                .unverified = Unverified::kMark,
                                .fatune = "0"};
    const auto exported = export_kernel(request, pool);
    if (!exported) FAIL(exported.error().message);
    if (request.candidate.kernel->manifest.needs_toolkit_headers &&
        !pool.toolchain().headers_problem.empty())
      continue;
    const auto compiled = pool.compile(request_for(*exported, request.candidate, request.limits));
    REQUIRE(compiled);
    INFO(compiled->log);
    REQUIRE(compiled->ok);
    const auto cubin = read_file(compiled->cubin_path);
    REQUIRE(cubin);
    CHECK(*cubin == exported->cubin);
  }
}
