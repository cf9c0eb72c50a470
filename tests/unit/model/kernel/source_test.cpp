// source_test.cpp: Checks which kernels are available when a user's folder is added.
#include <algorithm>

#include <catch2/catch_test_macros.hpp>

#include "core/file.hpp"
#include "model/kernel/kernel.hpp"
#include "support/temporary_folder.hpp"

using namespace fatune;

namespace {

KernelRef find(const std::vector<KernelRef>& kernels, const std::string& name) {
  for (const auto& kernel : kernels) {
    if (kernel->manifest.name == name) return kernel;
  }
  return nullptr;
}

std::string manifest(const std::string& name, const std::string& summary) {
  return R"({"schema": "fatune.kernel/1", "name": ")" + name + R"(", "summary": ")" + summary +
         R"(", "source": "mine.cu", "supports": {"dtypes": ["f16"], "masks": ["none"]},
  "parameters": [{"name": "BLOCK_M", "values": [64, 128], "default": 64, "meaning": "rows"}],
  "stages": [{"entry": "mine", "grid": ["1", "1", "1"], "block": ["BLOCK_M", "1", "1"],
              "arguments": ["q", "k", "v", "out"]}]})";
}

void write_kernel(const std::filesystem::path& folder, const std::string& manifest_text) {
  REQUIRE(make_directories(folder / "mine"));
  REQUIRE(replace_file(folder / "mine/mine.cu", "#include \"common/prelude.cuh\"\n"));
  REQUIRE(replace_file(folder / "mine/mine.json", manifest_text));
}

}  // namespace

TEST_CASE("every embedded kernel loads, and one of them is the reference") {
  const auto kernels = embedded_kernels();
  REQUIRE(kernels);
  CHECK(find(*kernels, "naive") != nullptr);
  CHECK(std::count_if(kernels->begin(), kernels->end(), [](const KernelRef& kernel) {
          return kernel->manifest.role == Role::kReference;
        }) == 1);
  const auto all = available_kernels({});
  REQUIRE(all);
  CHECK(all->size() == kernels->size());
}

TEST_CASE("a user's kernel joins the embedded ones and may use their shared headers") {
  const test::TemporaryFolder folder;
  write_kernel(folder.path(), manifest("mine", "my own"));
  const auto kernels = available_kernels({folder.path()});
  REQUIRE(kernels);
  const KernelRef mine = find(*kernels, "mine");
  REQUIRE(mine);
  REQUIRE_FALSE(mine->headers.empty());
  CHECK(mine->headers[0].path == "common/prelude.cuh");
  CHECK(find(*kernels, "naive") != nullptr);
  CHECK(std::is_sorted(kernels->begin(), kernels->end(), [](const auto& a, const auto& b) {
    return a->manifest.name < b->manifest.name;
  }));
}

TEST_CASE("a user's kernel and header replace those of the same name") {
  const test::TemporaryFolder folder;
  write_kernel(folder.path(), manifest("naive", "replaced"));
  REQUIRE(make_directories(folder / "common"));
  REQUIRE(replace_file(folder / "common/prelude.cuh", "// mine\n"));
  const auto kernels = available_kernels({folder.path()});
  REQUIRE(kernels);
  const KernelRef replaced = find(*kernels, "naive");
  REQUIRE(replaced);
  CHECK(replaced->manifest.summary == "replaced");
  REQUIRE(replaced->headers.size() == 1);
  CHECK(replaced->headers[0].text == "// mine\n");
}

TEST_CASE("a broken folder is an error that names it") {
  CHECK_FALSE(available_kernels({"/no/such/folder"}));
  const test::TemporaryFolder folder;
  write_kernel(folder.path(), "{");
  const auto broken = available_kernels({folder.path()});
  REQUIRE_FALSE(broken);
  CHECK(broken.error().message.find("mine.json") != std::string::npos);
}
