// kernels_test.cpp: Compiles every kernel for every architecture and checks its manifest.
#include <algorithm>
#include <map>
#include <optional>

#include <catch2/catch_test_macros.hpp>

#include "model/kernel/kernel.hpp"
#include "model/space/rules.hpp"
#include "support/pool_fixture.hpp"
#include "support/temporary_folder.hpp"

using namespace fatune;

namespace {

/// Which architectures a problem is compiled for: all, or one, to keep the test short.
struct Case {
  Attention problem;
  std::vector<std::string> archs;
};

std::vector<Case> cases() {
  const std::vector<std::string> all = {"sm_75",  "sm_80",  "sm_86", "sm_89",
                                        "sm_90a", "sm_100", "sm_120"};
  const Attention usual{.batch = 4, .heads = 8, .kv_heads = 8, .seq_q = 512, .seq_kv = 512};
  Attention wide = usual;
  wide.head_dim = 128;
  wide.mask = Mask::kCausal;
  Attention odd{.batch = 1, .heads = 6, .kv_heads = 2, .seq_q = 17, .seq_kv = 130, .head_dim = 64};
  odd.dtype = Dtype::kBf16;
  odd.mask = Mask::kCausal;
  Attention narrow = usual;
  narrow.dtype = Dtype::kE4m3;
  narrow.out_dtype = Dtype::kBf16;
  Attention fused = wide;
  fused.dtype = Dtype::kE4m3;
  fused.out_dtype = Dtype::kF16;
  fused.quant = Quant::kFused;
  const Attention decode{
      .batch = 8, .heads = 32, .kv_heads = 8, .seq_q = 1, .seq_kv = 4096, .head_dim = 128};
  Attention packed{.batch = 2, .heads = 8, .kv_heads = 2, .seq_q = 48, .seq_kv = 48};
  packed.layouts = *parse_layouts("packed");
  Attention gaps{.batch = 1, .heads = 2, .kv_heads = 2, .seq_q = 40, .seq_kv = 72};
  gaps.layouts = *parse_layouts("q=6400:80:160,k=11520:5760:80,v=12672:88:176,out=6400:72:160");
  return {{usual, all},
          {wide, all},
          {odd, {"sm_90a"}},
          {narrow, {"sm_90a"}},
          {fused, {"sm_90a"}},
          {decode, {"sm_80", "sm_86", "sm_89", "sm_90a"}},
          {packed, {"sm_75", "sm_90a"}},
          {gaps, {"sm_90a"}}};
}

struct Attempt {
  Candidate candidate;
  DeviceLimits limits;
  LaunchPlan plan;
};

std::string describe(const Attempt& attempt) {
  return attempt.candidate.kernel->manifest.name + " " + describe(attempt.candidate.problem) + " " +
         name(attempt.limits.arch);
}

/// The kernel's default config for the problem; nothing when it cannot run there.
std::optional<Attempt> attempt_of(const KernelRef& kernel, const Attention& problem,
                                  const std::string& arch) {
  const auto limits = typical_limits(*parse_arch(arch));
  REQUIRE(limits);
  Attempt attempt{{kernel, default_config(kernel->manifest), problem}, *limits, {}};
  const auto unsupported = unsupported_reason(kernel->manifest, problem, *limits);
  REQUIRE(unsupported);
  if (!unsupported->empty()) return std::nullopt;
  const auto infeasible = infeasible_reason(attempt.candidate, *limits);
  REQUIRE(infeasible);
  if (!infeasible->empty()) return std::nullopt;
  auto plan = launch_plan(attempt.candidate, *limits);
  REQUIRE(plan);
  attempt.plan = *std::move(plan);
  return attempt;
}

std::vector<Attempt> attempts() {
  std::vector<Attempt> all;
  const auto kernels = embedded_kernels();
  REQUIRE(kernels);
  for (const KernelRef& kernel : *kernels) {
    if (kernel->manifest.role == Role::kFault) continue;
    for (const Case& one : cases()) {
      // Kernels of 16 bits are compiled for it as for the problem that is given.
      if (is_fused(one.problem) && !is_for_type(kernel->manifest, one.problem)) continue;
      for (const std::string& arch : one.archs) {
        if (auto attempt = attempt_of(kernel, one.problem, arch))
          all.push_back(*std::move(attempt));
      }
    }
  }
  return all;
}

void check_stage(const StagePlan& stage, const Compiled& compiled) {
  INFO("entry " << stage.entry);
  REQUIRE(compiled.entries.contains(stage.entry));
  const Resources& resources = compiled.entries.at(stage.entry);
  CHECK(resources.registers > 0);
  CHECK(resources.static_shared_bytes == stage.static_shared_bytes);
}

/// Where the macro stands that says a stage's dynamic shared memory to the template: its manifest
/// has it by the name of a term.
std::vector<std::string>::iterator shared_macro(const std::string& term, std::int64_t bytes,
                                                CompileRequest& request) {
  INFO("shared_bytes is " << term << ", " << bytes << " bytes");
  const auto found =
      std::find(request.macros.begin(), request.macros.end(), term + "=" + std::to_string(bytes));
  REQUIRE(found != request.macros.end());
  return found;
}

void check_no_local_memory(const Compiled& compiled) {
  for (const auto& [entry, resources] : compiled.entries) {
    INFO("entry " << entry);
    CHECK(resources.spill_store_bytes == 0);
    CHECK(resources.spill_load_bytes == 0);
    CHECK(resources.stack_bytes == 0);
    CHECK(resources.warnings.empty());
  }
}

}  // namespace

