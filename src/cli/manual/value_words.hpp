// value_words.hpp - the type of an option's value, as --help shows it, to words that complete it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fatune {

struct Word {
  std::string text;
  std::string meaning;  ///< one line; may be empty
};

/// What the shell itself offers beside the words.
enum class Paths { kNone, kFiles, kFolders, kPrograms };

struct Values {
  std::vector<Word> words;
  Paths paths = Paths::kNone;
  bool list = false;  ///< several, with commas between them
};

/// "f16|bf16" names its words itself; "KERNEL" is looked up; "KERNEL,..." is a list of such. What
/// is not known, a number say, has no words.
class ValueWords {
 public:
  void add(const std::string& type, std::vector<Word> words, Paths paths = Paths::kNone);
  Values of(std::string_view type) const;

 private:
  std::map<std::string, Values, std::less<>> known_;
};

}  // namespace fatune
