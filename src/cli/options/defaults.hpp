// defaults.hpp: Adds the options of the user's file of defaults to the typed words.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/manual/manual.hpp"
#include "core/result.hpp"

namespace fatune::cli {

/// Returns $XDG_CONFIG_HOME/fatune/config.toml or ~/.config/fatune/config.toml; empty without a
/// home.
std::filesystem::path defaults_file();

/// Returns the words with the options that `text`, TOML from `where`, gives to the typed command. A
/// key is an option without its dashes. Keys above the first section are for every command that has
/// the option; those of [sweep] are for `sweep` alone. Typed options win. Fails for a key or a
/// section that names nothing.
Result<std::vector<std::string>> with_defaults(std::vector<std::string> words,
                                               const CommandDoc& program, std::string_view text,
                                               const std::string& where);
/// Reads defaults_file(), which only the user or root may be able to write; without it returns the
/// words as they are, and does not ask for `program`.
Result<std::vector<std::string>> with_defaults(std::vector<std::string> words,
                                               const std::function<CommandDoc()>& program);

}  // namespace fatune::cli
