// yaml_test.cpp - checks YAML as JSON values, and what is refused before it grows.
#include "core/yaml.hpp"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

using namespace fatune;

namespace {

/// As JSON on a line, or the error.
std::string yaml_as_json(const std::string& text) {
  const auto value = parse_yaml(text, "t.yml");
  return value ? dump(*value) : value.error().message;
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

}  // namespace

TEST_CASE("mappings, sequences, blocks and flow are JSON") {
  CHECK(yaml_as_json("lang: \"py\"\ntests:\n  - {\"B\": 1, seed: -42}\n  - B: 2\n"
                     "description: |\n  two\n   lines\n\ngpus:\n- H100\n") ==
        R"({"lang":"py","tests":[{"B":1,"seed":-42},{"B":2}],"description":"two\n lines\n",)"
        R"("gpus":["H100"]})");
  CHECK(yaml_as_json("# nothing\n") == "null");
}

TEST_CASE("plain scalars have types, quoted ones are text") {
  CHECK(yaml_as_json("[1, '1', 0.5, true, \"true\", null, ~, case, .inf, 9999999999999999999]") ==
        R"([1,"1",0.5,true,"true",null,null,"case",".inf",1e+19])");
  CHECK(yaml_as_json("{1: a, true: b}") == R"({"1":"a","true":"b"})");
}

TEST_CASE("what makes little text much, and what is ambiguous, is refused with its place") {
  const std::string begin = "t.yml: not valid YAML at line ";
  CHECK(yaml_as_json("a: &x [lol, lol]\nb: [*x, *x]\n") ==
        begin + "2, column 5: aliases are not read");
  CHECK(yaml_as_json("a: !!python/object:os.system x\n") ==
        begin + "1, column 4: tags are not read");
  CHECK(yaml_as_json("a: 1\na: 2\n") == begin + "2, column 1: a mapping has a key twice");
  CHECK(yaml_as_json("? [a]\n: 1\n") == begin + "1, column 3: a key is no text");
  CHECK(yaml_as_json("a: 1\n---\nb: 2\n") == begin + "2, column 1: another document begins");
  CHECK(yaml_as_json("a: [1\n").starts_with(begin));
}

TEST_CASE("sizes are limited") {
  CHECK(yaml_as_json(repeated("[", 16) + repeated("]", 16)).front() == '[');
  CHECK(yaml_as_json(repeated("[", 17) + repeated("]", 17)) ==
        "t.yml: not valid YAML at line 1, column 17: it is nested deeper than 16 levels");
  CHECK(yaml_as_json(repeated("- ", 30'000)) ==
        "t.yml: not valid YAML at line 1, column 33: it is nested deeper than 16 levels");
  CHECK(yaml_as_json("[" + repeated("1,", 20'001) + "]").find("more than 20000 values") !=
        std::string::npos);
  std::string keys;
  for (int i = 0; i <= 256; ++i) keys += "k" + std::to_string(i) + ": 1\n";
  CHECK(yaml_as_json(keys).find("more than 256 keys") != std::string::npos);
  CHECK(yaml_as_json(std::string(300 << 10, ' ')) ==
        "t.yml: holds more than 256 KiB, the most that is read");
}
