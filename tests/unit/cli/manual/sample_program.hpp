// sample_program.hpp: Defines a small program with every kind of option, for pages and completions.
#pragma once

#include "cli/manual/manual.hpp"

namespace fatune::test {

inline cli::CommandDoc sample_program() {
  using cli::CommandDoc, cli::OptionDoc;
  const OptionDoc help{.flags = {"-h", "--help"}, .description = "Print this"};
  CommandDoc find{.name = "find", .summary = "Find it, and don't stop: never", .group = "Look"};
  find.options = {
      help,
      {.flags = {"--color"},
       .value = "COLOR,...",
       .preset = "red",
       .description = "Which colours:\nred: like a rose\nblue: [like] the sea",
       .group = "What to find"},
      {.flags = {"--format"}, .value = "text|md", .description = "How", .group = "Output"},
      {.flags = {"--out"}, .value = "DIR", .description = "Where to", .group = "Output"},
      {.flags = {"--seed"},
       .value = "N",
       .description = "Seed",
       .group = "Output",
       .repeatable = true},
      {.argument = "FILE", .value = "FILE", .description = "What", .required = true}};
  find.examples = {"toy find --color red .config"};
  CommandDoc list{.name = "list", .summary = "List all", .group = "Show"};
  list.options = {help};
  list.commands = {{.name = "deep",
                    .summary = "List more",
                    .options = {help, {.argument = "COLOR", .value = "COLOR"}}}};
  return {.name = "toy",
          .summary = "toy plays with you.",
          .options = {help},
          .commands = {find, list},
          .examples = {"toy find"}};
}

inline cli::Values sample_values(const std::string& type) {
  if (type == "FILE") return {{}, cli::Paths::kFile};
  if (type == "DIR") return {{}, cli::Paths::kFolder};
  if (type == "COLOR")
    return {{{"red", "like a rose"}, {"blue", "[like] the sea"}, {"dark:red", ""}}};
  return {};
}

}  // namespace fatune::test
