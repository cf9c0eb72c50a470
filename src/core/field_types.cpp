// field_types.cpp: Writes and reads the C++ types of fields under the rules of their field.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/text.hpp"

namespace fatune {
namespace {

/// Says how a number breaks its limits; empty if it does not. NaN is within no limits.
template <typename T>
std::string limit_fault(T value, const FieldRules& rules) {
  const auto limit = [](std::int64_t x) { return static_cast<T>(x); };
  const bool low = rules.least && !(value >= limit(*rules.least));
  const bool high = rules.most && !(value <= limit(*rules.most));
  if (rules.positive && !(value > 0)) return fmt::format("must be more than 0, but is {}", value);
  if (!low && !high) return {};
  if (rules.least && rules.most)
    return fmt::format("is {}, but must be from {} to {}", value, *rules.least, *rules.most);
  return low ? fmt::format("must be at least {}, but is {}", *rules.least, value)
             : fmt::format("must be at most {}, but is {}", *rules.most, value);
}

void add_limits(Json& schema, const FieldRules& rules) {
  if (rules.least) schema["minimum"] = *rules.least;
  if (rules.positive) schema["exclusiveMinimum"] = 0;
  if (rules.most) schema["maximum"] = *rules.most;
}

/// T: a string or a path.
template <typename T>
class TextType final : public FieldType {
  static constexpr bool kIsPath = std::is_same_v<T, std::filesystem::path>;
  Json write(const void* value, const FieldRules&) const override {
    if constexpr (kIsPath) return field::as<T>(value).string();
    return field::as<std::string>(value);
  }
  Status read(void* target, const Json& json, const FieldPlace& place,
              const FieldRules& rules) const override {
    if (!json.is_string()) return place.error(wrong_type("a string", json));
    const auto& text = json.get_ref<const std::string&>();
    if (rules.filled && trim(text).empty()) return place.error("must not be empty");
    if (!rules.words.empty() && !is_one_of(text, rules.words))
      return place.error(fmt::format("is '{}', but must be one of {}", excerpt(text), rules.words));
    if (!rules.pattern_noun.empty() && !matches(text, rules.pattern))
      return place.error(fmt::format("is '{}', not {}", excerpt(text), rules.pattern_noun));
    field::as<T>(target) = text;
    return {};
  }
  Json schema(const FieldRules& rules, SchemaBook&) const override {
    if (!rules.words.empty()) {
      Json words = Json::array();
      for (const std::string& word : split(rules.words, ',')) words.push_back(trim(word));
      return {{"type", "string"}, {"enum", std::move(words)}};
    }
    Json schema = {{"type", "string"}};
    if (rules.filled && rules.pattern == nullptr) schema["minLength"] = 1;
    if (rules.pattern != nullptr) schema["pattern"] = fmt::format("^{}$", rules.pattern);
    return schema;
  }
  bool empty(const void* value) const override { return field::as<T>(value).empty(); }
  std::string_view plural() const override { return kIsPath ? "paths" : "strings"; }

