// test_kernels.hpp: Makes kernels and spaces from axes and rules, without files.
#pragma once

#include <string>
#include <vector>

#include "model/space/space.hpp"

namespace fatune::test {

struct TestAxis {
  std::string name;
  std::string values;         ///< JSON: "[1, 2, 4]"
  std::string default_value;  ///< JSON; empty: the first value
};

struct TestKernel {
  std::string name = "toy";
  std::vector<TestAxis> axes = {};
  std::vector<std::string> rules = {};          ///< constraints; the reason is "rule N of the test"
  std::vector<std::string> problem_rules = {};  ///< rules on supported problems
  std::string role = "attention";
};

KernelRef make_kernel(const TestKernel& description);
/// Returns the typical device of sm_90a.
DeviceLimits test_limits();
/// Returns the problem 4,8,512,64 f16.
Attention test_problem();
/// Builds a space for test_problem() on test_limits().
Space make_space(const TestKernel& description);

}  // namespace fatune::test
