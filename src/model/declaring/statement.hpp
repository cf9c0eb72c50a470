// statement.hpp: Defines the statements that declare what is tuned: options, lines of a CUDA file
// and lines of a text file.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "core/text.hpp"

namespace fatune {

/// A word that begins a statement. Each is also an option of `fatune tune`.
struct StatementWord {
  /// How a later statement relates to earlier ones.
  enum class Repeat {
    kReplaces,  ///< one statement counts
    kNames,     ///< one statement of each name counts
    kAdds,
  };
  const char* flag;   ///< "--param"
  const char* value;  ///< "NAME=VALUES", for help
  const char* help;
  Repeat repeat = Repeat::kReplaces;

  std::string_view word() const { return std::string_view(flag).substr(2); }
};
/// In the order of --help.
std::span<const StatementWord> statement_words();

struct Statement {
  const StatementWord* word;
  std::string text;
  std::string where;  ///< "sum.cu:3: param", "--param"
};

/// Independent faults of a declaration, reported together.
class Faults {
 public:
  void add(const std::string& where, const std::string& fault) {
    lines_.push_back(where + ": " + fault);
  }
  void form(const std::string& where, std::string_view text, const std::string& form) {
    add(where, "'" + std::string(text) + "' is not of the form " + form);
  }
  /// Keeps the error of a part that failed; its message names the place.
  void take(const Status& part) {
    if (!part) lines_.push_back(part.error().message);
  }
  /// A usage error if all faults are of options, else a file error.
  Status status() const {
    if (lines_.empty()) return {};
    const bool typed =
        std::ranges::all_of(lines_, [](const std::string& line) { return line.starts_with("--"); });
    return typed ? usage_error(join(lines_, "\n")) : file_error(join(lines_, "\n"));
  }

 private:
  std::vector<std::string> lines_;
};

/// Reads the lines of a text that begin with `mark`: "word text" or "word: text". Without a mark
/// each line is a statement; empty lines and those that begin with # are skipped.
std::vector<Statement> read_statements(std::string_view text, const std::string& file,
                                       std::string_view mark, Faults& faults);

}  // namespace fatune