  static bool is_one_of(std::string_view text, std::string_view words) {
    return std::ranges::any_of(split(words, ','),
                               [&](const auto& each) { return trim(each) == text; });
  }
};

class BoolType final : public FieldType {
  Json write(const void* value, const FieldRules&) const override { return field::as<bool>(value); }
  Status read(void* target, const Json& json, const FieldPlace& place,
              const FieldRules&) const override {
    if (!json.is_boolean()) return place.error(wrong_type("true or false", json));
    field::as<bool>(target) = json.get<bool>();
    return {};
  }
  Json schema(const FieldRules& rules, SchemaBook&) const override {
    if (rules.filled) return {{"type", "boolean"}, {"const", true}};
    return {{"type", "boolean"}};
  }
  bool empty(const void* value) const override { return !field::as<bool>(value); }
  std::string_view plural() const override { return "booleans"; }
};

template <typename Int>
class IntegerType final : public FieldType {
  Json write(const void* value, const FieldRules&) const override { return field::as<Int>(value); }
  Status read(void* target, const Json& json, const FieldPlace& place,
              const FieldRules& rules) const override {
    if (!json.is_number_integer()) return place.error(wrong_type("a whole number", json));
    const bool huge = json.is_number_unsigned() && json.get<std::uint64_t>() > INT64_MAX;
    if (std::is_signed_v<Int> && huge)
      return place.error(fmt::format("is larger than {}", INT64_MAX));
    const auto value = huge ? INT64_MAX : json.get<std::int64_t>();
    if (std::is_unsigned_v<Int> && value < 0)
      return place.error("must be a whole number of at least 0");
    if (!std::in_range<Int>(value)) return place.error("is out of range");
    const std::string fault = limit_fault(value, rules);
    if (!fault.empty()) return place.error(fault);
    field::as<Int>(target) = json.get<Int>();
    return {};
  }
  Json schema(const FieldRules& rules, SchemaBook&) const override {
    Json schema = {{"type", "integer"}};
    add_limits(schema, rules);
    const std::int64_t least = rules.filled ? 1 : 0;
    const bool natural = std::is_unsigned_v<Int> || (rules.least && *rules.least >= 0);
    if (natural) schema["minimum"] = std::max(least, rules.least.value_or(0));
    return schema;
  }
  bool empty(const void* value) const override { return field::as<Int>(value) == 0; }
  std::string_view plural() const override { return "whole numbers"; }
};

/// A number, or "inf", "-inf" or "nan" where JSON has none.
class DoubleType final : public FieldType {
  Json write(const void* value, const FieldRules& rules) const override {
    const double number = field::as<double>(value);
    if (rules.finite || std::isfinite(number)) return number;
    if (std::isnan(number)) return "nan";
    return number > 0 ? "inf" : "-inf";
  }
  Status read(void* target, const Json& json, const FieldPlace& place,
              const FieldRules& rules) const override {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    double& value = field::as<double>(target);
    if (json.is_number()) {
      value = json.get<double>();
    } else if (rules.finite) {
      return place.error(wrong_type("a number", json));
    } else if (json == "inf" || json == "-inf") {
      value = json == "inf" ? kInfinity : -kInfinity;
    } else if (json == "nan") {
      value = std::numeric_limits<double>::quiet_NaN();
    } else {
      return place.error(R"(must be a number, "inf", "-inf" or "nan")");
    }
    const std::string fault = limit_fault(value, rules);
    return fault.empty() ? Status() : place.error(fault);
  }
  Json schema(const FieldRules& rules, SchemaBook& book) const override {
    Json number = {{"type", "number"}};
    add_limits(number, rules);
    if (rules.finite || rules.positive || rules.least) return number;
    return book.refer("number", [&] {
      return Json{{"description", "Where JSON has no number, a word"},
                  {"anyOf", {number, {{"type", "string"}, {"enum", {"inf", "-inf", "nan"}}}}}};
    });
  }
  bool empty(const void* value) const override { return field::as<double>(value) == 0; }
  std::string_view plural() const override { return "numbers"; }
};

/// T: JSON, or a text that holds it.
template <typename T>
class JsonType final : public FieldType {
  static constexpr bool kIsText = std::is_same_v<T, std::string>;
  Json write(const void* value, const FieldRules&) const override {
    if constexpr (kIsText)
      return Json::parse(field::as<T>(value), nullptr, /*allow_exceptions=*/false);
    return field::as<Json>(value);
  }
  Status read(void* target, const Json& json, const FieldPlace& place,
              const FieldRules& rules) const override {
    if (rules.object && !json.is_object()) return place.error(wrong_type("an object", json));
    if constexpr (kIsText) {
      field::as<T>(target) = dump(json);
    } else {
      field::as<T>(target) = json;
    }
    return {};
  }
  Json schema(const FieldRules& rules, SchemaBook&) const override {
    return rules.object ? Json{{"type", "object"}} : Json::object();
  }
  bool empty(const void* value) const override { return field::as<T>(value).empty(); }
  std::string_view plural() const override { return "values"; }
};

class WordType final : public FieldType {
 public:
  explicit WordType(WordOps ops) : ops_(ops) {}
  Json write(const void* value, const FieldRules&) const override { return ops_.name(value); }
  Status read(void* target, const Json& json, const FieldPlace& place,
              const FieldRules&) const override {
    if (!json.is_string()) return place.error(wrong_type("a string", json));
    const auto& text = json.get_ref<const std::string&>();
    if (ops_.parse(target, text)) return {};
    return place.error("is wrong: " + ops_.parse(target, excerpt(text)).error().message);
  }
  Json schema(const FieldRules&, SchemaBook&) const override {
    Json schema = {{"type", "string"}};
    if (const auto all = ops_.all(); !all.empty()) schema["enum"] = all;
    if (ops_.pattern != nullptr) schema["pattern"] = fmt::format("^{}$", ops_.pattern);
    return schema;
  }
  bool empty(const void* value) const override { return ops_.name(value).empty(); }
  std::string_view plural() const override { return "strings"; }

