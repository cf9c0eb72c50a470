// data_file_test.cpp: Checks that files of elements are read, and that others are refused.
#include "model/problem/data_file.hpp"

#include <cstring>

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

#include "core/file.hpp"
#include "support/temporary_folder.hpp"

using namespace fatune;

namespace {

const TensorPlan kTensor{"x", std::nullopt, {2, 3}, false, {Fill::Kind::kFile}};
constexpr float kElements[] = {1, -2, 0.5, 4, 1e-9F, 6};

std::string elements() { return {reinterpret_cast<const char*>(kElements), sizeof kElements}; }

/// Returns numpy's magic, a version and a header, as numpy.save writes them.
std::string numpy(const std::string& header, char version = 1) {
  std::string text = "\x93NUMPY" + std::string{version, '\0'};
  text += static_cast<char>(header.size());
  text.append(version == 1 ? 1 : 3, '\0');
  return text + header;
}

std::string header(std::string_view type = "<f4", std::string_view shape = "(2, 3)",
                   std::string_view fortran = "False") {
  return fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}\n", type, fortran,
                     shape);
}

class Files {
 public:
  /// Returns the elements of a file with this text, or the fault without the file's path.
  std::string read(const std::string& text, const TensorPlan& tensor = kTensor) const {
    REQUIRE(replace_file(file_, text));
    const auto bytes = read_data(file_, tensor);
    if (!bytes) return bytes.error().message.substr(file_.string().size() + 1);
    return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
  }

 private:
  test::TemporaryFolder folder_;
  std::filesystem::path file_ = folder_ / "x.npy";
};

}  // namespace

TEST_CASE("elements come from numpy's files of any version, or bytes alone") {
  const Files files;
  CHECK(files.read(elements()) == elements());
  CHECK(files.read(numpy(header()) + elements()) == elements());
  CHECK(files.read(numpy(header(), 2) + elements()) == elements());
  CHECK(files.read(numpy(header("<f4", "(6,)")) + elements()) == elements());
  const TensorPlan one{"x", std::nullopt, {1}, false, {}};
  CHECK(files.read(numpy(header("<f4", "()")) + elements().substr(0, 4), one) ==
        elements().substr(0, 4));
}

TEST_CASE("a file of another type, order or shape is refused with what it has") {
  const Files files;
  CHECK(files.read(numpy(header("<f8")) + elements()) == "has elements '<f8', but f32 needs '<f4'");
  CHECK(files.read(numpy(header(">f4")) + elements()) == "has elements '>f4', but f32 needs '<f4'");
  CHECK(files.read(numpy(header("<f4", "(2, 3)", "True")) + elements()) ==
        "is in Fortran's order: save numpy.ascontiguousarray(x)");
  CHECK(files.read(numpy(header("<f4", "(2, 4)")) + elements()) ==
        "has the shape (2, 4), but x has 6 elements");
  CHECK(files.read(numpy(header("<f4", "(99999999999999999999, 99999999999999999999)"))) ==
        "has the shape (99999999999999999999, 99999999999999999999), but x has 6 elements");
  const TensorPlan narrow{"x", Dtype::kBf16, {6}, false, {}};
  CHECK(files.read(numpy(header("<f2")), narrow) ==
        "is numpy's, which has no bf16: write its bytes alone");
}

TEST_CASE("a file that is too short or too long is refused with its bytes") {
  const Files files;
  CHECK(files.read(elements().substr(1)) == "has 23 bytes of elements, but x needs 24");
  CHECK(files.read(elements() + "!") == "has 25 bytes of elements, but x needs 24");
  CHECK(files.read("") == "has 0 bytes of elements, but x needs 24");
  CHECK(files.read(numpy(header()) + elements().substr(4)) ==
        "has 20 bytes of elements, but x needs 24");
  CHECK(files.read(numpy(header()).substr(0, 40)) == "ends within numpy's header");
  CHECK(files.read(numpy("").substr(0, 7)) == "ends within numpy's header");
}

TEST_CASE("a missing file is named") {
  const test::TemporaryFolder folder;
  const auto found = data_offset(folder / "none.npy", kTensor);
  REQUIRE_FALSE(found);
  CHECK(found.error().message ==
        (folder / "none.npy").string() + " cannot be read: No such file or directory");
}
