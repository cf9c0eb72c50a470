// export_kernel_test.cpp: Tests when machine code counts as verified.
#include "export/export_kernel.hpp"

#include <catch2/catch_test_macros.hpp>

#include "export_fixture.hpp"
#include "support/custom_operation.hpp"
#include "support/pool_fixture.hpp"
#include "support/temporary_folder.hpp"
#include "worker/protocol/compilation.hpp"

using namespace fatune;

namespace {

constexpr const char* kIdentity = "nvrtc 13.0.88 CL-1";

/// A best.json whose only config is fa_mma's default on an H200, verified, as it is now.
struct Fixture {
  BestFile saved;
  ExportRequest request;

  Fixture() {
    request.name = "x";
    request.candidate = test::default_candidate("fa_mma", test::mission());
    request.limits = test::limits_of("sm_90a");
    saved.where = "best.json";
    saved.head.command = "fatune sweep --shape 4,8,512,64";
    saved.device.emplace();
    saved.device->device_name = "NVIDIA H200";
    saved.device->limits.arch = request.limits.arch;
    saved.device->nvrtc = "13.0.88";
    BestProblem& problem = saved.problems.emplace_back();
    problem.problem = test::mission();
    BestRow& best = problem.best.emplace();
    best.kernel = "fa_mma";
    best.text_hash = request.candidate.kernel->text_hash;
    best.id = candidate_id(request.candidate, id_options(request.limits.arch, kIdentity));
    best.hot.emplace().median_us = 8.6;
    best.verification.emplace().passed = true;
    problem.gate = Gate{.baseline = "cudnn", .ratio = {0.9, 0.89, 0.91}};
    request.saved = &saved;
    request.winner = &problem;
  }
  Fixture(const Fixture&) = delete;
  Fixture& operator=(const Fixture&) = delete;

  BestRow& winner() { return *saved.problems.front().best; }
  std::string change(const std::string& version = "13.0.88",
                     const std::string& identity = kIdentity) const {
    const auto changes = changes_since(request, version, identity);
    return changes.empty() ? "" : changes.front();
  }
};

}  // namespace

TEST_CASE("what has not changed has no changes") {
  Fixture fixture;
  CHECK(fixture.change().empty());
  fixture.winner().text_hash.clear();  // as older files are
  CHECK(fixture.change().empty());
}

TEST_CASE("each change since the measurement is named") {
  {
    Fixture fixture;
    fixture.winner().text_hash = std::string(64, '0');
    CHECK(fixture.change() == "the text of fa_mma has changed since");
  }
  {
    Fixture fixture;
    fixture.winner().text_hash.clear();
    fixture.winner().id = "0000000000000000";
    CHECK(fixture.change().find("the text of fa_mma or the compiler has changed since") !=
          std::string::npos);
  }
  {
    Fixture fixture;
    fixture.winner().id.clear();
    CHECK(fixture.change() == "it has no id to compare with");
    fixture.winner().verification.reset();
    CHECK_FALSE(fixture.change().empty());  // the time could be another config's
    fixture.winner().hot.reset();
    CHECK(fixture.change().empty());  // a config alone claims nothing
  }
  {
    Fixture fixture;
    CHECK(fixture.change("13.1.2", "nvrtc 13.1.2") == "NVRTC was 13.0.88 and is 13.1.2");
    CHECK_FALSE(fixture.change("13.0.88", "nvrtc 13.0.88 CL-2").empty());
  }
  {
    Fixture fixture;
    fixture.request.limits = test::limits_of("sm_80");
    CHECK(fixture.change() == "it was measured on sm_90a, not sm_80");
  }
  {
    Fixture fixture;
    fixture.request.candidate.problem.as_attention().batch = 2;
    CHECK(fixture.change() == "it was measured for 4,8,512,64 f16");
  }
}

