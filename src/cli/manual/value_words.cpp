// value_words.cpp - looks up a type's words, or splits those that the type itself lists.
#include "cli/manual/value_words.hpp"

#include <utility>

#include "core/text.hpp"

namespace fatune {
namespace {

constexpr std::string_view kListEnd = ",...";

}  // namespace

void ValueWords::add(const std::string& type, std::vector<Word> words, Paths paths) {
  known_[type] = {std::move(words), paths, false};
}

Values ValueWords::of(std::string_view type) const {
  Values values;
  const bool list = type.ends_with(kListEnd);
  if (list) type.remove_suffix(kListEnd.size());
  if (type.find('|') != std::string_view::npos) {
    for (const std::string& word : split(type, '|')) values.words.push_back({word, ""});
  } else if (const auto known = known_.find(type); known != known_.end()) {
    values = known->second;
  }
  values.list = list;
  return values;
}

}  // namespace fatune
