// command_doc.cpp - walks CLI11's apps and options.
#include "cli/manual/command_doc.hpp"

#include <CLI/CLI.hpp>

#include "core/text.hpp"

namespace fatune::cli {
namespace {

constexpr const char* kUntold = "TEXT";  // CLI11's name for a value whose type nobody named

OptionDoc describe_option(const CLI::Option& option) {
  OptionDoc doc;
  for (const std::string& name : option.get_snames()) doc.flags.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) doc.flags.push_back("--" + name);
  if (doc.flags.empty()) doc.argument = option.get_name();
  if (option.get_type_size() > 0) doc.value = option.get_type_name();
  // An argument's own name says what it is: FILE, RUN, KERNEL.
  if (doc.flags.empty() && doc.value == kUntold) doc.value = doc.argument;
  doc.preset = option.get_default_str();
  doc.description = option.get_description();
  doc.repeatable = option.get_items_expected_max() > 1;
  doc.required = option.get_required();
  return doc;
}

/// A footer's indented lines are command lines.
std::vector<std::string> examples_in(const std::string& footer) {
  std::vector<std::string> examples;
  for (const std::string& line : split(footer, '\n')) {
    if (line.starts_with("  ")) examples.emplace_back(trim(line));
  }
  return examples;
}

}  // namespace

CommandDoc describe_commands(const CLI::App& app) {
  CommandDoc doc;
  doc.name = app.get_name();
  doc.summary = app.get_description();
  doc.examples = examples_in(app.get_footer());
  const auto every_option = [](const CLI::Option* option) { return !option->get_group().empty(); };
  for (const CLI::Option* option : app.get_options(every_option))
    doc.options.push_back(describe_option(*option));
  const auto every_command = [](const CLI::App* command) { return !command->get_group().empty(); };
  for (const CLI::App* command : app.get_subcommands(every_command))
    doc.commands.push_back(describe_commands(*command));
  return doc;
}

}  // namespace fatune::cli