TEST_CASE("unverified machine code is refused, or marked and without a time") {
  const test::TemporaryFolder folder;
  CompilePool pool = test::real_pool(folder / "cache");
  Fixture fixture;
  fixture.saved.device->nvrtc = "12.0.1";
  const auto refused = export_kernel(fixture.request, pool);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::kUsage);
  CHECK(refused.error().message.find("best.json") != std::string::npos);
  CHECK(refused.error().message.find("--unverified") != std::string::npos);
  fixture.request.unverified = Unverified::kMark;
  const auto marked = export_kernel(fixture.request, pool);
  REQUIRE(marked);
  CHECK_FALSE(marked->facts.verified);
  CHECK_FALSE(marked->facts.measured);
  CHECK(marked->source.find("NOT VERIFIED") != std::string::npos);
}

TEST_CASE("a verified config keeps its time, and a skipped gate is named") {
  const test::TemporaryFolder folder;
  CompilePool pool = test::real_pool(folder / "cache");
  Fixture fixture;
  fixture.saved.device->nvrtc = pool.compiler_version();
  fixture.winner().id = candidate_id(
      fixture.request.candidate, id_options(fixture.request.limits.arch, pool.compiler_identity()));
  const auto exported = export_kernel(fixture.request, pool);
  if (!exported) FAIL(exported.error().message);
  CHECK(exported->facts.verified);
  REQUIRE(exported->facts.measured);
  CHECK(exported->facts.measured->hot_us == 8.6);
  CHECK(exported->facts.id == fixture.winner().id);
  CHECK(exported->facts.cubin.bytes == static_cast<std::int64_t>(exported->cubin.size()));
  CHECK_FALSE(exported->facts.measured->time);
  fixture.winner().in_layer = fixture.winner().hot;
  fixture.winner().in_layer->median_us = 9.5;
  fixture.saved.problems.front().gate->time = Time::kInLayer;
  const auto ranked = export_kernel(fixture.request, pool);
  if (!ranked) FAIL(ranked.error().message);
  CHECK(describe_measured(ranked->facts).starts_with("9.50 us in layer, 0.900 of"));
  CHECK_THAT(describe_measured(ranked->facts), Catch::Matchers::ContainsSubstring("; 8.6 us hot"));
  fixture.winner().verification->skipped = true;
  const auto skipped = export_kernel(fixture.request, pool);
  REQUIRE_FALSE(skipped);
  CHECK(skipped.error().message.find("--skip-correctness") != std::string::npos);
}

TEST_CASE("an architecture that the kernel cannot take is a usage error with the reason") {
  const test::TemporaryFolder folder;
  CompilePool pool = test::real_pool(folder / "cache");
  Fixture fixture;
  fixture.request.candidate = test::default_candidate("fa_wgmma", test::mission());
  fixture.request.limits = test::limits_of("sm_80");
  fixture.request.unverified = Unverified::kMark;
  const auto exported = export_kernel(fixture.request, pool);
  REQUIRE_FALSE(exported);
  CHECK(exported.error().kind == ErrorKind::kUsage);
  CHECK(exported.error().message.find("sm_80") != std::string::npos);
}

TEST_CASE("static shared memory is that of the machine code") {
  const test::TemporaryFolder folder;
  CompilePool pool = test::real_pool(folder / "cache");
  const KernelRef declared = test::custom_kernels().front();
  auto kernel = std::make_shared<Kernel>(*declared);
  kernel->source.text =
      "__global__ void scale_main(const float* x, const float* w, float* y, float* sums) {"
      "__shared__ float s[64]; s[threadIdx.x] = *x; __syncthreads(); *y = s[3]; }";
  for (const char* arch : {"sm_80", "sm_90a"}) {
    Fixture fixture;
    fixture.request.candidate = {kernel, default_config(kernel->manifest),
                                 test::custom_test_problem()};
    fixture.request.limits = test::limits_of(arch);
    fixture.request.unverified = Unverified::kMark;
    const auto exported = export_kernel(fixture.request, pool);
    if (!exported) FAIL(exported.error().message);
    CHECK(exported->facts.stages.front().entry.starts_with("_Z10scale_main"));
    CHECK(exported->facts.stages.front().static_shared_bytes == 256);
  }
}
