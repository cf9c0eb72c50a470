// implementations_test.cpp: Checks the meaning of implementation names, and unknown names.
#include "tune/evaluate/implementations.hpp"

#include <filesystem>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "support/evaluate_fakes.hpp"

using namespace fatune;
using namespace fatune::test;

namespace {

const Attention kMission{4, 8, 8, 512, 512, 64, Dtype::kF16, Mask::kNone};

std::vector<KernelRef> kernels() {
  return {tiled_kernel("plain", "reference"), tiled_kernel("rows"), tiled_kernel("traps", "fault")};
}

Error refused(const std::string& impl) {
  Status status = check_implementations({"rows", impl}, kernels());
  REQUIRE_FALSE(status);
  return std::move(status).error();
}

}  // namespace

TEST_CASE("every name is a row of the role baseline, in order") {
  const auto rows = baseline_implementations({"torch:flash", "rows", "cudnn"}, kMission, kernels(),
                                             OutsideOptions{});
  REQUIRE(rows);
  REQUIRE(rows->size() == 3);
  for (const Implementation& row : *rows) {
    CHECK(row.role == RowRole::kBaseline);
    CHECK(row.candidate.problem == kMission);
  }
  CHECK((*rows)[0].impl == "torch:flash");
  CHECK((*rows)[1].impl == "rows");
  CHECK((*rows)[2].impl == "cudnn");
}

TEST_CASE("a kernel's name is that kernel with its default config, with or without prefix") {
  const std::string impl = GENERATE("rows", "fatune:rows");
  CHECK(check_implementations({impl}, kernels()));
  const auto rows = baseline_implementations({impl}, kMission, kernels(), {});
  REQUIRE(rows);
  const Implementation& row = rows->front();
  CHECK(row.impl == impl);
  CHECK_FALSE(row.outside);
  REQUIRE(row.candidate.kernel);
  CHECK(row.candidate.kernel->manifest.name == "rows");
  CHECK(to_json(row.candidate.config) == Json{{"TILE", 2}});
}

TEST_CASE("an implementation from elsewhere has settings and no kernel") {
  OutsideOptions options;
  options.python = "/opt/python";
  options.library_folders = {"/opt/cudnn"};
  const auto rows = baseline_implementations({"torch:math", "cudnn:best"}, kMission, {}, options);
  REQUIRE(rows);
  for (const Implementation& row : *rows) {
    CHECK(row.candidate.kernel == nullptr);
    REQUIRE(row.outside);
    CHECK(row.outside->impl == row.impl);
  }
  CHECK((*rows)[0].outside->settings.at("python") == "/opt/python");
  CHECK((*rows)[1].outside->settings.at("library_folders") == Json{"/opt/cudnn"});
}

TEST_CASE("a name that means nothing is a usage error with the nearest") {
  const Error near = refused("row");
  CHECK(near.kind == ErrorKind::kUsage);
  CHECK(near.message == "there is no implementation 'row'; did you mean rows?");
  CHECK(refused("torch_flash").message.find("did you mean torch:flash?") != std::string::npos);
  CHECK_FALSE(baseline_implementations({"row"}, kMission, kernels(), {}));
}

TEST_CASE("a name like no other is a usage error with all there are, but those made to misbehave") {
  const Error far = refused("something_else_entirely");
  CHECK(far.kind == ErrorKind::kUsage);
  CHECK(far.message.find("there are cudnn, ") != std::string::npos);
  CHECK(far.message.find("plain, rows") != std::string::npos);
  CHECK(far.message.find("traps") == std::string::npos);
}

TEST_CASE("a variant that does not exist is a usage error with those that do") {
  const Error error = refused("torch:fast");
  CHECK(error.kind == ErrorKind::kUsage);
  CHECK(error.message.find("flash, cudnn, efficient, math, auto") != std::string::npos);
}

TEST_CASE("a function of the user's is a name of its file and itself") {
  const std::string file = GENERATE("mine.py", "some folder/mine.py", "/opt/mine.py");
  const auto rows =
      baseline_implementations({"python:" + file + ":attend"}, kMission, kernels(), {});
  REQUIRE(rows);
  CHECK(rows->front().impl == "python:mine:attend");
  CHECK(rows->front().outside->impl == "python:mine:attend");
  CHECK(rows->front().outside->settings.at("backend") ==
        "python:" + std::filesystem::absolute(file).string() + ":attend");
  CHECK(check_implementations({"python:mine.py:attend", "python:mine.py:other"}, {}));
}

TEST_CASE("a python: name without file or function, or that is another's, is a usage error") {
  for (const char* name : {"python:", "python:mine.py", "python::attend", "python:mine.py:"}) {
    CHECK(refused(name).message ==
          "'" + std::string(name) + "' is no python:FILE:FUNCTION, as in python:mine.py:attend");
  }
  const Status twice =
      check_implementations({"python:a/mine.py:attend", "python:mine.py:attend"}, {});
  REQUIRE_FALSE(twice);
  CHECK(twice.error().kind == ErrorKind::kUsage);
  CHECK(twice.error().message ==
        "python:a/mine.py:attend and python:mine.py:attend are both python:mine:attend in "
        "records; rename a file or function");
  CHECK(refused("external:fa3").message ==
        "'external:fa3': external programs are retired; use python:FILE:FUNCTION");
}
