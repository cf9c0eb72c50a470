// value_words_test.cpp - a type names its words, is looked up, or has none.
#include "cli/manual/value_words.hpp"

#include <catch2/catch_test_macros.hpp>

#include "sample_program.hpp"

namespace fatune {
namespace {

TEST_CASE("a type with bars names its words") {
  const Values values = ValueWords().of("text|md");
  REQUIRE(values.words.size() == 2);
  CHECK(values.words[0].text == "text");
  CHECK(values.words[1].text == "md");
  CHECK_FALSE(values.list);
}

TEST_CASE("known types are looked up, alone or as lists") {
  const ValueWords words = test::sample_words();
  CHECK(words.of("COLOR").words.size() == 3);
  CHECK_FALSE(words.of("COLOR").list);
  CHECK(words.of("COLOR,...").words.size() == 3);
  CHECK(words.of("COLOR,...").list);
  CHECK(words.of("FILE").paths == Paths::kFiles);
}

TEST_CASE("what is not known has no words") {
  const ValueWords words = test::sample_words();
  for (const char* type : {"N", "B,H,S,D", "", ",..."}) {
    CHECK(words.of(type).words.empty());
    CHECK(words.of(type).paths == Paths::kNone);
  }
}

}  // namespace
}  // namespace fatune
