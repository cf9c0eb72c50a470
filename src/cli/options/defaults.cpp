// defaults.cpp: Reads the user's defaults and turns them into options behind the command.
#include "cli/options/defaults.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/options/settings.hpp"
#include "core/file.hpp"
#include "core/text.hpp"

namespace fatune::cli {
namespace {

const CommandDoc* command_named(const CommandDoc& parent, const std::string& name) {
  const auto found = std::ranges::find(parent.commands, name, &CommandDoc::name);
  return found == parent.commands.end() ? nullptr : &*found;
}

const OptionDoc* option_named(const CommandDoc& command, const std::string& key) {
  const auto found = std::ranges::find_if(command.options, [&](const OptionDoc& option) {
    return std::ranges::count(option.flags, "--" + key) > 0;
  });
  return found == command.options.end() ? nullptr : &*found;
}

bool any_has(const CommandDoc& command, const std::string& key) {
  return option_named(command, key) != nullptr ||
         std::ranges::any_of(command.commands,
                             [&](const CommandDoc& each) { return any_has(each, key); });
}

bool is_typed(const OptionDoc& option, const std::vector<std::string>& words) {
  return std::ranges::any_of(words, [&](const std::string& word) {
    return std::ranges::any_of(option.flags, [&](const std::string& flag) {
      const bool is_short = !flag.starts_with("--");
      return word == flag || word.starts_with(flag + "=") ||
             (is_short && !word.starts_with("--") && word.starts_with(flag));
    });
  });
}

/// Returns the words of one default: "--budget", "60s". A switch is given by true alone.
std::vector<std::string> words_of(const OptionDoc& option, const CLI::ConfigItem& item) {
  const std::string& flag = option.flags.back();
  if (option.value.empty())
    return item.inputs == std::vector<std::string>{"true"} ? std::vector{flag}
                                                           : std::vector<std::string>();
  std::vector<std::string> words;
  for (const std::string& value : item.inputs) words.push_back(flag + "=" + value);
  const bool is_list = option.value.ends_with(",...");
  return is_list ? std::vector{flag + "=" + join(item.inputs, ",")} : words;
}

std::vector<CLI::ConfigItem> items_of(std::string_view text) {
  std::istringstream stream{std::string(text)};
  std::vector<CLI::ConfigItem> items = CLI::ConfigTOML().from_config(stream);
  // The parser marks the begin and the end of a section by items of these names.
  std::erase_if(items, [](const auto& item) { return item.name == "++" || item.name == "--"; });
  return items;
}

/// Checks that a key names an option of its section; of any command if it is above all sections.
Status check_item(const CommandDoc& program, const CLI::ConfigItem& item,
                  const std::string& where) {
  const CommandDoc* command = &program;
  for (const std::string& name : item.parents) {
    command = command_named(*command, name);
    if (command == nullptr)
      return file_error(
          fmt::format("{}: [{}] is no command", where, excerpt(join(item.parents, "."))));
  }
  const bool known = item.parents.empty() ? any_has(program, item.name)
                                          : option_named(*command, item.name) != nullptr;
  if (known) return {};
  return file_error(fmt::format("{}: '{}' is no option of {}", where, excerpt(item.name),
                                item.parents.empty() ? "any command" : join(item.parents, " ")));
}

}  // namespace

std::filesystem::path defaults_file() {
  const std::string xdg = environment("XDG_CONFIG_HOME"), home = environment("HOME");
  if (xdg.empty() && home.empty()) return {};
  const std::filesystem::path parent =
      xdg.empty() ? std::filesystem::path(home) / ".config" : std::filesystem::path(xdg);
  return parent / "fatune" / "config.toml";
}

Result<std::vector<std::string>> with_defaults(std::vector<std::string> words,
                                               const CommandDoc& program, std::string_view text,
                                               const std::string& where) {
  const CommandDoc* command = &program;
  std::vector<std::string> path;
  for (const std::string& word : words) {
    const CommandDoc* next = command_named(*command, word);
    if (next == nullptr) break;
    command = next;
    path.push_back(word);
  }
  std::vector<std::string> added;
  for (const CLI::ConfigItem& item : items_of(text)) {
    FATUNE_TRY_STATUS(check_item(program, item, where));
    const OptionDoc* option = option_named(*command, item.name);
    const bool is_for_it = item.parents.empty() || item.parents == path;
    if (path.empty() || option == nullptr || !is_for_it || is_typed(*option, words)) continue;
    const auto each = words_of(*option, item);
    added.insert(added.end(), each.begin(), each.end());
  }
  words.insert(words.begin() + static_cast<std::ptrdiff_t>(path.size()), added.begin(),
               added.end());
  return words;
}

Result<std::vector<std::string>> with_defaults(std::vector<std::string> words,
                                               const std::function<CommandDoc()>& program) {
  const std::filesystem::path file = defaults_file();
  std::error_code none;
  if (file.empty() || !std::filesystem::exists(file, none)) return words;
  if (!is_trusted(file, executable_path())) {
    return file_error(file.string() +
                      ": belongs to another user or may be written by others; `chmod o-w` or "
                      "remove it");
  }
  FATUNE_TRY(const std::string text, read_found_file(file));
  return with_defaults(std::move(words), program(), text, file.string());
}

}  // namespace fatune::cli
