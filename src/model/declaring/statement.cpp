// statement.cpp: Lists the words of statements, and reads statements from lines.
#include "model/declaring/statement.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/lines.hpp"
#include "core/text.hpp"

namespace fatune {
namespace {

using Repeat = StatementWord::Repeat;

constexpr StatementWord kWords[] = {
    {"--kernel", "NAME",
     "Tune this __global__ function; a template with arguments: 'sum<float, block_size>' [the only "
     "one, or the first below the //@ lines]"},
    {"--param", "NAME=VALUES",
     "Try these values of a macro: 1,2,4, 1..8, 128..1024:64, 32..1024:*2, or words (repeatable)",
     Repeat::kNames},
    {"--default", "NAME=VALUE",
     "Begin with this value of a parameter [the first config that the rules allow] (repeatable)",
     Repeat::kNames},
    {"--where", "EXPR", "Try only configs for which this holds (repeatable)", Repeat::kAdds},
    {"--size", "NAME=N",
     "Set a size: passed to a parameter of the name, else a macro. Several values, separated by "
     "commas, are several problems (repeatable)",
     Repeat::kNames},
    {"--edge", "NAME=N",
     "Also check results at this small size; several values as in --size (repeatable)",
     Repeat::kNames},
    {"--array", "'NAMES: [EXTENTS] FILL'",
     "Declare arrays, all with this FILL: normal, uniform(FROM, TO), zeros, constant(X), file PATH "
     "or scratch "
     "[normal; integers: uniform] (repeatable)",
     Repeat::kNames},
    {"--output", "NAMES", "Compare these arrays with the reference's", Repeat::kNames},
    {"--scalar", "NAME=EXPR", "Pass this value to a parameter of the name (repeatable)",
     Repeat::kNames},
    {"--constant", "SYMBOL=ARRAY", "Copy this array to a __constant__ variable (repeatable)",
     Repeat::kNames},
    {"--grid", "X,Y,Z", "Launch this many blocks: expressions, whose divisions round up"},
    {"--block", "X,Y,Z", "Launch blocks of this many threads: expressions"},
    {"--shared", "EXPR", "Launch with this many bytes of dynamic shared memory"},
    {"--launch", "'NAME(ARGUMENTS) grid X,Y,Z block X,Y,Z'",
     "Launch these functions one after the other, in place of --kernel (repeatable)",
     Repeat::kAdds},
    {"--reference", "'NAME grid X,Y,Z block X,Y,Z'",
     "Compare with this function of the file [the default config]"},
    {"--tolerance", "relative=X", "Accept such differences: relative=X, absolute=X, or both"},
};

/// The word stands in text files alone, in place of the argument of `fatune tune`.
constexpr StatementWord kFile = {"--file", "kernel.cu", ""};

const StatementWord* find_word(std::string_view word, std::string_view mark) {
  if (mark.empty() && word == kFile.word()) return &kFile;
  const auto* const known = std::ranges::find(kWords, word, &StatementWord::word);
  return known == std::end(kWords) ? nullptr : known;
}

}  // namespace

std::span<const StatementWord> statement_words() { return kWords; }

std::vector<Statement> read_statements(std::string_view text, const std::string& file,
                                       std::string_view mark, Faults& faults) {
  std::vector<Statement> statements;
  std::size_t number = 0;
  for (std::string_view line : Lines(text)) {
    ++number;
    line = trim(line);
    if (!line.starts_with(mark)) continue;
    line = trim(line.substr(mark.size()));
    if (line.empty() || (mark.empty() && line.starts_with('#'))) continue;
    const std::size_t end = std::min(line.find_first_of(" \t:"), line.size());
    const std::string_view word = line.substr(0, end);
    std::string_view rest = trim(line.substr(end));
    if (rest.starts_with(':')) rest = trim(rest.substr(1));
    const StatementWord* const known = find_word(word, mark);
    const std::string where = fmt::format("{}:{}: {}", file, number, word);
    if (known != nullptr) {
      statements.push_back({known, std::string(rest), where});
      if (rest.empty()) faults.add(where, fmt::format("has no text; write {}", known->value));
      continue;
    }
    std::vector<std::string> words;
    for (const StatementWord& each : kWords) words.emplace_back(each.word());
    faults.add(where, "is an unknown word" + nearest_hint(word, words, "; did you mean {}?",
                                                          "; the words are " + join(words, ", ")));
  }
  return statements;
}

}  // namespace fatune
