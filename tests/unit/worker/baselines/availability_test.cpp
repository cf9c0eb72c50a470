// availability_test.cpp: Checks the reports on available and missing implementations.
#include <algorithm>

#include <catch2/catch_test_macros.hpp>

#include "core/file.hpp"
#include "support/temporary_folder.hpp"
#include "worker/baselines/outside.hpp"

using namespace fatune;

namespace {

void make_program(const std::filesystem::path& path, const std::string& line) {
  REQUIRE(replace_file(path, "#!/bin/sh\n" + line + "\n"));
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
}

Availability row(const std::vector<Availability>& all, const std::string& impl) {
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const Availability& each) { return each.impl == impl; });
  REQUIRE(found != all.end());
  return *found;
}

}  // namespace

TEST_CASE("each implementation from elsewhere is found, or told what it lacks") {
  const test::TemporaryFolder folder;
  OutsideOptions options;
  options.python = "no-such-python";
  options.program_folders = {folder.path()};
  const auto without = availability(options);
  CHECK(without.front().impl == "cudnn");
  CHECK(row(without, "cublas").found.starts_with("cuBLAS "));
  // Beside this program there is one or none: either way it has its row.
  const Availability cutensor = row(without, "cutensor");
  CHECK(cutensor.available == cutensor.remedy.empty());
  CHECK(cutensor.found.starts_with(cutensor.available ? "cuTENSOR 2." : "cuTENSOR 2 could not be"));
  const Availability no_torch = row(without, "torch:*");
  CHECK_FALSE(no_torch.available);
  CHECK(no_torch.found == "there is no program no-such-python on PATH");
  CHECK(no_torch.remedy.starts_with("install PyTorch with CUDA"));
  CHECK(row(without, "flashinfer").found == "it runs beside PyTorch, which cannot be used");
  options.python = "snake";
  make_program(folder / "snake",
               "echo '{\"ok\": true, \"torch\": \"9.9\", \"cudnn\": \"\"}'; read -r rest");
  const auto with = availability(options);
  CHECK(row(with, "torch:*").available);
  CHECK(row(with, "torch:*").found == "PyTorch 9.9 of " + (folder / "snake").string());
  CHECK_FALSE(row(with, "flashinfer").available);
  CHECK(row(with, "fa4").found.ends_with("snake has no FlashAttention-4"));
  CHECK(row(with, "flashinfer").remedy.ends_with("snake -I -m pip install flashinfer-python"));
}
