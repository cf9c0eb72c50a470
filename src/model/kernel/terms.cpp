// terms.cpp - a manifest's named terms to values; texts that use them to texts that do not.
#include "model/kernel/terms.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "model/kernel/expression.hpp"
#include "model/kernel/manifest_parse.hpp"
#include "model/kernel/vocabulary.hpp"

namespace fatune {
namespace {

/// A letter, digit or _ of a name; with '.' also of a number, whose exponent is no name.
bool in_name_or_number(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}

const Term* find_term(const Manifest& manifest, std::string_view name) {
  for (const Term& term : manifest.terms) {
    if (term.name == name) return &term;
  }
  return nullptr;
}

Result<Term> parse_term(const Fields& fields, const Manifest& manifest) {
  FATUNE_TRY_STATUS(fields.only({"name", "value", "meaning"}));
  Term term;
  FATUNE_TRY(term.name, parse_macro_name(fields, *manifest.operation));
  const std::vector<std::string> known = expression_names(manifest);
  if (std::find(known.begin(), known.end(), term.name) != known.end()) {
    return fields.error("name", fmt::format("defines {} a second time", term.name));
  }
  FATUNE_TRY(term.value, fields.text("value"));
  FATUNE_TRY_STATUS(check_expression(term.value, place(fields, "value"), known));
  FATUNE_TRY(term.meaning, parse_words(fields, "meaning"));
  term.expanded = fmt::format("({})", expand_terms(manifest, term.value));
  if (term.expanded.size() > kLongestExpression) {
    return fields.error("value", fmt::format("is longer than {} characters with the terms that it "
                                             "uses written out",
                                             kLongestExpression));
  }
  return term;
}

}  // namespace

Status parse_terms(const Fields& root, Manifest& manifest) {
  FATUNE_TRY(const std::vector<Fields> list, root.objects_or_empty("terms"));
  for (const Fields& fields : list) {
    FATUNE_TRY(Term term, parse_term(fields, manifest));
    manifest.terms.push_back(std::move(term));
  }
  return {};
}

std::string expand_terms(const Manifest& manifest, std::string_view text) {
  if (manifest.terms.empty()) return std::string(text);
  std::string expanded;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && in_name_or_number(text[end])) ++end;
    const std::string_view name = text.substr(at, end - at);
    const Term* term = find_term(manifest, name);
    expanded += term != nullptr ? std::string_view(term->expanded) : name;
    if (end < text.size()) expanded += text[end];
    at = end + 1;
  }
  return expanded;
}

}  // namespace fatune
