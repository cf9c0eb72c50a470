// t1_test.cpp: Tests the readers of T1 files and of Python lists.
#include <catch2/catch_test_macros.hpp>

#include "core/file.hpp"
#include "sample_files.hpp"
#include "search/datasets/spaces.hpp"

using namespace fatune;

namespace {

std::string list_of(const std::string& text) {
  const auto values = list_from_python(text, "t1");
  if (!values) return values.error().message;
  std::string found;
  for (const Value& value : *values) found += describe(value) + ";";
  return found;
}

Result<Space> space_of(const std::string& parameters, const std::string& conditions) {
  const test::TemporaryFolder folder;
  REQUIRE(replace_file(folder / "t1.json", R"({"ConfigurationSpace": {"TuningParameters": [)" +
                                               parameters + R"(], "Conditions": [)" + conditions +
                                               "]}}"));
  return read_t1_space(folder / "t1.json");
}

std::string error_of(const std::string& parameters, const std::string& conditions) {
  const auto space = space_of(parameters, conditions);
  REQUIRE_FALSE(space);
  const std::string& message = space.error().message;
  return message.substr(message.find("t1.json"));
}

}  // namespace

TEST_CASE("a T1 space has as many configs as were measured in it") {
  const auto convolution = read_t1_space(test::data_file("convolution_t1.json"));
  REQUIRE(convolution);
  CHECK(convolution->size() == 4362);  // as the cache file of this space has entries
  CHECK(convolution->raw_size() == 10240);
  CHECK(convolution->kernel().manifest.name == "convolution_kernel");
  CHECK(convolution->ruled_out().size() == 4);
  const auto dedispersion = read_t1_space(test::data_file("dedispersion_t1.json"));
  REQUIRE(dedispersion);
  CHECK(dedispersion->size() == 11130);
}

TEST_CASE("Python's lists become values") {
  CHECK(list_of("[16, 32,64]") == "16;32;64;");
  CHECK(list_of("[0.5, 1.0, -2]") == "0.5;1;-2;");
  CHECK(list_of("['warp', \"block row\", True]") == "warp;block row;true;");
  CHECK(list_of("range(1, 8, 3)") == "1;4;7;");
  CHECK(list_of("list(range(3))") == "0;1;2;");
  CHECK(list_of("[]").empty());
  CHECK(list_of("range(3, 1)").empty());
  CHECK(list_of("range(1, 10, 9223372036854775807)") == "1;");
  CHECK(list_of("range(-9223372036854775807, 9223372036854775807, 9223372036854775807)") ==
        "-9223372036854775807;0;");
  for (const char* wrong :
       {"", "[1, 2", "[i for i in range(3)", "range(1e9)", "range(3, 9, 0)", "[1] + 2", "['a]",
        "range(99999999999)", "[j for i in range(2)]", "[i for i in [1, 2] if]", "[1 / 0]",
        "[0 for i in range(9999) for j in range(9999) if 0]", "[x + 1 for x in ['a']]",
        "range(-9223372036854775807, 9223372036854775807)", "[\xd0\xb0 for i in [1]]"}) {
    CAPTURE(wrong);
    CHECK(list_of(wrong).starts_with("t1: '"));
  }
}

TEST_CASE("values have Python's arithmetic, joined lists and comprehensions") {
  CHECK(list_of("list(range(64, 256 + 1, 2**6))") == "64;128;192;256;");
  CHECK(list_of("[2**i for i in range(3)] + [-2**2, 2**-1, 2**3**2, (1 + 2) * 3]") ==
        "1;2;4;-4;0.5;512;9;");
  CHECK(list_of("range(8, 0, -3)") == "8;5;2;");
  CHECK(list_of("([1] + list(range(2, 4)))") == "1;2;3;");
  CHECK(list_of("[i * j for i in (2, 3) if i != 2 for j in range(1, i)]") == "3;6;");
  CHECK(list_of("[i for i in [] for j in range(3) if j]").empty());
  CHECK(list_of("['v%d', 7 // 2, 6 / 2, int(2.5 * 2), True]") == "v%d;3;3;5;true;");
  CHECK(list_of("[w for w in ['a', 'b']]") == "a;b;");
  CHECK(list_of("[1 << 3, 9 >> 1, *range(2)]") == "8;4;0;1;");
  CHECK(list_of("sorted([8] + [2**i for i in range(2)]) + sorted((3, 2.5))") == "1;2;8;2.5;3;");
  CHECK(list_of("list(1 << i for i in range(3)) + tuple([7])") == "1;2;4;7;");
}

