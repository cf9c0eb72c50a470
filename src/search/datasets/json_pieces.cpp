// json_pieces.cpp: Finds where the values of a JSON text begin and end.
#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/file.hpp"
#include "search/datasets/formats.hpp"

namespace fatune {
namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

/// Replaces NaN, Infinity and -Infinity outside of strings by null.
std::string without_infinities(std::string_view text) {
  static constexpr std::array<std::string_view, 3> kWords = {"-Infinity", "Infinity", "NaN"};
  std::string clean;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\') {
      clean += text.substr(i, 2);
      ++i;
      continue;
    }
    quoted = quoted != (text[i] == '"');
    const auto* word = std::ranges::find_if(
        kWords, [&](std::string_view each) { return text.substr(i).starts_with(each); });
    if (quoted || word == kWords.end()) {
      clean += text[i];
    } else {
      clean += "null";
      i += word->size() - 1;
    }
  }
  return clean;
}

}  // namespace

JsonPieces::JsonPieces(std::string_view text, std::string where)
    : text_(text), where_(std::move(where)) {}

char JsonPieces::next() {
  while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool JsonPieces::skip(char wanted) {
  if (next() != wanted) return false;
  ++at_;
  return true;
}

Status JsonPieces::expect(char wanted) {
  if (skip(wanted)) return {};
  if (at_end()) return error(fmt::format("is cut off where '{}' must follow", wanted));
  return error(fmt::format("not valid JSON: '{}' where '{}' must follow", next(), wanted));
}

Result<std::string> JsonPieces::name() {
  if (next() != '"') FATUNE_TRY_STATUS(expect('"'));
  FATUNE_TRY(const Json text, json());
  FATUNE_TRY_STATUS(expect(':'));
  return text.get<std::string>();
}

Result<std::string_view> JsonPieces::value() {
  const char first = next();
  const std::size_t begin = at_;
  std::size_t end = begin;
  if (first == '"') {
    end = end_of_string(begin);
  } else if (first == '{' || first == '[') {
    end = end_of_brackets(begin);
  } else {
    end = text_.find_first_of(",]} \n\t\r", begin);
    // A number at the end of the text may be truncated.
    if (end == begin)
      return error(fmt::format("not valid JSON: '{}' where a value must be", first));
  }
  if (end == std::string_view::npos) return error("is cut off inside the value that begins here");
  at_ = end;
  return text_.substr(begin, end - begin);
}

Result<Json> JsonPieces::json() {
  next();
  const std::size_t begin = at_;
  FATUNE_TRY(const std::string_view piece, value());
  // The place is computed only for an error, because it counts the lines before the value.
  if (piece.size() > kUsualFile) return check_size(piece, kUsualFile, place(begin)).error();
  if (auto parsed = parse_json(piece, where_)) return parsed;
  if (auto parsed = parse_json(without_infinities(piece), where_)) return parsed;
  return parse_json(piece, place(begin));
}

Result<bool> JsonPieces::another(char closing) {
  if (skip(closing)) return false;
  FATUNE_TRY_STATUS(expect(','));
  return true;
}

Error JsonPieces::error(const std::string& problem) const {
  return file_error(fmt::format("{}: {}", place(at_), problem));
}

std::string JsonPieces::place(std::size_t position) const {
  const std::string_view before = text_.substr(0, position);
  return fmt::format("{}: line {}", where_, std::count(before.begin(), before.end(), '\n') + 1);
}

std::size_t JsonPieces::end_of_string(std::size_t begin) const {
  for (std::size_t i = begin + 1; i < text_.size(); ++i) {
    if (text_[i] == '\\') {
      ++i;
    } else if (text_[i] == '"') {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

std::size_t JsonPieces::end_of_brackets(std::size_t begin) const {
  std::size_t depth = 0;
  for (std::size_t i = text_.find_first_of("\"{}[]", begin); i != std::string_view::npos;
       i = text_.find_first_of("\"{}[]", i)) {
    if (text_[i] == '"') {
      i = end_of_string(i);
      continue;
    }
    const bool opens = text_[i] == '{' || text_[i] == '[';
    depth = opens ? depth + 1 : depth - 1;
    ++i;
    if (depth == 0) return i;
  }
  return std::string_view::npos;
}

Result<std::string_view> find_member(std::string_view text, std::string_view name,
                                     const std::string& where) {
  JsonPieces pieces(text, where);
  FATUNE_TRY_STATUS(pieces.expect('{'));
  for (bool more = !pieces.skip('}'); more;) {
    FATUNE_TRY(const std::string found, pieces.name());
    FATUNE_TRY(const std::string_view value, pieces.value());
    if (found == name) return value;
    FATUNE_TRY(more, pieces.another('}'));
  }
  return std::string_view();
}

Result<Json> find_object(std::string_view text, std::string_view name, const std::string& where) {
  FATUNE_TRY(const std::string_view piece, find_member(text, name, where));
  if (piece.empty()) return Json::object();
  return JsonPieces(piece, fmt::format("{}: {}", where, name)).json();
}

Status for_each_in(
    std::string_view text, std::string_view name, const std::string& where,
    const std::function<Status(const Json& element, const std::string& place)>& take) {
  FATUNE_TRY(const std::string_view list, find_member(text, name, where));
  JsonPieces pieces(list, fmt::format("{}: {}", where, name));
  FATUNE_TRY_STATUS(pieces.expect('['));
  bool more = !pieces.skip(']');
  for (std::size_t number = 0; more; ++number) {
    FATUNE_TRY(const Json element, pieces.json());
    FATUNE_TRY_STATUS(take(element, fmt::format("{}[{}]", name, number)));
    FATUNE_TRY(more, pieces.another(']'));
  }
  return {};
}

}  // namespace fatune
