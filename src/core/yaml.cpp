// yaml.cpp - builds the value from the parser's events, so that what is too much is refused before
// it is built; the library's exceptions end here.
#include "core/yaml.hpp"

#include <cmath>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "core/file.hpp"
#include "core/text.hpp"

namespace fatune {
namespace {

// Chosen, as is kLargestYaml: a task of KernelBot, for which this is, has 7 KB, 3 levels and 200
// values.
constexpr std::size_t kDeepestYaml = 16;
constexpr std::size_t kMostYamlValues = 20'000;
constexpr std::size_t kMostYamlKeys = 256;

Json plain_scalar(const std::string& text) {
  if (text == "true" || text == "True") return true;
  if (text == "false" || text == "False") return false;
  if (const auto whole = parse_integer(text)) return *whole;
  if (const auto number = parse_number(text); number && std::isfinite(*number)) return *number;
  return text;
}

/// The parser recurses with the text, and ends only by an exception: hence refuse() throws one.
class YamlBuilder : public YAML::EventHandler {
 public:
  Json value{};

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) refuse(mark, "another document begins");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { add(mark, nullptr); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    refuse(mark, "aliases are not read");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                const std::string& text) override {
    refuse_tag(mark, tag);
    if (wants_key()) return add_key(mark, text);
    add(mark, tag == "?" ? plain_scalar(text) : Json(text));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, Json::array());
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, Json::object());
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    Json value;
    std::optional<std::string> key{};  ///< whose value comes next
  };

  [[noreturn]] static void refuse(const YAML::Mark& mark, const std::string& what) {
    throw YAML::ParserException(mark, what);
  }
  static void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    if (!tag.empty() && tag != "?" && tag != "!") refuse(mark, "tags are not read");
  }
  bool wants_key() const {
    return !open_.empty() && open_.back().value.is_object() && !open_.back().key;
  }

  void add_key(const YAML::Mark& mark, const std::string& key) {
    const Json& mapping = open_.back().value;
    if (mapping.size() >= kMostYamlKeys)
      refuse(mark, fmt::format("a mapping has more than {} keys", kMostYamlKeys));
    if (mapping.contains(key)) refuse(mark, "a mapping has a key twice");
    open_.back().key = key;
  }

  void count(const YAML::Mark& mark) {
    if (wants_key()) refuse(mark, "a key is no text");
    if (++values_ > kMostYamlValues)
      refuse(mark, fmt::format("it holds more than {} values", kMostYamlValues));
  }

  void add(const YAML::Mark& mark, Json made) {
    count(mark);
    place(std::move(made));
  }

  void place(Json made) {
    if (open_.empty()) {
      value = std::move(made);
    } else if (open_.back().key) {
      open_.back().value[*std::exchange(open_.back().key, std::nullopt)] = std::move(made);
    } else {
      open_.back().value.push_back(std::move(made));
    }
  }

  void open(const YAML::Mark& mark, const std::string& tag, Json empty) {
    refuse_tag(mark, tag);
    count(mark);
    if (open_.size() >= kDeepestYaml)
      refuse(mark, fmt::format("it is nested deeper than {} levels", kDeepestYaml));
    open_.push_back({std::move(empty)});
  }

  void close() {
    Json made = std::move(open_.back().value);
    open_.pop_back();
    place(std::move(made));
  }

  std::vector<Open> open_;
  std::size_t values_ = 0;
  int documents_ = 0;
};

}  // namespace

Result<Json> parse_yaml(std::string_view text, const std::string& where) {
  FATUNE_TRY_STATUS(check_size(text, kLargestYaml, where));
  YamlBuilder builder;
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& fault) {
    return file_error(fmt::format("{}: not valid YAML at line {}, column {}: {}", where,
                                  fault.mark.line + 1, fault.mark.column + 1, fault.msg));
  }
  return std::move(builder.value);
}

}  // namespace fatune
