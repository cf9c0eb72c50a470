// json_pieces_test.cpp: Tests the reader of JSON pieces on long texts.
#include <chrono>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "search/datasets/formats.hpp"

namespace fatune {
namespace {

TEST_CASE("values are read in time proportional to the text") {
  // 20 MB, a value a line: a second where sanitizers slow it. To count the lines before each value
  // would be to read 200 GB.
  constexpr int kValues = 20'000;
  const std::string value = "\"" + std::string(1000, 'n') + "\",\n";
  std::string text;
  for (int i = 0; i < kValues; ++i) text += value;
  JsonPieces pieces(text, "cache.json");
  const auto began = std::chrono::steady_clock::now();
  int read = 0;
  while (!pieces.at_end() && pieces.json() && pieces.skip(',')) ++read;
  CHECK(read == kValues);
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(10));
}

}  // namespace
}  // namespace fatune
