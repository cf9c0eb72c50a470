// json.cpp: Parses JSON and reads typed fields; the library's exceptions are caught here.
#include "core/json.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/file.hpp"
#include "core/text.hpp"

// For cmake/precompiled.hpp.
template class nlohmann::basic_json<nlohmann::ordered_map>;

namespace fatune {
namespace {

/// Chosen: no file of ours has ten; 3,500 fill a thread's stack of 512 kB.
constexpr std::size_t kDeepest = 128;

/// Chosen: 0.4 GB of memory; our largest document has 60,000.
constexpr std::size_t kMostValues = 4'000'000;

/// Chosen: half a second for lists of digits. 90 MiB of our journals have 4.5 million, of Kernel
/// Tuner's caches 8.
constexpr std::size_t kMostFileValues = 12'000'000;

/// Chosen: an object keeps its keys in order and compares each new key with all of them. A line of
/// 20,000 keys took half a second; a million would take twenty minutes. At most 108 were met.
constexpr std::size_t kMostKeys = 256;
constexpr std::size_t kShortestMember = 6;  // bytes, where so many differ

/// The limit that a text exceeds, and where: such a text must not be parsed.
struct Excess {
  std::string what;
  std::size_t place;
};

/// Whether the text may be too deep or hold too many values or keys. Most texts have few brackets,
/// which are found faster than strings can be told from them.
bool may_exceed(std::string_view text) {
  if (text.size() > kMostValues) return true;
  if (text.size() > kMostKeys * kShortestMember && occurrences(text, ':') > kMostKeys) return true;
  return occurrences(text, '[') + occurrences(text, '{') > kDeepest;
}

/// Brackets, colons and commas in strings do not count.
std::optional<Excess> find_excess(std::string_view text) {
  if (!may_exceed(text)) return std::nullopt;
  std::size_t depth = 0, values = 0;
  std::array<std::size_t, kDeepest + 1> keys{};  // of the open objects, by depth
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool opens = c == '[' || c == '{';
    if (c == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i) i += text[i] == '\\' ? 1 : 0;
    } else if (opens) {
      if (++depth > kDeepest)
        return Excess{fmt::format("is nested deeper than {} levels", kDeepest), i};
      keys[depth] = 0;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    } else if (c == ':' && ++keys[depth] > kMostKeys) {
      return Excess{fmt::format("has an object of more than {} keys", kMostKeys), i};
    }
    if ((opens || c == ',') && ++values > kMostValues)
      return Excess{fmt::format("holds more than {} values", kMostValues), i};
  }
  return std::nullopt;
}

/// Accepts everything and keeps where and why the text stopped being JSON.
struct FaultFinder : nlohmann::detail::json_sax_acceptor<Json> {
  std::size_t position = 0;
  std::string reason;

  bool parse_error(std::size_t at, const std::string&, const nlohmann::detail::exception& fault) {
    position = at;
    reason = fault.what();  // "[json.exception.x.n] parse error at line 1, column 2: syntax error"
    for (const std::string_view mark : {"] ", ": "}) {
      const std::size_t end = reason.find(mark);
      if (end != std::string::npos) reason.erase(0, end + mark.size());
    }
    return false;
  }
};

/// "line 3, column 7"; of a text that is one line, whose number the caller says, "column 7".
std::string locate(std::string_view text, std::size_t position) {
  const std::string_view before = text.substr(0, position == 0 ? 0 : position - 1);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t newline = before.rfind('\n');
  const std::size_t column =
      newline == std::string_view::npos ? before.size() + 1 : before.size() - newline;
  if (text.find('\n') == std::string_view::npos) return fmt::format("column {}", column);
  return fmt::format("line {}, column {}", line, column);
}

/// Escapes bytes that are not ASCII: the parser may quote half a character, or no text at all.
std::string in_ascii(const std::string& text) {
  std::string ascii;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    ascii += byte < 0x80 ? std::string(1, c) : fmt::format("\\x{:02x}", byte);
  }
  return ascii;
}

}  // namespace

std::string wrong_type(std::string_view wanted, const Json& found) {
  return fmt::format("must be {}, but is {}", wanted, found.type_name());
}

std::string unknown_key(const std::string& key, const std::vector<std::string>& known) {
  return nearest_hint(key, known, "is unknown; did you mean '{}'?",
                      "is unknown; known are " + join(known, ", "));
}

Result<Json> parse_json(std::string_view text, const std::string& where) {
  if (const auto excess = find_excess(text)) {
    return file_error(
        fmt::format("{}: {} at {}", where, excess->what, locate(text, excess->place + 1)));
  }
  Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!value.is_discarded()) return value;
  FaultFinder fault;
  Json::sax_parse(text, &fault);
  return file_error(fmt::format("{}: not valid JSON at {}: {}", where, locate(text, fault.position),
                                in_ascii(excerpt(fault.reason))));
}

