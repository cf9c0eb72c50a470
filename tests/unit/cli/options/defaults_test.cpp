// defaults_test.cpp: Checks that the user's defaults become options which typed options replace.
#include "cli/options/defaults.hpp"

#include <catch2/catch_test_macros.hpp>

namespace fatune::cli {
namespace {

using Words = std::vector<std::string>;

constexpr const char* kFile = R"(# every command that has them
device = "cuda:1"
quiet = true
kernel-dir = ["mine", "theirs"]
[sweep]
budget = "60s"
baselines = ["cudnn", "torch:flash"]
[kernels.lint]
arch = "sm_80"
)";

Result<Words> added(Words words, const std::string& text = kFile) {
  return with_defaults(std::move(words), describe_fatune(), text, "config.toml");
}

TEST_CASE("defaults become options of the commands that have them") {
  CHECK(*added({"sweep", "--shape", "4,8,512,64"}) ==
        Words{"sweep", "--device=cuda:1", "--quiet", "--kernel-dir=mine", "--kernel-dir=theirs",
              "--budget=60s", "--baselines=cudnn,torch:flash", "--shape", "4,8,512,64"});
  CHECK(*added({"kernels", "lint", "own"}) == Words{"kernels", "lint", "--quiet",
                                                    "--kernel-dir=mine", "--kernel-dir=theirs",
                                                    "--arch=sm_80", "own"});
  CHECK(*added({"--version"}) == Words{"--version"});
}

TEST_CASE("a typed option replaces its default") {
  CHECK(*added({"sweep", "-q", "--budget=5", "--kernel-dir", "x", "--device", "none", "--baselines",
                "none"}) == Words{"sweep", "-q", "--budget=5", "--kernel-dir", "x", "--device",
                                  "none", "--baselines", "none"});
}

TEST_CASE("a default that names nothing is an error") {
  CHECK(added({"sweep"}, "bugdet = 5").error().message ==
        "config.toml: 'bugdet' is no option of any command");
  CHECK(added({"sweep"}, "[sweep]\nto = \"header\"").error().message ==
        "config.toml: 'to' is no option of sweep");
  CHECK(added({"sweep"}, "[sweeps]\nbudget = 5").error().message ==
        "config.toml: [sweeps] is no command");
}

}  // namespace
}  // namespace fatune::cli