TEST_CASE("a T1 file that does not map says where") {
  const std::string a = R"({"Name": "A", "Type": "int", "Values": "[1, 2, 4]", "Default": 2})";
  const std::string f = R"({"Name": "F", "Type": "float", "Values": [0.5, 1]})";
  const auto space = space_of(a + "," + f, R"({"Expression": "A != 2", "Parameters": ["A"]})");
  REQUIRE(space);
  CHECK(space->size() == 4);
  CHECK_FALSE(space->default_point());
  CHECK(error_of(a, R"({"Expression": "A > B"})").find("uses 'B', which is no parameter: A > B") !=
        std::string::npos);
  CHECK(error_of(f, R"({"Expression": "F < 1"})").find("uses F, whose values are not whole") !=
        std::string::npos);
  CHECK(error_of(a + "," + a, "").find("is 'A' a second time") != std::string::npos);
  CHECK(error_of(R"({"Name": "A", "Values": "[]"})", "").find("is empty") != std::string::npos);
  CHECK(error_of("", "").find("is missing or empty") != std::string::npos);
  std::string many = R"({"Name": "A", "Values": [0)";
  for (int i = 1; i < 65536; ++i) many += "," + std::to_string(i);
  CHECK(error_of(many + "]}", "").find("has 65536 values; at most 65535") != std::string::npos);
}

TEST_CASE("a remainder has the sign of its divisor, and a repeated value counts once") {
  const auto odd = space_of(R"({"Name": "A", "Values": "[-3, -2, -1, 1, 2, 3, 3]"})",
                            R"({"Expression": "A % 2 == 1"})");
  REQUIRE(odd);
  CHECK(odd->raw_size() == 6);
  CHECK(odd->size() == 4);
  const auto negative =
      space_of(R"({"Name": "A", "Values": "[-3, 0, 3]"})", R"({"Expression": "A % -2 == -1"})");
  REQUIRE(negative);
  CHECK(negative->size() == 2);
}

TEST_CASE("a recording is restricted to a space of the same parameters") {
  const Recording recording = test::recording_in("convolution_a100.json");
  const auto whole = read_t1_space(test::data_file("convolution_t1.json"));
  REQUIRE(whole);
  const auto all = restrict_to(recording, *whole);
  REQUIRE(all);
  CHECK(all->lattice.size() == 49);
  CHECK(all->remarks.back() == "restricted: 49 of 49 configs are in the space, which has 4362");
  const auto other = read_t1_space(test::data_file("dedispersion_t1.json"));
  REQUIRE(other);
  CHECK_FALSE(restrict_to(recording, *other));
  const Recording cache = test::recording_of(test::cache_of(
      test::entry(1, "x", R"("time": 1)") + "," + test::entry(4, "y", R"("time": 2)")));
  const auto narrow =
      space_of(R"({"Name": "W", "Values": "['x', 'y']"}, {"Name": "A", "Values": "[2, 4]"})", "");
  REQUIRE(narrow);
  const auto kept = restrict_to(cache, *narrow);
  REQUIRE(kept);
  CHECK(kept->lattice.size() == 1);
  CHECK(kept->entries[0].cost == 2.0);
  CHECK(kept->lattice.point(0) == Point{2, 0});
}
