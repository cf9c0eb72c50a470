// test_kernels.hpp - axes and rules given in place to kernels and spaces, without files.
#pragma once

#include <string>
#include <vector>

#include "model/space/space.hpp"

namespace fatune::test {

struct TestAxis {
  std::string name;
  std::string values;         ///< JSON: "[1, 2, 4]"
  std::string default_value;  ///< JSON; empty: the first value is
};

struct TestKernel {
  std::string name = "toy";
  std::vector<TestAxis> axes = {};
  std::vector<std::string> rules = {};          ///< constraints; the reason is "rule N of the test"
  std::vector<std::string> problem_rules = {};  ///< likewise: what problems it supports
  std::string role = "attention";
};

KernelRef make_kernel(const TestKernel& description);
/// The typical device of sm_90a.
DeviceLimits test_limits();
/// 4,8,512,64 f16.
Problem test_problem();
/// For test_problem() on test_limits().
Space make_space(const TestKernel& description);

}  // namespace fatune::test
