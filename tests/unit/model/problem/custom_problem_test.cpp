// custom_problem_test.cpp: Checks sizes from text and JSON, and problems of custom operations.
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "model/problem/problem.hpp"

using namespace fatune;

namespace {

Problem rmsnorm() {
  return CustomProblem{Dtype::kBf16, "rmsnorm", {{"ROWS", 4096}, {"COLUMNS", 1024}}, 0,
                       8390656,      8388608};
}

std::string refused(std::string_view text) {
  const auto sizes = parse_sizes(text, "--size");
  return sizes ? "" : sizes.error().message;
}

}  // namespace

TEST_CASE("sizes are names and numbers, and read as they are written") {
  const auto sizes = parse_sizes(" ROWS = 4096, COLUMNS=1024", "--size");
  REQUIRE(sizes);
  CHECK(*sizes == std::vector<NamedSize>{{"ROWS", 4096}, {"COLUMNS", 1024}});
  CHECK(describe(*sizes) == "ROWS=4096,COLUMNS=1024");
}

TEST_CASE("a wrong size is named with the flag") {
  CHECK(refused("4096") == "--size 4096: '4096' is not of the form NAME=NUMBER, say ROWS=4096");
  CHECK(refused("ROWS=1,ROWS=2") == "--size ROWS=1,ROWS=2: gives ROWS twice");
  CHECK(refused("2d=1").find("is not a size's name") != std::string::npos);
  CHECK(refused("ROWS=0").find("a whole number from 1 to 9007199254740992") != std::string::npos);
  CHECK(refused("ROWS=9007199254740993").find("ROWS is '9007199254740993'") != std::string::npos);
  CHECK(refused("ROWS=1.5").find("ROWS is '1.5'") != std::string::npos);
  CHECK(refused("ROWS=1,").find("'' is not of the form") != std::string::npos);
}

TEST_CASE("a custom problem has words, a key and JSON of its own") {
  const Problem problem = rmsnorm();
  CHECK(describe(problem) == "rmsnorm ROWS=4096,COLUMNS=1024 bf16");
  CHECK(key(problem) == "rmsnorm:ROWS=4096,COLUMNS=1024:bf16");
  const Json json = to_json(problem);
  CHECK(dump(json) ==
        R"({"operation":"rmsnorm","sizes":{"ROWS":4096,"COLUMNS":1024},"bytes_read":8390656,)"
        R"("bytes_written":8388608,"dtype":"bf16"})");
  const auto read = read_value<Problem>(json, "test");
  REQUIRE(read);
  CHECK(*read == problem);
}

TEST_CASE("problems of two operations, or of other sizes, differ") {
  Problem other = rmsnorm();
  other.as_custom().operation = "softmax";
  CHECK_FALSE(other == rmsnorm());
  other = rmsnorm();
  other.as_custom().sizes.back().value = 2048;
  CHECK_FALSE(other == rmsnorm());
  CHECK_FALSE(Problem{} == rmsnorm());
  other = rmsnorm();
  other.as_custom().dtype = Dtype::kE4m3;
  CHECK(other > rmsnorm());
}

TEST_CASE("only attention has the properties of attention") {
  const Problem own = CustomProblem{.dtype = Dtype::kE4m3, .operation = "rmsnorm"};
  CHECK(own.dtype() == Dtype::kE4m3);
  CHECK_FALSE(own.is(is_fp8));
  CHECK_FALSE(own.is(&Attention::lse));
  const Problem attention = Attention{.dtype = Dtype::kE4m3, .lse = true};
  CHECK(attention.is(is_fp8));
  CHECK(attention.is(&Attention::lse));
}

TEST_CASE("what is wrong in JSON is named by file and field") {
  const auto message = [](const char* text) {
    const auto problem = read_value<Problem>(*parse_json(text, "x.json"), "x.json");
    return problem ? "" : problem.error().message;
  };
  CHECK(message(R"({"operation":"rmsnorm"})") == "x.json: field 'sizes' is missing");
  CHECK(message(R"({"operation":"rmsnorm","sizes":{"ROWS":0}})") ==
        "x.json: field 'sizes.ROWS' is 0, but must be from 1 to 9007199254740992");
  CHECK(message(R"({"operation":"r","sizes":{"ROWS":1},"flops":-1})") ==
        "x.json: field 'flops' must be at least 0, but is -1");
  CHECK(message(R"({"operation":"r","sizes":{"ROWS":1},"dtype":"f64"})").find("'dtype'") !=
        std::string::npos);
}

TEST_CASE("its work is what it tells") {
  Problem problem = rmsnorm();
  CHECK(least_bytes(problem).value == 8390656 + 8388608);
  CHECK(flops(problem).value == 0);
  CHECK_FALSE(counts_flops(problem));
  CHECK(gigabytes_per_second(problem, Seconds(1)) > 0.0167);
  problem.as_custom().flops = 1000;
  CHECK(flops(problem).value == 1000);
  CHECK(counts_flops(problem));
  CHECK(counts_flops(Problem{}));
}
