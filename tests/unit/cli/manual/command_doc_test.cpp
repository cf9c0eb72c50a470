// command_doc_test.cpp: Checks the descriptions of CLI11's definitions.
#include <algorithm>
#include <cctype>
#include <iterator>
#include <regex>
#include <sstream>

#include <CLI/CLI.hpp>
#include <catch2/catch_test_macros.hpp>

#include "cli/manual/manual.hpp"
#include "cli/options/option_table.hpp"
#include "core/text.hpp"

namespace fatune::cli {
namespace {

TEST_CASE("options, arguments and commands are described") {
  CLI::App app("a toy", "toy");
  CLI::App* find = app.add_subcommand("find", "Find it");
  bool quiet = false;
  std::string colour = "red", file;
  std::vector<std::string> seeds;
  find->add_flag("-q,--quiet", quiet, "No noise");
  find->add_option("--color", colour, "Which")->type_name("COLOR")->capture_default_str();
  find->add_option("--seed", seeds, "Seeds")->type_name("N");
  find->add_option("FILE", file, "What")->required();
  find->footer("Example:\n  toy find a\n  toy find b");

  const CommandDoc doc = describe_commands(app);
  CHECK(doc.name == "toy");
  REQUIRE(doc.commands.size() == 1);
  const CommandDoc& described = doc.commands.front();
  CHECK(described.examples == std::vector<std::string>{"toy find a", "toy find b"});
  REQUIRE(described.options.size() == 5);
  CHECK(described.options[0].flags == std::vector<std::string>{"-h", "--help"});
  CHECK(described.options[1].flags == std::vector<std::string>{"-q", "--quiet"});
  CHECK(described.options[1].value.empty());
  CHECK(described.options[2].value == "COLOR");
  CHECK(described.options[2].preset == "red");
  CHECK_FALSE(described.options[2].repeatable);
  CHECK(described.options[3].repeatable);
  CHECK(described.options[4].argument == "FILE");
  CHECK(described.options[4].value == "FILE");
  CHECK(described.options[4].required);
}

/// All options of a group, each of which the command must show.
void check_group(const CommandDoc& command, const OptionTable& table) {
  for (const OptionGroup& group : table) {
    for (const OptionRow& row : group.rows) {
      CAPTURE(command.name, row.flags);
      const auto same = [&](const OptionDoc& option) {
        return !option.flags.empty() && option.flags.back() == long_name(row);
      };
      const auto found = std::ranges::find_if(command.options, same);
      REQUIRE(found != command.options.end());
      CHECK(found->description == row.help);
    }
  }
}

bool has_flag(const CommandDoc& command, const std::string& flag) {
  return std::ranges::any_of(command.options, [&](const OptionDoc& option) {
    return std::ranges::count(option.flags, flag) > 0;
  });
}

TEST_CASE("every command has the options of every command, and whole groups of a problem") {
  CommonArgs common;
  ProblemArgs problem;
  const CommandDoc fatune = describe_fatune();
  CHECK(fatune.commands.size() > 15);
  std::vector<std::string> for_the_shell;
  for (const CommandDoc& command : fatune.commands) {
    if (!has_flag(command, "--json")) {
      for_the_shell.push_back(command.name);
      continue;
    }
    check_group(command, common_table(common));
    if (has_flag(command, "--shape")) check_group(command, problem_table(problem));
    REQUIRE_FALSE(command.examples.empty());
    CHECK(command.examples.back().find("fatune " + command.name) != std::string::npos);
  }
  CHECK(for_the_shell == std::vector<std::string>{"completions", "man", "schema"});
}

TEST_CASE("every help text is a sentence without its period, below 31 words") {
  const CommandDoc fatune = describe_fatune();
  for (const CommandDoc& command : fatune.commands) {
    for (const OptionDoc& option : command.options) {
      CAPTURE(command.name, option.flags, option.argument, option.description);
      REQUIRE_FALSE(option.description.empty());
      CHECK(std::isupper(static_cast<unsigned char>(option.description.front())) != 0);
      CHECK_FALSE(option.description.ends_with('.'));
      for (const std::string& line : split(option.description, '\n')) {
        std::istringstream words(std::regex_replace(line, std::regex("[.;] .*"), ""));
        const auto first = std::istream_iterator<std::string>(words);
        CHECK(std::distance(first, {}) <= 30);
      }
    }
  }
}

TEST_CASE("sweep shows at most 37 options beside those of every command") {
  CommonArgs common;
  std::size_t shared = 1;  // --help
  for (const OptionGroup& group : common_table(common)) shared += group.rows.size();
  for (const CommandDoc& command : describe_fatune().commands)
    if (command.name == "sweep") CHECK(command.options.size() - shared <= 38);
}

}  // namespace
}  // namespace fatune::cli