 private:
  WordOps ops_;
};

class OptionalType final : public FieldType {
 public:
  OptionalType(const FieldType& item, OptionalOps ops) : item_(&item), ops_(ops) {}
  Json write(const void* value, const FieldRules& rules) const override {
    const void* item = ops_.get(value);
    return item == nullptr ? Json() : item_->write(item, rules);
  }
  Status read(void* target, const Json& json, const FieldPlace& place,
              const FieldRules& rules) const override {
    if (!json.is_null() || !rules.null)
      return item_->read(ops_.emplace(target), json, place, rules);
    ops_.reset(target);
    return {};
  }
  Json schema(const FieldRules& rules, SchemaBook& book) const override {
    Json item = item_->schema(rules, book);
    if (!rules.null) return item;
    return {{"anyOf", {{{"type", "null"}}, std::move(item)}}};
  }
  bool empty(const void* value) const override { return absent(value); }
  bool absent(const void* value) const override { return ops_.get(value) == nullptr; }
  bool is_optional() const override { return true; }
  std::string_view plural() const override { return item_->plural(); }

 private:
  const FieldType* item_;
  OptionalOps ops_;
};

/// Rules of a field hold for each item, but for those of the list.
FieldRules of_item(FieldRules rules) {
  rules.filled = false;
  rules.items = 0;
  return rules;
}

class ListType final : public FieldType {
 public:
  ListType(const FieldType& item, ListOps ops) : item_(&item), ops_(ops) {}
  Json write(const void* value, const FieldRules& rules) const override {
    Json list = Json::array();
    for (std::size_t i = 0; i < ops_.size(value); ++i)
      list.push_back(item_->write(ops_.at(value, i), rules));
    return list;
  }
  Status read(void* target, const Json& json, const FieldPlace& place,
              const FieldRules& rules) const override {
    const std::size_t size = ops_.resize == nullptr ? ops_.size(target) : rules.items;
    if (size != 0 && (!json.is_array() || json.size() != size))
      return place.error(fmt::format("must be {} {}", counted(size), item_->plural()));
    if (!json.is_array())
      return place.error(wrong_type(fmt::format("a list of {}", item_->plural()), json));
    if (rules.filled && json.empty()) return place.error("must not be empty");
    if (ops_.resize != nullptr) {
      ops_.resize(target, 0);
      ops_.resize(target, json.size());
    }
    for (std::size_t i = 0; i < json.size(); ++i) {
      void* item = const_cast<void*>(ops_.at(target, i));  // of `target`, which is not const
      FATUNE_TRY_STATUS(item_->read(item, json[i], FieldPlace(place, i), of_item(rules)));
    }
    return {};
  }
  Json schema(const FieldRules& rules, SchemaBook& book) const override {
    Json schema = {{"type", "array"}, {"items", item_->schema(of_item(rules), book)}};
    if (rules.filled) schema["minItems"] = 1;
    const std::size_t size = ops_.resize == nullptr ? ops_.size(nullptr) : rules.items;
    if (size != 0) schema["minItems"] = schema["maxItems"] = size;
    return schema;
  }
  bool empty(const void* value) const override { return ops_.size(value) == 0; }
  std::string_view plural() const override { return "lists"; }

  static std::string counted(std::size_t count) {
    constexpr std::string_view kWords[] = {"no", "one", "two", "three", "four"};
    return count < std::size(kWords) ? std::string(kWords[count]) : fmt::format("{}", count);
  }

