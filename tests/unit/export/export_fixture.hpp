// export_fixture.hpp: Provides shipped kernels at their default configs for export tests.
#pragma once

#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "model/kernel/candidate.hpp"
#include "model/kernel/kernel.hpp"

namespace fatune::test {

inline KernelRef shipped_kernel(const std::string& name) {
  const auto kernels = embedded_kernels();
  REQUIRE(kernels);
  for (const KernelRef& kernel : *kernels) {
    if (kernel->manifest.name == name) return kernel;
  }
  FAIL("there is no kernel " << name);
  return nullptr;
}

inline DeviceLimits limits_of(const std::string& arch) {
  const auto limits = typical_limits(*parse_arch(arch));
  REQUIRE(limits);
  return *limits;
}

inline Attention mission() {
  return {.batch = 4, .heads = 8, .kv_heads = 8, .seq_q = 512, .seq_kv = 512};
}

inline Candidate default_candidate(const std::string& name, const Attention& problem) {
  const KernelRef kernel = shipped_kernel(name);
  return {kernel, default_config(kernel->manifest), problem};
}

}  // namespace fatune::test