Status check_values(std::string_view text, const std::string& where) {
  std::size_t values = 0;
  for (const char c : {',', '[', '{'}) values += occurrences(text, c);
  if (values <= kMostFileValues) return {};
  return file_error(fmt::format("{}: holds more than {} values", where, kMostFileValues));
}

Result<Json> load_json(const std::filesystem::path& path) {
  FATUNE_TRY(const std::string text, read_file(path, kLargeFile));
  return parse_json(text, path.string());
}

Status refuse_repeated_keys(std::string_view text, const std::string& where) {
  std::vector<std::set<std::string>> open;
  std::string repeated;
  const auto note = [&](int, Json::parse_event_t event, const Json& value) {
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key && !open.back().insert(value).second) repeated = value;
    return true;
  };
  if (find_excess(text)) return {};  // parse_json says so
  const Json parsed = Json::parse(text, note, /*allow_exceptions=*/false);
  if (parsed.is_discarded() || repeated.empty()) return {};
  return file_error(fmt::format("{}: an object has the key '{}' twice", where, repeated));
}

std::string dump(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string dump_pretty(const Json& value) {
  return value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string field_place(const std::string& where, std::string_view key) {
  if (where.ends_with('\'') && where.find("field '") != std::string::npos) {
    return fmt::format("{}.{}'", where.substr(0, where.size() - 1), key);
  }
  return fmt::format("{}{}field '{}'", where, where.empty() ? "" : ": ", key);
}

Fields::Fields(const Json& object, std::string where)
    : object_(&object), where_(std::move(where)) {}

bool Fields::has(std::string_view key) const {
  return object_->is_object() && object_->find(key) != object_->end();
}

Error Fields::error(std::string_view key, const std::string& problem) const {
  return file_error(field_place(where_, key) + " " + problem);
}

Status Fields::require_object() const {
  if (object_->is_object()) return {};
  return file_error(where_ + (where_.ends_with('\'') ? " " : ": ") +
                    wrong_type("an object", *object_));
}

Result<const Json*> Fields::value(std::string_view key) const {
  FATUNE_TRY_STATUS(require_object());
  const auto found = object_->find(key);
  if (found == object_->end()) return error(key, "is missing");
  return &*found;
}

Result<std::string> Fields::text(std::string_view key) const {
  FATUNE_TRY(const Json* found, value(key));
  if (!found->is_string()) return error(key, wrong_type("a string", *found));
  return found->get_ref<const std::string&>();
}

Result<std::string> Fields::text_or(std::string_view key, std::string fallback) const {
  if (!has(key)) return fallback;
  return text(key);
}

Result<std::int64_t> Fields::integer(std::string_view key) const {
  FATUNE_TRY(const Json* found, value(key));
  if (!found->is_number_integer()) return error(key, wrong_type("a whole number", *found));
  if (found->is_number_unsigned() && found->get<std::uint64_t>() > INT64_MAX) {
    return error(key, "is larger than 9223372036854775807");
  }
  return found->get<std::int64_t>();
}

Result<double> Fields::number(std::string_view key) const {
  FATUNE_TRY(const Json* found, value(key));
  if (!found->is_number()) return error(key, wrong_type("a number", *found));
  return found->get<double>();
}

Result<bool> Fields::boolean_or(std::string_view key, bool fallback) const {
  if (!has(key)) return fallback;
  FATUNE_TRY(const Json* found, value(key));
  if (!found->is_boolean()) return error(key, wrong_type("true or false", *found));
  return found->get<bool>();
}

Result<std::vector<std::string>> Fields::texts_or(std::string_view key,
                                                  std::vector<std::string> fallback) const {
  if (!has(key)) return fallback;
  FATUNE_TRY(const Json* found, value(key));
  if (!found->is_array()) return error(key, wrong_type("a list of strings", *found));
  std::vector<std::string> texts;
  for (const Json& item : *found) {
    if (!item.is_string()) {
      return error(fmt::format("{}[{}]", key, texts.size()), wrong_type("a string", item));
    }
    texts.push_back(item.get_ref<const std::string&>());
  }
  return texts;
}

Result<Fields> Fields::object(std::string_view key) const {
  FATUNE_TRY(const Json* found, value(key));
  if (!found->is_object()) return error(key, wrong_type("an object", *found));
  return Fields(*found, field_place(where_, key));
}

Result<std::vector<Fields>> Fields::objects_or_empty(std::string_view key) const {
  std::vector<Fields> objects;
  if (!has(key)) return objects;
  FATUNE_TRY(const Json* found, value(key));
  if (!found->is_array()) return error(key, wrong_type("a list of objects", *found));
  for (const Json& item : *found) {
    const std::string element = fmt::format("{}[{}]", key, objects.size());
    if (!item.is_object()) return error(element, wrong_type("an object", item));
    objects.emplace_back(item, field_place(where_, element));
  }
  return objects;
}

}  // namespace fatune