 private:
  const FieldType* item_;
  ListOps ops_;
};

class MapType final : public FieldType {
 public:
  MapType(const FieldType& item, MapOps ops) : item_(&item), ops_(ops) {}
  Json write(const void* value, const FieldRules& rules) const override {
    Json object = Json::object();
    for (std::size_t i = 0; i < ops_.size(value); ++i) {
      const auto [key, item] = ops_.at(value, i);
      object[key] = item_->write(item, rules);
    }
    return object;
  }
  Status read(void* target, const Json& json, const FieldPlace& place,
              const FieldRules& rules) const override {
    if (!json.is_object()) return place.error(wrong_type("an object", json));
    if (rules.filled && json.empty()) return place.error("must not be empty");
    ops_.clear(target);
    for (const auto& item : json.items()) {
      const FieldPlace here(place, item.key());
      const Result<void*> value = ops_.add(target, item.key());
      if (!value) return here.error("is wrong: " + value.error().message);
      FATUNE_TRY_STATUS(item_->read(*value, item.value(), here, of_item(rules)));
    }
    return {};
  }
  Json schema(const FieldRules& rules, SchemaBook& book) const override {
    Json schema = {{"type", "object"},
                   {"additionalProperties", item_->schema(of_item(rules), book)}};
    if (rules.filled) schema["minProperties"] = 1;
    return schema;
  }
  bool empty(const void* value) const override { return ops_.size(value) == 0; }
  std::string_view plural() const override { return "objects"; }

 private:
  const FieldType* item_;
  MapOps ops_;
};

/// Two members of a record as a list; optional ones are there together or not at all.
class PairType final : public FieldType {
 public:
  using Ends = std::pair<void*, void*>;
  explicit PairType(const FieldType& item) : item_(&item) {}
  Json write(const void* value, const FieldRules& rules) const override {
    const auto& [low, high] = field::as<Ends>(value);
    Json list = Json::array();
    list.push_back(item_->write(low, rules));
    list.push_back(item_->write(high, rules));
    return list;
  }
  Status read(void* target, const Json& json, const FieldPlace& place,
              const FieldRules& rules) const override {
    if (!json.is_array() || json.size() != 2)
      return place.error(fmt::format("must be two {}", item_->plural()));
    const auto& [low, high] = field::as<Ends>(target);
    FATUNE_TRY_STATUS(item_->read(low, json[0], FieldPlace(place, 0), rules));
    return item_->read(high, json[1], FieldPlace(place, 1), rules);
  }
  Json schema(const FieldRules& rules, SchemaBook& book) const override {
    return {
        {"type", "array"}, {"items", item_->schema(rules, book)}, {"minItems", 2}, {"maxItems", 2}};
  }
  bool empty(const void* value) const override { return absent(value); }
  bool absent(const void* value) const override {
    const auto& [low, high] = field::as<Ends>(value);
    return item_->absent(low) || item_->absent(high);
  }
  bool is_optional() const override { return item_->is_optional(); }
  std::string_view plural() const override { return "pairs"; }

 private:
  const FieldType* item_;
};

template <typename Type>
const FieldType& the_type() {
  static const Type type;
  return type;
}

}  // namespace

const FieldType& text_type() { return the_type<TextType<std::string>>(); }
const FieldType& path_type() { return the_type<TextType<std::filesystem::path>>(); }
const FieldType& bool_type() { return the_type<BoolType>(); }
const FieldType& double_type() { return the_type<DoubleType>(); }
const FieldType& json_type() { return the_type<JsonType<Json>>(); }
const FieldType& integer_type(std::size_t bytes, bool is_signed) {
  FATUNE_CHECK(bytes == 8 || (bytes == 4 && is_signed), "records have int, int64 and uint64");
  if (bytes == 4) return the_type<IntegerType<int>>();
  return is_signed ? the_type<IntegerType<std::int64_t>>() : the_type<IntegerType<std::uint64_t>>();
}
const FieldType& make_word_type(WordOps ops) { return *new WordType(ops); }
Field& FieldList::packed(const char* key, std::string& json) {
  return add(key, &json, the_type<JsonType<std::string>>());
}
const FieldType& make_pair_type(const FieldType& item) { return *new PairType(item); }
const FieldType& make_optional_type(const FieldType& item, OptionalOps ops) {
  return *new OptionalType(item, ops);
}
const FieldType& make_list_type(const FieldType& item, ListOps ops) {
  return *new ListType(item, ops);
}
const FieldType& make_map_type(const FieldType& item, MapOps ops) {
  return *new MapType(item, ops);
}

}  // namespace fatune
