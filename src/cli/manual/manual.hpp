// manual.hpp - the option parser's commands and options as plain data, to manual pages in the
// man(7) macros and to the words that a shell offers next.
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
  std::string value{};   ///< what it takes: "FILE", "KERNEL,...", "text|md"; empty for a switch
  std::string preset{};  ///< the value when it is not given; empty: none
  std::string description{};  ///< one line, more where values are explained
  bool repeatable = false;
  bool required = false;
};

struct CommandDoc {
  std::string name{};  ///< as it is typed, without those above it: "lint"
  std::string summary{};
  std::vector<OptionDoc> options{};
  std::vector<CommandDoc> commands{};
  std::vector<std::string> examples{};  ///< command lines
  std::vector<CommandDoc> hidden{};     ///< have a page and are not listed
};

/// The very definitions that --help prints; hidden options are left out.
CommandDoc describe_commands(const CLI::App& app);
/// Of the program that has the command.
CommandDoc describe_program(const CLI::App& command);

/// What every page says beside its command.
struct ManFacts {
  using Entry = std::pair<std::string, std::string>;  ///< a term and its meaning
  std::string version{};
  std::vector<Entry> exit_codes{}, environment{}, files{};
};

/// `text` so that troff prints it as it is: backslashes, hyphens, and lines that begin like a
/// macro.
std::string roff_text(std::string_view text);
/// Page of the program: PROGRAM(1), with a line a command.
std::string program_page(const CommandDoc& program, const ManFacts& facts);
/// Page of one of its commands, with the commands below that: PROGRAM-COMMAND(1).
std::string command_page(const CommandDoc& program, const CommandDoc& command,
                         const ManFacts& facts);

struct Word {
  std::string text;
  std::string meaning;  ///< one line; may be empty
};

/// What the shell itself offers beside the words.
enum class Paths { kNone, kFile, kFolder, kProgram };

struct Values {
  std::vector<Word> words;
  Paths paths = Paths::kNone;
};
/// A type of value, as --help shows it, to what it can be: "KERNEL" to the kernels. Asked for
/// single types only, neither for "f16|bf16", which names its words itself, nor for "KERNEL,...". A
/// number has no words.
using KnownValues = std::function<Values(const std::string& type)>;

struct Completion {
  std::vector<Word> words;  ///< the whole last word each: "--kernel=fa_mma,fa_split"
  Paths paths = Paths::kNone;
  std::string head;  ///< of the last word, in front of the path: "--kernel=fa_mma,"
};
/// `typed`: the words behind the program's name; the last is being typed and may be empty. Options
/// that are there once, and a list's words, are not offered again.
Completion complete(const CommandDoc& program, const KnownValues& known,
                    std::vector<std::string> typed);
/// What the scripts read: a line a word, a tab before its meaning; last ":files HEAD", or with
/// folders, programs or none instead.
std::string completion_lines(const Completion& completion);
/// The script that a shell reads once: it asks `fatune __complete WORD...` at each tab. Empty for
/// other shells than bash (4.2 or newer; no bash-completion package), zsh and fish (3 or newer).
std::string_view completion_script(std::string_view shell);

}  // namespace fatune::cli
