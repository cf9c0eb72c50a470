// field_containers.cpp - optionals, lists, maps and pairs to JSON and back.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/field_rules.hpp"

namespace fatune {
namespace {

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
    return {{"oneOf", {{{"type", "null"}}, std::move(item)}}};
  }
  bool empty(const void* value) const override { return absent(value); }
  bool absent(const void* value) const override { return ops_.get(value) == nullptr; }
  bool is_optional() const override { return true; }
  std::string_view plural() const override { return item_->plural(); }

 private:
  const FieldType* item_;
  OptionalOps ops_;
};

/// Rules of a field hold for each item, but for filled.
FieldRules of_item(FieldRules rules) {
  rules.filled = false;
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
    if (ops_.resize == nullptr && (!json.is_array() || json.size() != ops_.size(target)))
      return place.error(fmt::format("must be {} {}", counted(ops_.size(target)), item_->plural()));
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
    if (ops_.resize != nullptr) return schema;
    schema["minItems"] = schema["maxItems"] = ops_.size(nullptr);
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

}  // namespace

const FieldType& make_pair_type(const FieldType& item) { return keep_type<PairType>(item); }
const FieldType& make_optional_type(const FieldType& item, OptionalOps ops) {
  return keep_type<OptionalType>(item, ops);
}
const FieldType& make_list_type(const FieldType& item, ListOps ops) {
  return keep_type<ListType>(item, ops);
}
const FieldType& make_map_type(const FieldType& item, MapOps ops) {
  return keep_type<MapType>(item, ops);
}

}  // namespace fatune