TEST_CASE("every kernel's default config compiles and needs the shared memory its manifest says") {
  const test::TemporaryFolder folder;
  CompilePool pool = test::real_pool(folder.path());
  std::map<Ticket, Attempt> submitted;
  for (Attempt& attempt : attempts()) {
    if (!pool.check_arch(attempt.limits.arch)) continue;
    CompileRequest request = compile_request(attempt.candidate, attempt.limits);
    request.submitted = true;  // none keeps anything of its own
    if (request.toolkit_headers && !pool.toolchain().headers_problem.empty()) continue;
    submitted.emplace(pool.submit(request), std::move(attempt));
  }
  REQUIRE_FALSE(submitted.empty());
  for (const auto& [ticket, attempt] : submitted) {
    while (!pool.ready(ticket)) REQUIRE(pool.pump(std::chrono::seconds(1)));
    const Compiled compiled = pool.take(ticket);
    INFO(describe(attempt) << "\n" << compiled.problem << "\n" << compiled.log);
    CHECK(compiled.ok);
    if (!compiled.ok) continue;
    for (const StagePlan& stage : attempt.plan.stages) {
      if (!stage.gemm) check_stage(stage, compiled);
    }
    if (attempt.candidate.kernel->manifest.tuned_by_default) check_no_local_memory(compiled);
  }
}

TEST_CASE(
    "a launch that asks for other shared memory than the template lays out does not compile") {
  const test::TemporaryFolder folder;
  CompilePool pool = test::real_pool(folder.path());
  std::size_t refused = 0;
  for (const Attempt& attempt : attempts()) {
    const Attention& problem = attempt.candidate.problem.as_attention();
    const bool usual = problem.head_dim == 64 || problem.seq_q == 1;
    if (name(attempt.limits.arch) != "sm_90a" || !usual) continue;
    const Manifest& manifest = attempt.candidate.kernel->manifest;
    for (std::size_t i = 0; i < manifest.stages.size(); ++i) {
      const std::string& term = manifest.stages[i].shared_bytes;
      if (manifest.stages[i].gemm || term == "0") continue;
      INFO(describe(attempt) << " " << manifest.stages[i].entry);
      CompileRequest request = compile_request(attempt.candidate, attempt.limits);
      if (request.toolkit_headers && !pool.toolchain().headers_problem.empty()) continue;
      const std::int64_t bytes = attempt.plan.stages[i].shared_bytes;
      const auto macro = shared_macro(term, bytes, request);
      *macro = term + "=" + std::to_string(bytes > 0 ? bytes - 16 : 16);
      const auto compiled = pool.compile(request);
      REQUIRE(compiled);
      CHECK_FALSE(compiled->ok);
      INFO(compiled->problem);
      CHECK(compiled->problem.find("static assertion failed") != std::string::npos);
      ++refused;
    }
  }
  CHECK(refused >= 9);
}
