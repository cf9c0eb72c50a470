// catalog_test.cpp: Checks typed lists of implementations and their rows of a problem.
#include "cli/options/catalog.hpp"

#include <catch2/catch_test_macros.hpp>

namespace fatune::cli {
namespace {

using Names = std::vector<std::string>;

Names parsed(const std::string& text) {
  auto names = parse_implementations("--baselines", text);
  REQUIRE(names);
  return *names;
}

std::vector<KernelRef> built_in() {
  auto kernels = load_catalog(Settings{});
  REQUIRE(kernels);
  return *kernels;
}

TEST_CASE("a list of implementations is split, each name once") {
  CHECK(parsed("naive,cudnn,torch:flash") == Names{"naive", "cudnn", "torch:flash"});
  CHECK(parsed("cudnn,naive,cudnn") == Names{"cudnn", "naive"});
  CHECK(parsed("none").empty());
  const std::string norm = "F.rms_norm(x, (COLUMNS,), weight[0, :], 1e-6)";
  CHECK(parsed("torch:" + norm + ",torch.compile:" + norm + ",naive") ==
        Names{"torch:" + norm, "torch.compile:" + norm, "naive"});
}

TEST_CASE("an empty name is a usage error that names the option") {
  for (const char* text : {"", "naive,,cudnn", "naive,"}) {
    const auto names = parse_implementations("--impl", text);
    REQUIRE_FALSE(names);
    CHECK(names.error().kind == ErrorKind::kUsage);
    CHECK(names.error().message.starts_with("--impl: "));
  }
}

TEST_CASE("the reference has its own row in every final phase and gets no second one") {
  const auto catalog = built_in();
  const auto reference = reference_kernel(catalog);
  REQUIRE(reference);
  CHECK(names_reference({"cudnn", "naive"}, *reference));
  CHECK_FALSE(names_reference({"cudnn"}, *reference));
  const auto make =
      make_baselines({"naive", "cudnn", "torch:flash"}, *reference, catalog, Settings{});
  REQUIRE(make);
  const auto rows = (*make)(Attention{});
  REQUIRE(rows);
  REQUIRE(rows->size() == 2);
  CHECK((*rows)[0].impl == "cudnn");
  CHECK((*rows)[1].impl == "torch:flash");
}

TEST_CASE("a name that means nothing is an error before the first problem") {
  const auto catalog = built_in();
  const auto make =
      make_baselines({"naive", "cuddn"}, *reference_kernel(catalog), catalog, Settings{});
  REQUIRE_FALSE(make);
  CHECK(make.error().kind == ErrorKind::kUsage);
  CHECK(make.error().message.find("did you mean cudnn?") != std::string::npos);
}

}  // namespace
}  // namespace fatune::cli
