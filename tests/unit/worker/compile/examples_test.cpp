// examples_test.cpp: Compiles all kernels of examples/, references included, for every
// architecture.
#include <filesystem>
#include <map>

#include <catch2/catch_test_macros.hpp>

#include "model/kernel/candidate.hpp"
#include "model/kernel/kernel.hpp"
#include "model/space/lint.hpp"
#include "model/space/space.hpp"
#include "support/pool_fixture.hpp"
#include "support/temporary_folder.hpp"
#include "tune/evaluate/selftest.hpp"

using namespace fatune;

namespace {

const std::vector<std::string> kArchs = {"sm_75",  "sm_80",  "sm_86", "sm_89",
                                         "sm_90a", "sm_100", "sm_120"};

/// The kernels of one example, without those that are built in.
std::vector<KernelRef> example(const std::string& name) {
  const auto all =
      available_kernels({std::filesystem::path(FATUNE_SOURCE_DIR) / "examples" / name});
  if (!all) FAIL(all.error().message);
  std::vector<KernelRef> custom;
  for (const KernelRef& kernel : *all) {
    if (kernel->manifest.operation->declared() != nullptr) custom.push_back(kernel);
  }
  return custom;
}

struct ExampleAttempt {
  std::string what;
  LaunchPlan plan;
};

Compiled finish(CompilePool& pool, Ticket ticket) {
  while (!pool.ready(ticket)) REQUIRE(pool.pump(std::chrono::seconds(1)));
  return pool.take(ticket);
}

}  // namespace

TEST_CASE("the example has many valid configs for each typical problem, and a clean lint") {
  const auto kernels = example("rmsnorm");
  REQUIRE(kernels.size() == 2);
  for (const KernelRef& kernel : kernels) {
    for (const LintFinding& finding : lint(*kernel)) {
      INFO(finding.where << ": " << finding.message);
      CHECK(finding.severity == Severity::kWarning);
    }
  }
  const Manifest& manifest = kernels[0]->manifest;
  for (const Problem& problem : manifest.operation->declared()->typical_problems(Dtype::kF16)) {
    INFO(describe(problem));
    const auto space = Space::build(kernels[0], problem, *typical_limits(Arch{90, 'a'}));
    REQUIRE(space);
    CHECK(space->size() >= 50);
  }
}

TEST_CASE("every kernel of the example compiles everywhere and needs what its manifest says") {
  const test::TemporaryFolder folder;
  CompilePool pool = test::real_pool(folder.path());
  std::map<Ticket, ExampleAttempt> submitted;
  for (const KernelRef& kernel : example("rmsnorm")) {
    const auto problems = kernel->manifest.operation->declared()->typical_problems(Dtype::kBf16);
    for (const std::string& arch : kArchs) {
      const DeviceLimits limits = *typical_limits(*parse_arch(arch));
      if (!pool.check_arch(limits.arch)) continue;
      const Candidate candidate{kernel, default_config(kernel->manifest), problems.front()};
      const auto plan = launch_plan(candidate, limits);
      REQUIRE(plan);
      const std::string what = kernel->manifest.name + " " + arch;
      submitted[pool.submit(compile_request(candidate, limits))] = {what, *plan};
      if (kernel->manifest.role != Role::kReference) continue;
      for (const char* macro : {"OUT_F32=1", "ROUND_INTERMEDIATES=1"})
        submitted[pool.submit(compile_request(candidate, limits, {macro}))] = {what, *plan};
    }
  }
  REQUIRE_FALSE(submitted.empty());
  for (const auto& [ticket, attempt] : submitted) {
    const Compiled compiled = finish(pool, ticket);
    INFO(attempt.what << "\n" << compiled.problem << "\n" << compiled.log);
    REQUIRE(compiled.ok);
    const StagePlan& stage = attempt.plan.stages.front();
    REQUIRE(compiled.entries.contains(stage.entry));
    const Resources& resources = compiled.entries.at(stage.entry);
    CHECK(resources.static_shared_bytes == stage.static_shared_bytes);
    CHECK(resources.spill_store_bytes + resources.stack_bytes == 0);
  }
}

TEST_CASE("no config of the example spills, at its widest rows") {
  const test::TemporaryFolder folder;
  CompilePool pool = test::real_pool(folder.path());
  const KernelRef kernel = example("rmsnorm").front();
  const DeviceLimits limits = *typical_limits(Arch{90, 'a'});
  const Problem wide = kernel->manifest.operation->declared()->typical_problems(Dtype::kF16).back();
  const auto space = Space::build(kernel, wide, limits);
  REQUIRE(space);
  for (std::uint64_t i = 0; i < space->size(); i += space->size() / 12) {
    const Candidate candidate = space->candidate(space->point(i));
    const auto plan = launch_plan(candidate, limits);
    REQUIRE(plan);
    const auto compiled = pool.compile(compile_request(candidate, limits));
    REQUIRE(compiled);
    INFO(describe(candidate.config) << "\n" << compiled->problem);
    REQUIRE(compiled->ok);
    const Resources& resources = compiled->entries.at("rmsnorm");
    CHECK(resources.spill_store_bytes + resources.stack_bytes == 0);
    CHECK(resources.static_shared_bytes == plan->stages.front().static_shared_bytes);
  }
}

TEST_CASE("every cheat at the example's tensors compiles, in both element types") {
  const test::TemporaryFolder folder;
  CompilePool pool = test::real_pool(folder.path());
  std::map<Ticket, ExampleAttempt> submitted;
  const KernelRef reference = example("rmsnorm").back();
  for (const Dtype dtype : {Dtype::kF16, Dtype::kBf16}) {
    const Problem problem =
        reference->manifest.operation->declared()->typical_problems(dtype).front();
    const auto cheats = cheats_at(problem, reference);
    REQUIRE(cheats);
    CHECK(cheats->size() == 2 + 8 + 2);
    for (const Fixture& cheat : *cheats) {
      const DeviceLimits limits =
          *typical_limits(*parse_arch(dtype == Dtype::kF16 ? "sm_80" : "sm_90"));
      const Candidate candidate{cheat.kernel, cheat.config, problem};
      const auto unsupported = unsupported_reason(cheat.kernel->manifest, problem, limits);
      REQUIRE(unsupported);
      CHECK(unsupported->empty() ==
            (cheat.name != "begins_early" || limits.arch.number == kFirstDependentArch));
      if (!unsupported->empty()) continue;
      const auto plan = launch_plan(candidate, limits);
      REQUIRE(plan);
      submitted[pool.submit(compile_request(candidate, limits))] = {cheat.name, *plan};
    }
  }
  for (const auto& [ticket, attempt] : submitted) {
    const Compiled compiled = finish(pool, ticket);
    INFO(attempt.what << "\n" << compiled.problem << "\n" << compiled.log);
    REQUIRE(compiled.ok);
    for (const StagePlan& stage : attempt.plan.stages) {
      REQUIRE(compiled.entries.contains(stage.entry));
      CHECK(compiled.entries.at(stage.entry).static_shared_bytes == stage.static_shared_bytes);
    }
  }
}
