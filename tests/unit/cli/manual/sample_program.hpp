// sample_program.hpp - a small program with every kind of option, for manual pages and completions.
#pragma once

#include "cli/manual/command_doc.hpp"
#include "cli/manual/value_words.hpp"

namespace fatune::test {

inline CommandDoc sample_program() {
  const OptionDoc help{.flags = {"-h", "--help"}, .description = "Print this"};
  CommandDoc find{.name = "find", .summary = "Find it, and don't stop: never"};
  find.options = {help,
                  {.flags = {"--color"},
                   .value = "COLOR,...",
                   .preset = "red",
                   .description = "Which colours:\nred: like a rose\nblue: [like] the sea"},
                  {.flags = {"--format"}, .value = "text|md", .description = "How"},
                  {.flags = {"--out"}, .value = "DIR", .description = "Where to"},
                  {.flags = {"--seed"}, .value = "N", .description = "Seed", .repeatable = true},
                  {.argument = "FILE", .value = "FILE", .description = "What", .required = true}};
  find.examples = {"toy find --color red .config"};
  CommandDoc list{.name = "list", .summary = "List all"};
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

inline ValueWords sample_words() {
  ValueWords words;
  words.add("FILE", {}, Paths::kFiles);
  words.add("DIR", {}, Paths::kFolders);
  words.add("COLOR", {{"red", "like a rose"}, {"blue", "[like] the sea"}, {"dark:red", ""}});
  return words;
}

}  // namespace fatune::test
