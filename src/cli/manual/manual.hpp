// manual.hpp: Describes commands and options as data, for manual pages and shell completion.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace CLI {
class App;
}

namespace fatune::cli {

struct OptionDoc {
  std::vector<std::string> flags{};  ///< "-q", "--quiet"; empty for an argument without a flag
  std::string argument{};            ///< name of an argument without a flag: "RUN"
  std::string value{};   ///< type of the value: "FILE", "KERNEL,...", "text|md"; empty for a switch
  std::string preset{};  ///< default value; empty: none
  std::string description{};  ///< one line, or more lines where the help explains values
  std::string group{};        ///< title in the help
  bool repeatable = false;
  bool required = false;
};

struct CommandDoc {
  std::string name{};  ///< name as typed, without the parent commands: "lint"
  std::string summary{};
  std::string group{};  ///< title in the help
  std::vector<OptionDoc> options{};
  std::vector<CommandDoc> commands{};
  std::vector<std::string> examples{};  ///< command lines
};

/// Definitions that --help prints, without hidden options.
CommandDoc describe_commands(const CLI::App& app);
/// Describes every command and option of fatune.
CommandDoc describe_fatune();

/// Facts that every page repeats.
struct ManFacts {
  using Entry = std::pair<std::string, std::string>;  ///< a term and its meaning
  std::string version{}, date{};
  std::vector<Entry> exit_codes{}, environment{}, files{};
};

/// Escapes `text` for troff: backslashes, hyphens, and lines that begin like a macro.
std::string roff_text(std::string_view text);
/// Page PROGRAM(1), with a line for each command.
std::string program_page(const CommandDoc& program, const ManFacts& facts);
/// Page PROGRAM-COMMAND(1) of a command and its subcommands.
std::string command_page(const CommandDoc& program, const CommandDoc& command,
                         const ManFacts& facts);

struct Word {
  std::string text;
  std::string meaning;  ///< one line; may be empty
};

/// Paths that the shell completes beside the words.
enum class Paths { kNone, kFile, kFolder, kProgram };

struct Values {
  std::vector<Word> words;
  Paths paths = Paths::kNone;
};
/// Maps a value type of --help to its values, such as "KERNEL" to the kernels. Never called for a
/// list "KERNEL,..." or for words "f16|bf16". A number has no words.
using KnownValues = std::function<Values(const std::string& type)>;

struct Completion {
  std::vector<Word> words;  ///< each replaces the whole last word: "--kernel=fa_mma,fa_split"
  Paths paths = Paths::kNone;
  std::string head;  ///< part of the last word before the path: "--kernel=fa_mma,"
};
/// Completes the last word of `typed`, which may be empty. `typed` leaves out the program's name.
/// Words of a list and options that are typed once are not offered again.
Completion complete(const CommandDoc& program, const KnownValues& known,
                    std::vector<std::string> typed);
/// Answer to a shell's script: a line for each word, with a tab before its meaning. The last line
/// is ":files HEAD", or names folders, programs or none.
std::string completion_lines(const Completion& completion);
/// Script that calls `fatune __complete WORD...` at each tab. Supports bash (4.2 or newer, without
/// bash-completion), zsh and fish (3 or newer); empty for other shells.
std::string_view completion_script(std::string_view shell);

}  // namespace fatune::cli
