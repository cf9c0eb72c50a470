// said.cpp: Splits statements into what they say of each name.
#include "model/declaring/said.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/text.hpp"

namespace fatune {
namespace {

using Repeat = StatementWord::Repeat;

/// Returns where "NAME =" begins outside of brackets, at `from` or behind it.
std::size_t next_pair(std::string_view text, std::size_t from) {
  while (from < text.size()) {
    std::string_view rest = text.substr(from);
    std::size_t name = leading_name(rest).size();
    while (rest.substr(name).starts_with("::"))
      name += 2 + leading_name(rest.substr(name + 2)).size();
    rest = trim(rest.substr(name));
    if (name > 0 && rest.starts_with('=') && !rest.starts_with("==")) return from;
    from += length_before(text.substr(from), " ,");
    from = std::min(text.find_first_not_of(" ,", from), text.size());
  }
  return text.size();
}

/// "h=4096 w=1, 2" says "4096" of h and "1, 2" of w.
std::vector<Said> split_pairs(const Statement& statement, Faults& faults) {
  const std::string_view text = statement.text;
  std::vector<Said> said;
  std::size_t at = next_pair(text, 0);
  if (at != 0) faults.form(statement.where, text.substr(0, at), statement.word->value);
  while (at < text.size()) {
    const std::size_t sign = text.find('=', at);
    const std::size_t end = next_pair(text, sign + 1);
    std::string_view value = trim(text.substr(sign + 1, end - sign - 1));
    while (value.ends_with(',')) value = trim(value.substr(0, value.size() - 1));
    const std::string name(trim(text.substr(at, sign - at)));
    said.push_back({statement.word, name, std::string(value), statement.where});
    at = end;
  }
  return said;
}

/// "a, b: [n] normal" and "a[n], b[n] normal" say "[n] normal" of both.
std::vector<Said> split_arrays(const Statement& statement, Faults& faults) {
  std::vector<Said> said;
  std::string_view rest = trim(statement.text);
  for (bool more = true; more;) {
    const std::string_view name = leading_name(rest);
    if (name.empty()) faults.form(statement.where, rest, statement.word->value);
    rest = trim(rest.substr(name.size()));
    if (rest.starts_with(':')) rest = trim(rest.substr(1));
    const std::string extents(take_bracket(rest, '[', "]"));
    said.push_back({statement.word, std::string(name), extents, statement.where});
    more = rest.starts_with(',');
    if (more) rest = trim(rest.substr(1));
  }
  std::string extents;  // of the next array that has its own
  for (auto each = said.rbegin(); each != said.rend(); ++each) {
    if (!each->text.empty()) extents = each->text;
    each->text = fmt::format("[{}] {}", extents, rest);
  }
  return said;
}

bool closes_brackets(std::string_view text) {
  std::string open;
  for (const char c : text) {
    if (c == '(' || c == '[') open += c == '(' ? ')' : ']';
    if (c != ')' && c != ']') continue;
    if (open.empty() || open.back() != c) return false;
    open.pop_back();
  }
  return open.empty();
}

std::vector<Said> split_statement(const Statement& statement, Faults& faults) {
  const std::string_view word = statement.word->word();
  if (!closes_brackets(statement.text))
    faults.add(statement.where, "has a bracket that is not closed, or not opened");
  if (word == "array") return split_arrays(statement, faults);
  if (statement.word->repeat != Repeat::kNames)
    return {{statement.word, "", statement.text, statement.where}};
  if (word != "output") return split_pairs(statement, faults);
  std::vector<Said> said;
  for (const std::string& name : split_outside(statement.text, ','))
    said.push_back({statement.word, name, "", statement.where});
  return said;
}

}  // namespace

void Sayings::add(std::span<const Statement> statements, Faults& faults) {
  ++sources_;
  for (const Statement& statement : statements) {
    for (Said& said : split_statement(statement, faults)) {
      said.source = sources_;
      const auto former = std::ranges::find_if(said_, [&](const Said& each) {
        return each.word == said.word && each.name == said.name;
      });
      if (former == said_.end() || said.word->repeat == Repeat::kAdds) {
        said_.push_back(std::move(said));
      } else if (former->source == sources_) {
        faults.add(said.where, fmt::format("{} is said already, by {}",
                                           said.name.empty() ? "this" : said.name, former->where));
      } else {
        *former = std::move(said);
      }
    }
  }
}

std::vector<Said> Sayings::of(std::string_view word) const {
  std::vector<Said> said = said_;
  std::erase_if(said, [&](const Said& each) { return each.word->word() != word; });
  return said;
}

const Said* Sayings::find(std::string_view word, std::string_view name) const {
  const auto found = std::ranges::find_if(
      said_, [&](const Said& each) { return each.word->word() == word && each.name == name; });
  return found == said_.end() ? nullptr : &*found;
}

std::string_view leading_name(std::string_view text) {
  const auto end = std::ranges::find_if(text, [](char c) { return !in_class(c, "A-Za-z0-9_"); });
  return {text.begin(), end};
}

std::string_view take_bracket(std::string_view& text, char open, std::string_view close) {
  if (!text.starts_with(open)) return {};
  const std::size_t end = length_before(text, close);
  const std::string_view inside = text.substr(1, end - 1);
  text = trim(text.substr(std::min(end + 1, text.size())));
  return inside;
}

}  // namespace fatune
