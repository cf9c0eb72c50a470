// yardstick_test.cpp: Checks what is said of kernels that are their own reference.
#include <catch2/catch_test_macros.hpp>

#include "cli/commands/ready_sweep.hpp"

namespace fatune::cli {

TEST_CASE("a tuned reference agrees with its default config, and is not called verified") {
  Kernel kernel;
  kernel.manifest.name = "add";
  const auto notice = [&] { return yardstick_notice({std::make_shared<const Kernel>(kernel)}); };
  kernel.manifest.parameters.emplace_back();
  CHECK(notice().empty());
  kernel.manifest.role = Role::kReference;
  CHECK(notice().empty());  // attention's is checked in fp64
  kernel.manifest.operation = std::make_shared<const DeclaredOperation>();
  CHECK(notice() == "Outputs of add agree with those of the default config; there is no reference");
  kernel.manifest.parameters.clear();  // the yardstick of others
  CHECK(notice().empty());
}

}  // namespace fatune::cli
