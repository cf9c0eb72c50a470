// toolchain_test.cpp: Tests the choice of NVRTC and headers among prepared folders.
#include <catch2/catch_test_macros.hpp>

#include "core/file.hpp"
#include "gpu/library.hpp"
#include "support/temporary_folder.hpp"

using namespace fatune;

namespace {

namespace fs = std::filesystem;

void touch(const fs::path& file, const std::string& text = "") {
  REQUIRE(make_directories(file.parent_path()));
  REQUIRE(replace_file(file, text));
}

void make_headers(const fs::path& include) {
  for (const char* header : {"cuda_fp16.h", "mma.h", "crt/mma.h"}) touch(include / header, header);
}

}  // namespace

TEST_CASE("of several NVRTC files the newest comes first, others are left out") {
  const test::TemporaryFolder folder;
  for (const char* name : {"libnvrtc.so", "libnvrtc.so.12", "libnvrtc.so.13", "libnvrtc.alt.so.13",
                           "libnvrtc-builtins.so.13.0", "libnvrtc.so.bak", "libcudart.so.13"}) {
    touch(folder / name);
  }
  CHECK(nvrtc_files(folder.path()) ==
        std::vector{folder / "libnvrtc.so.13", folder / "libnvrtc.so.12", folder / "libnvrtc.so"});
  CHECK(builtins_beside(folder / "libnvrtc.so.13") == folder / "libnvrtc-builtins.so.13.0");
  CHECK(nvrtc_files(folder / "absent").empty());
  CHECK(builtins_beside("libnvrtc.so.13").empty());
}

TEST_CASE("roots are searched in order, the loader's path after them") {
  const test::TemporaryFolder folder;
  touch(folder / "one/lib64/libnvrtc.so.12");
  touch(folder / "two/lib/libnvrtc.so.13");
  make_headers(folder / "one/include");
  make_headers(folder / "two/include");
  const auto found = find_toolchain({.nvrtc = {}, .cuda_roots = {folder / "one", folder / "two"}});
  REQUIRE(found.nvrtc.size() == 5);
  CHECK(found.nvrtc[0] == folder / "one/lib64/libnvrtc.so.12");
  CHECK(found.nvrtc[1] == folder / "two/lib/libnvrtc.so.13");
  CHECK(found.nvrtc[2] == "libnvrtc.so.13");
  REQUIRE_FALSE(found.include_folders.empty());
  CHECK(found.include_folders[0] == folder / "one/include");
  CHECK(found.headers_problem.empty());
}

TEST_CASE("the nvrtc flag names a file or a folder, and then nothing else is tried") {
  const test::TemporaryFolder folder;
  touch(folder / "named/libnvrtc.so.13");
  touch(folder / "root/lib64/libnvrtc.so.12");
  make_headers(folder / "root/include");
  const std::vector<fs::path> roots = {folder / "root"};
  const std::vector<fs::path> wanted = {folder / "named/libnvrtc.so.13"};
  CHECK(find_toolchain({.nvrtc = wanted[0], .cuda_roots = roots}).nvrtc == wanted);
  CHECK(find_toolchain({.nvrtc = folder / "named", .cuda_roots = roots}).nvrtc == wanted);
  CHECK(find_toolchain({.nvrtc = folder / "root", .cuda_roots = roots}).nvrtc ==
        std::vector{folder / "root/lib64/libnvrtc.so.12"});
  touch(folder / "site/nvidia/cu13/lib/libnvrtc.so.13");
  CHECK(find_toolchain({.nvrtc = folder / "site", .cuda_roots = roots}).nvrtc ==
        std::vector{folder / "site/nvidia/cu13/lib/libnvrtc.so.13"});
  CHECK(find_toolchain({.nvrtc = folder / "empty.so", .cuda_roots = roots}).nvrtc ==
        std::vector{folder / "empty.so"});
}

TEST_CASE(
    "headers come from the root of the library if it has them, spread over wheels if need be") {
  const test::TemporaryFolder folder;
  make_headers(folder / "toolkit/include");
  touch(folder / "wheel/nvrtc/lib/libnvrtc.so.12");
  touch(folder / "wheel/runtime/include/cuda_fp16.h");
  touch(folder / "wheel/runtime/include/mma.h");
  touch(folder / "wheel/nvcc/include/crt/mma.h");
  const auto spread = find_toolchain(
      {.nvrtc = {},
       .cuda_roots = {folder / "wheel/nvrtc", folder / "wheel/runtime", folder / "wheel/nvcc"}});
  REQUIRE(spread.include_folders.size() >= 2);
  CHECK(spread.include_folders[0] == folder / "wheel/runtime/include");
  CHECK(spread.include_folders[1] == folder / "wheel/nvcc/include");

  make_headers(folder / "wheel/nvrtc/include");
  const auto own = find_toolchain(
      {.nvrtc = folder / "wheel/nvrtc/lib/libnvrtc.so.12", .cuda_roots = {folder / "toolkit"}});
  REQUIRE_FALSE(own.include_folders.empty());
  CHECK(own.include_folders[0] == folder / "wheel/nvrtc/include");
}

TEST_CASE("the headers' identity follows their content, and that of what they include") {
  const test::TemporaryFolder folder;
  Toolchain toolchain;
  toolchain.include_folders = {folder.path()};
  const auto identity = [&] { return headers_identity(toolchain, {"cuda_fp16.h"}); };
  const std::string none = identity();
  touch(folder / "cuda_fp16.h", "#if 0\n#include \"crt/part.h\"\n#endif\n");
  const std::string one = identity();
  CHECK(one != none);
  touch(folder / "crt/part.h", "#include <deep.h>\n#include \"part.h\"");
  const std::string two = identity();
  CHECK(two != one);
  touch(folder / "deep.h", "x");
  const std::string three = identity();
  CHECK(three != two);
  touch(folder / "other.h", "y");
  CHECK(identity() == three);
  touch(folder / "deep.h", "z");
  CHECK(identity() != three);
}
