// man_page_test.cpp: Compares pages with approved pages, and checks text that troff would misread.
#include <catch2/catch_test_macros.hpp>

#include "cli/manual/manual.hpp"
#include "sample_program.hpp"
#include "support/golden.hpp"

namespace fatune::cli {
namespace {

ManFacts sample_facts() {
  return {.version = "1.2.3",
          .date = "2026-11-30",
          .exit_codes = {{"0", "Done."}, {"2", "Wrong."}},
          .environment = {{"HOME", "Where you live."}},
          .files = {{"~/.toy", "all of it"}}};
}

TEST_CASE("text comes through troff as it is") {
  CHECK(roff_text("a-b\\c") == "a\\-b\\ec");
  CHECK(roff_text(".config") == "\\&.config");
  CHECK(roff_text("'quoted'") == "\\&'quoted'");
  CHECK(roff_text("") == "");
}

TEST_CASE("approved: the page of the program") {
  test::check_golden("manual/toy.1", program_page(test::sample_program(), sample_facts()));
}

TEST_CASE("approved: the page of a command") {
  const CommandDoc program = test::sample_program();
  test::check_golden("manual/toy-find.1",
                     command_page(program, program.commands.front(), sample_facts()));
}

TEST_CASE("approved: the page of a command with commands below it") {
  const CommandDoc program = test::sample_program();
  test::check_golden("manual/toy-list.1",
                     command_page(program, program.commands.back(), sample_facts()));
}

}  // namespace
}  // namespace fatune::cli
