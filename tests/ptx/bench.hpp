// bench.hpp: Holds the workbench that tests interpret kernels on, and the references of problems.
#pragma once

#include <map>
#include <utility>

#include <catch2/catch_test_macros.hpp>

#include "ptx/judge.hpp"
#include "ptx/workbench.hpp"

namespace fatune::test {

/// Opened once; skips the test on a machine without NVRTC.
inline const ptx::Workbench& bench() {
  static const Result<ptx::Workbench> opened = ptx::Workbench::open("sm_90a");
  if (!opened && opened.error().kind == ErrorKind::kEnvironment) SKIP(opened.error().message);
  if (!opened) FAIL(opened.error().message);
  return *opened;
}

/// References are made once for all kernels that a problem has.
inline const ptx::Expected& expected_of(const Attention& problem,
                                        Distribution inputs = Distribution::kNormal) {
  static std::map<std::pair<Attention, Distribution>, ptx::Expected> known;
  const auto found = known.find({problem, inputs});
  if (found != known.end()) return found->second;
  auto made = ptx::expect(bench().setting(), *bench().kernel("naive"), problem, {inputs});
  if (!made) FAIL(made.error().message);
  return known.emplace(std::pair(problem, inputs), *std::move(made)).first->second;
}

}  // namespace fatune::test
