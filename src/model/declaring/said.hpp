// said.hpp: Splits statements into what they say of each name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/declaring/statement.hpp"

namespace fatune {

/// Holds what a statement says of a name: "block_size" and "32..1024:*2".
struct Said {
  const StatementWord* word;
  std::string name;  ///< empty for words without names
  std::string text;
  std::string where;  ///< "sum.cu:3: param"
  int source = 0;     ///< number of the call of add()
};

class Sayings {
 public:
  /// Adds the statements of one source, which replace those of earlier sources. To replace a
  /// statement of the same source is a fault.
  void add(std::span<const Statement> statements, Faults& faults);

  std::vector<Said> of(std::string_view word) const;
  /// Null for none.
  const Said* find(std::string_view word, std::string_view name = "") const;

 private:
  std::vector<Said> said_;
  int sources_ = 0;
};

/// Returns the letters, digits and _ with which the text begins.
std::string_view leading_name(std::string_view text);
/// Takes "[...]" or "(...)" from the front of the text and returns what is inside; empty without.
std::string_view take_bracket(std::string_view& text, char open, std::string_view close);

}  // namespace fatune
