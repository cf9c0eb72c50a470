// command_doc_test.cpp: Checks the descriptions of CLI11's definitions.
#include <CLI/CLI.hpp>
#include <catch2/catch_test_macros.hpp>

#include "cli/manual/manual.hpp"

namespace fatune::cli {
namespace {

TEST_CASE("options, arguments and commands are described; hidden commands stand apart") {
  CLI::App app("a toy", "toy");
  CLI::App* find = app.add_subcommand("find", "Find it");
  app.add_subcommand("secret", "Hidden")->group("");
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
  REQUIRE(doc.hidden.size() == 1);
  CHECK(doc.hidden.front().name == "secret");
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

}  // namespace
}  // namespace fatune::cli
