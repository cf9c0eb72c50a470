// completions_test.cpp - the scripts against approved ones; tests/cli runs them in their shells.
#include "cli/manual/completions.hpp"

#include <catch2/catch_test_macros.hpp>

#include "cli/manual/completion_parts.hpp"
#include "sample_program.hpp"
#include "support/golden.hpp"

namespace fatune {
namespace {

TEST_CASE("each type of value is there once") {
  CHECK(value_types(test::sample_program()) ==
        std::vector<std::string>{"COLOR,...", "text|md", "DIR", "N", "FILE", "COLOR"});
}

TEST_CASE("names and texts are made fit for shells") {
  CHECK(identifier("COLOR,...") == "color_");
  CHECK(identifier("text|md") == "text_md");
  CHECK(single_quoted("don't") == "'don'\\''t'");
  CHECK(first_line("Which:\nred: a rose") == "Which");
  CHECK(first_line("") == "");
}

TEST_CASE("commands below commands have both names") {
  const CommandDoc program = test::sample_program();
  const auto paths = command_paths(program);
  REQUIRE(paths.size() == 3);
  CHECK(paths[2].names == std::vector<std::string>{"list", "deep"});
}

TEST_CASE("approved: completions of bash") {
  test::check_golden("manual/toy.bash",
                     bash_completions(test::sample_program(), test::sample_words()));
}

TEST_CASE("approved: completions of zsh") {
  test::check_golden("manual/_toy", zsh_completions(test::sample_program(), test::sample_words()));
}

TEST_CASE("approved: completions of fish") {
  test::check_golden("manual/toy.fish",
                     fish_completions(test::sample_program(), test::sample_words()));
}

}  // namespace
}  // namespace fatune
