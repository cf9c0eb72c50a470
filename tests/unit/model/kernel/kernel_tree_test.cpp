// kernel_tree_test.cpp: Checks that the shipped kernels load, have configs and pass the lint.
#include <algorithm>
#include <filesystem>

#include <catch2/catch_test_macros.hpp>

#include "model/space/lint.hpp"
#include "model/space/space.hpp"
#include "support/sample_kernel.hpp"

namespace fatune {
namespace {

TEST_CASE("every kernel's space for the mission shape has configs and a default") {
  std::size_t built = 0;
  for (const KernelRef& kernel : project_kernels()) {
    if (kernel->manifest.role == Role::kFault) continue;
    for (const char* arch : {"80", "86", "89", "90a"}) {
      const DeviceLimits limits = limits_of(arch);
      const auto unsupported = unsupported_reason(kernel->manifest, kMission, limits);
      REQUIRE(unsupported);
      if (!unsupported->empty()) continue;
      const auto space = Space::build(kernel, kMission, limits);
      INFO(kernel->manifest.name << " on sm_" << arch << ": "
                                 << (space ? "" : space.error().message));
      REQUIRE(space);
      CHECK(space->size() > 0);
      REQUIRE(space->default_point());
      CHECK(launch_plan(space->candidate(*space->default_point()), limits));
      ++built;
    }
  }
  CHECK(built > 0);
}

TEST_CASE("the decoding kernel's space is neither tiny nor endless, and has a default") {
  const Attention decode{
      .batch = 8, .heads = 32, .kv_heads = 8, .seq_q = 1, .seq_kv = 32768, .head_dim = 128};
  const auto kernels = project_kernels();
  const auto found = std::find_if(kernels.begin(), kernels.end(), [](const KernelRef& kernel) {
    return kernel->manifest.name == "fa_split";
  });
  REQUIRE(found != kernels.end());
  const DeviceLimits limits = limits_of("90a");
  const auto space = Space::build(*found, decode, limits);
  INFO((space ? "" : space.error().message));
  REQUIRE(space);
  CHECK(space->size() >= 200);
  CHECK(space->size() <= 5000);
  REQUIRE(space->default_point());
  CHECK(launch_plan(space->candidate(*space->default_point()), limits));
  const auto prefill = unsupported_reason((*found)->manifest, kMission, limits);
  REQUIRE(prefill);
  CHECK(prefill->find("SEQ_Q <= 64") != std::string::npos);
}

TEST_CASE("every kernel of the project says what it, its parameters and its rules are") {
  for (const KernelRef& kernel : project_kernels()) {
    const Manifest& manifest = kernel->manifest;
    INFO(manifest.name);
    CHECK_FALSE(manifest.summary.empty());
    CHECK(std::ranges::none_of(manifest.parameters, &std::string::empty, &Parameter::meaning));
    CHECK(std::ranges::none_of(manifest.terms, &std::string::empty, &Term::meaning));
    for (const auto* rules : {&manifest.constraints, &manifest.problem_rules})
      CHECK(std::ranges::none_of(*rules, &std::string::empty, &Rule::why));
  }
}

TEST_CASE("every kernel of the project passes the static lint") {
  for (const KernelRef& kernel : project_kernels()) {
    for (const LintFinding& finding : lint(*kernel)) {
      INFO(finding.where << ": " << finding.message);
      CHECK(finding.severity == Severity::kWarning);
    }
  }
}

TEST_CASE("fault fixtures say what becomes of them") {
  for (const KernelRef& kernel : project_kernels()) {
    INFO(kernel->manifest.where);
    const auto declares = [](const Parameter& parameter) { return !parameter.faults.empty(); };
    CHECK((kernel->manifest.role == Role::kFault) ==
          std::ranges::any_of(kernel->manifest.parameters, declares));
  }
}

}  // namespace
}  // namespace fatune
