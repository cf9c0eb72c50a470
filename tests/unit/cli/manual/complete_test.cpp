// complete_test.cpp: Checks completions of a small program; tests/cli completes in the shells.
#include <catch2/catch_test_macros.hpp>

#include "cli/manual/manual.hpp"
#include "sample_program.hpp"

namespace fatune::cli {
namespace {

Completion offered(const std::vector<std::string>& typed) {
  return complete(test::sample_program(), test::sample_values, typed);
}

std::vector<std::string> words(const std::vector<std::string>& typed) {
  std::vector<std::string> texts;
  for (const Word& word : offered(typed).words) texts.push_back(word.text);
  return texts;
}

using Texts = std::vector<std::string>;

TEST_CASE("commands, and the options of the program itself") {
  CHECK(words({}) == Texts{"find", "list", "-h", "--help"});
  CHECK(words({"li"}) == Texts{"list"});
  CHECK(words({"help", "f"}) == Texts{"find"});
  CHECK(words({"list", ""}) == Texts{"deep", "-h", "--help"});
}

TEST_CASE("options that are there already are not offered, unless they repeat") {
  CHECK(words({"find", "--"}) == Texts{"--help", "--color", "--format", "--out", "--seed"});
  CHECK(words({"find", "--color", "red", "--seed", "1", "--format=md", "--"}) ==
        Texts{"--help", "--out", "--seed"});
}

TEST_CASE("a value: words of its type, or words that the type itself lists") {
  CHECK(words({"find", "--color", ""}) == Texts{"red", "blue", "dark:red"});
  CHECK(words({"find", "--format", "m"}) == Texts{"md"});
  CHECK(words({"find", "--format=m"}) == Texts{"--format=md"});
  CHECK(words({"find", "--seed", ""}).empty());
  CHECK(words({"list", "deep", "b"}) == Texts{"blue"});
}

TEST_CASE("a list goes on behind the comma, without repeats") {
  CHECK(words({"find", "--color", "blue,"}) == Texts{"blue,red", "blue,dark:red"});
  CHECK(words({"find", "--color=blue,r"}) == Texts{"--color=blue,red"});
  CHECK(words({"list", "deep", "blue,"}).empty());
}

TEST_CASE("paths are the shell's, behind what stands in front of them") {
  CHECK(offered({"find", "--out", "su"}).paths == Paths::kFolder);
  CHECK(offered({"find", "--out", "su"}).head.empty());
  CHECK(offered({"find", "--out=su"}).head == "--out=");
  CHECK(offered({"find", ""}).paths == Paths::kFile);
  CHECK(words({"find", ""}).empty());
  CHECK(offered({"find", "-"}).paths == Paths::kNone);
}

TEST_CASE("an option whose value may be left out leaves the next option alone") {
  CommandDoc program{.name = "toy"};
  program.options = {{.flags = {"--serve"}, .value = "[PORT]"},
                     {.flags = {"--out"}, .value = "DIR"}};
  CHECK(complete(program, test::sample_values, {"--serve", "--o"}).words.front().text == "--out");
  CHECK(complete(program, test::sample_values, {"--serve", "--out", ""}).paths == Paths::kFolder);
  CHECK(complete(program, test::sample_values, {"--serve", "8"}).words.empty());
}

TEST_CASE("lines for the scripts: words with meanings, then the paths") {
  CHECK(completion_lines(offered({"find", "--c"})) == "--color\tWhich colours\n:none \n");
  CHECK(completion_lines(offered({"find", "--out=s"})) == ":folders --out=\n");
}

TEST_CASE("each of three shells has a script") {
  for (const char* shell : {"bash", "zsh", "fish"})
    CHECK(completion_script(shell).find("__complete") != std::string_view::npos);
  CHECK(completion_script("tcsh").empty());
}

}  // namespace
}  // namespace fatune::cli
