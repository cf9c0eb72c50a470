// json_test.cpp: Tests that JSON errors name place and field.
#include "core/json.hpp"

#include <limits>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/file.hpp"
#include "support/temporary_folder.hpp"

using namespace fatune;
using Catch::Matchers::StartsWith;

namespace {

std::string parse_fault(std::string_view text) {
  const auto value = parse_json(text, "x.json");
  return value ? "none" : value.error().message;
}

Json parse(std::string_view text) { return *parse_json(text, "x.json"); }

}  // namespace

TEST_CASE("broken JSON is located by line and column") {
  CHECK(parse_fault("{\"a\":1,\n \"b\":,}")
            .starts_with("x.json: not valid JSON at line 2, column 6"));
  CHECK(parse_fault("").starts_with("x.json: not valid JSON at column 1"));
  CHECK(parse_fault("[\xb0\x1b[2J").find("'[\\xb0'") != std::string::npos);
  CHECK(parse_fault("{\"a\":1").find("at column 7") != std::string::npos);
  CHECK(parse_fault("[1e999]").find("number overflow") != std::string::npos);
  CHECK(parse_fault("[1] x").find("at column 5") != std::string::npos);
  CHECK(parse_fault("\"\xff\"").find("UTF-8") != std::string::npos);
  CHECK(parse_fault("[1]") == "none");
  CHECK(parse_json("{", "x").error().kind == ErrorKind::kFile);
}

TEST_CASE("every truncation of a document is an error and none a crash") {
  const std::string whole = R"({"a":[1,2.5,"x\u00e9"],"b":{"c":null,"d":true}})";
  for (std::size_t length = 0; length < whole.size(); ++length) {
    CAPTURE(length);
    CHECK_FALSE(parse_json(std::string_view(whole).substr(0, length), "x"));
  }
}

TEST_CASE("deep nesting is refused where it begins, whether it is closed or not") {
  const auto nested = [](std::size_t levels, bool closed) {
    std::string text;
    for (std::size_t i = 0; i < levels; ++i) text += i % 2 == 0 ? "[" : "{\"a]\\\"\":";
    text += "1";
    for (std::size_t i = levels; closed && i > 0; --i) text += i % 2 == 1 ? "]" : "}";
    return text;
  };
  CHECK(parse_fault(nested(128, true)) == "none");
  CHECK(parse_fault(nested(129, true)) == "x.json: is nested deeper than 128 levels at column 577");
  CHECK(parse_fault(nested(1'000'000, false)) == parse_fault(nested(129, true)));
  CHECK(parse_fault(std::string(1000, ']')).find("not valid JSON") != std::string::npos);
  CHECK(parse_fault("[\"" + std::string(1000, '[') + "\"]") == "none");
}

TEST_CASE("a text of too many values is refused before they take memory") {
  std::string text = "[";
  for (int i = 0; i < 4'000'000; ++i) text += "1,";
  CHECK(parse_fault(text) == "x.json: holds more than 4000000 values at column 8000001");
  CHECK(parse_fault("[\"" + std::string(5'000'000, ',') + "\"]") == "none");
}

TEST_CASE("an object of too many keys is refused before they are looked for one by one") {
  const auto object = [](int keys) {
    std::string text = R"({"a": {"b": [)";
    for (int i = 0; i < 200; ++i) text += R"({"c": ":", "d": "\":"},)";  // an object each
    text += R"(1]}, "e": {"k0":0)";
    for (int i = 1; i < keys; ++i) text += fmt::format(R"(,"k{}":0)", i);
    return text + "}}";
  };
  CHECK(parse_json(object(256), "x.json"));
  CHECK_THAT(parse_fault(object(257)),
             StartsWith("x.json: has an object of more than 256 keys at column "));
}

TEST_CASE("a large file has so many values at most, counted before any is parsed") {
  const std::string most(11'999'999, ',');
  CHECK(check_values(most + "[", "x.jsonl"));
  const Status refused = check_values(most + "[{", "x.jsonl");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "x.jsonl: holds more than 12000000 values");
}

