// batched_gemm_test.cpp: Checks where the libraries of matrix products are searched.
#include "worker/baselines/batched_gemm.hpp"

#include <catch2/catch_test_macros.hpp>

#include "core/file.hpp"
#include "support/temporary_folder.hpp"

using namespace fatune;

TEST_CASE("a library is looked for in toolkits, by name and in wheels, newest version first") {
  const test::TemporaryFolder folder;
  const auto root = folder.path() / "cuda", site = folder.path() / "site";
  std::filesystem::create_directories(root / "lib64");
  std::filesystem::create_directories(site / "nvidia/cublas/lib");
  REQUIRE(replace_file(root / "lib64/libx.so.13", ""));
  REQUIRE(replace_file(site / "nvidia/cublas/lib/libx.so.12", ""));
  const GemmLibraryNames names = {
      "x", {"libx.so.13", "libx.so.12"}, {"nvidia/cu13/lib", "nvidia/cublas/lib"}, "install x"};
  CHECK(gemm_library_files(names, {root}, {site}) ==
        std::vector<std::string>{(root / "lib64/libx.so.13").string(), "libx.so.13", "libx.so.12",
                                 (site / "nvidia/cublas/lib/libx.so.12").string()});

  const GemmLibraryNames absent = {
      "Xyz", {"libfatune_no_such_library.so"}, {"nvidia/xyz/lib"}, "install it with xyz"};
  const auto opened = open_gemm_library(absent);
  REQUIRE_FALSE(opened);
  CHECK(opened.error().kind == ErrorKind::kEnvironment);
  CHECK(opened.error().message.find("Xyz could not be opened; tried:\n  "
                                    "libfatune_no_such_library.so: ") != std::string::npos);
  CHECK(opened.error().message.ends_with("\ninstall it with xyz"));
}
