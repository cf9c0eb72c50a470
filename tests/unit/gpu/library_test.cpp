// library_test.cpp: Tests the search for libraries and the error when none is found.
#include "gpu/library.hpp"

#include <catch2/catch_test_macros.hpp>

#include "core/file.hpp"
#include "support/temporary_folder.hpp"

using namespace fatune;

namespace {

void make(const std::filesystem::path& folder) { REQUIRE(make_directories(folder)); }

}  // namespace

TEST_CASE("a library that is not there is an error that lists every place tried") {
  std::vector<gpu::TriedPlace> tried;
  const auto library = gpu::Library::open({"libfatune-no-such.so.1", "/no/such/lib.so"}, &tried);
  REQUIRE_FALSE(library);
  CHECK(library.error().kind == ErrorKind::kEnvironment);
  CHECK(library.error().message.find("libfatune-no-such.so.1") != std::string::npos);
  CHECK(library.error().message.find("/no/such/lib.so") != std::string::npos);
  REQUIRE(tried.size() == 2);
  CHECK_FALSE(tried[0].problem.empty());
}

TEST_CASE("an open library gives its symbols") {
  const auto library = gpu::Library::open({"libfatune-no-such.so.1", "libc.so.6"});
  REQUIRE(library);
  CHECK(library->path() == "libc.so.6");
  CHECK(library->symbol("fatune_no_such_symbol") == nullptr);
  const auto absolute = library->function<int (*)(int)>("abs");
  REQUIRE(absolute != nullptr);
  CHECK(absolute(-3) == 3);
}

TEST_CASE("tried places are listed one a line") {
  CHECK(gpu::describe({{"a.so", "no such file"}, {"b.so", ""}}) ==
        "  a.so: no such file\n  b.so: opened");
  CHECK(gpu::describe(std::vector<gpu::TriedPlace>{}).empty());
}

TEST_CASE("the wheels of both CUDA generations are found in a site-packages folder") {
  const test::TemporaryFolder site;
  make(site / "nvidia/cu13/lib");
  make(site / "nvidia/cuda_nvrtc/lib");
  make(site / "nvidia/cudnn/lib");
  CHECK(gpu::wheel_roots(site.path()) ==
        std::vector{site / "nvidia/cu13", site / "nvidia/cuda_nvrtc"});
  CHECK(gpu::wheel_roots(site / "absent").empty());
}

TEST_CASE("CUDA_HOME comes first, then the folders named, then the system's") {
  const test::TemporaryFolder folder;
  make(folder / "home");
  make(folder / "deps/cuda/nvidia/cu13/include");
  make(folder / "toolkit/include");
  const auto search =
      gpu::default_search_paths((folder / "home").string(), {folder / "deps", folder / "toolkit"});
  REQUIRE(search.cuda_roots.size() >= 3);
  CHECK(search.cuda_roots[0] == folder / "home");
  CHECK(search.cuda_roots[1] == folder / "deps/cuda/nvidia/cu13");
  CHECK(search.cuda_roots[2] == folder / "toolkit");
  CHECK(search.nvrtc.empty());
  CHECK(gpu::default_search_paths("/no/such/folder", {}).cuda_roots.size() ==
        search.cuda_roots.size() - 3);
}