TEST_CASE("a key that an object has twice is found, and nothing else is") {
  const auto repeated = [](std::string_view text) {
    const Status status = refuse_repeated_keys(text, "x.json");
    return status ? "" : status.error().message;
  };
  CHECK(repeated(R"({"a":[{"b":1},{"b":2,"c":{"b":3}}],"b":{"a":1}})").empty());
  CHECK(repeated(R"({"a":[{"b":1,"c":{"b":2},"b":3}]})") ==
        "x.json: an object has the key 'b' twice");
  CHECK(repeated(R"({"a":1,"\u0061":2})") == "x.json: an object has the key 'a' twice");
  CHECK(repeated("{\"a\":1,\"a\":").empty());  // parse_json says what is wrong with it
}

TEST_CASE("key order survives and doubles are exact") {
  const std::string text = R"({"z":1,"a":[0.1,2.5e-07,1.0],"m":{"b":true}})";
  CHECK(dump(parse(text)) == text);
  CHECK(dump_pretty(parse(R"({"a":1})")) == "{\n  \"a\": 1\n}\n");
  CHECK(dump(Json("\xff")) == "\"\xef\xbf\xbd\"");  // broken UTF-8 is replaced, not thrown
}

TEST_CASE("typed fields") {
  const Json json = parse(R"({"s":"x","i":-3,"d":2,"b":true,"t":["a","b"],"o":{"i":1},
                              "l":[{"i":1},{"i":"no"}],"big":18446744073709551615})");
  const Fields fields(json, "x.json");
  CHECK(*fields.text("s") == "x");
  CHECK(*fields.text_or("none", "y") == "y");
  CHECK(*fields.integer("i") == -3);
  CHECK(*fields.number("d") == 2.0);
  CHECK(*fields.boolean_or("b", false));
  CHECK(*fields.texts_or("t", {}) == std::vector<std::string>{"a", "b"});
  CHECK(*fields.object("o")->integer("i") == 1);
  CHECK(fields.objects_or_empty("l")->size() == 2);
  CHECK(fields.objects_or_empty("none")->empty());
  CHECK(fields.has("s"));
  CHECK_FALSE(fields.has("none"));
  CHECK(fields.integer("big").error().message ==
        "x.json: field 'big' is larger than 9223372036854775807");
}

TEST_CASE("errors spell out the way to the field") {
  const Json json = parse(R"({"a":{"b":[{"c":1},{"c":"x"}]},"t":["a",1],"n":null,"f":1.5})");
  const Fields fields(json, "x.json");
  CHECK(fields.text("none").error().message == "x.json: field 'none' is missing");
  CHECK(fields.text("n").error().message == "x.json: field 'n' must be a string, but is null");
  CHECK(fields.integer("f").error().message ==
        "x.json: field 'f' must be a whole number, but is number");
  CHECK(fields.texts_or("t", {}).error().message ==
        "x.json: field 't[1]' must be a string, but is number");
  const Fields inner = fields.object("a")->objects_or_empty("b")->at(1);
  CHECK(inner.integer("c").error().message ==
        "x.json: field 'a.b[1].c' must be a whole number, but is string");
  CHECK(inner.where() == "x.json: field 'a.b[1]'");
  CHECK(fields.object("f").error().message == "x.json: field 'f' must be an object, but is number");
  CHECK(fields.boolean_or("f", true).error().message ==
        "x.json: field 'f' must be true or false, but is number");
}

TEST_CASE("a value that is no object fails every field") {
  const Json json = parse("[1]");
  const Fields fields(json, "x.json");
  CHECK_FALSE(fields.has("a"));
  CHECK(fields.text("a").error().message == "x.json: must be an object, but is array");
}

TEST_CASE("load_json names the file") {
  const test::TemporaryFolder folder;
  CHECK(load_json(folder / "none.json").error().message.find("none.json: cannot open") !=
        std::string::npos);
  REQUIRE(replace_file(folder / "a.json", "{\"a\":1}"));
  CHECK((*load_json(folder / "a.json"))["a"] == 1);
}
