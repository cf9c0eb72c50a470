// complete.hpp - the words of a command typed so far, to those that a shell offers next.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/manual/command_doc.hpp"

namespace fatune::cli {

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
