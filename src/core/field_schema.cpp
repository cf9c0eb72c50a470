// field_schema.cpp - lists of fields to JSON Schema, named records once under $defs.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/field_rules.hpp"

namespace fatune {
namespace {

/// What the field says of itself stands in front of what its type says.
Json described(const char* about, Json schema) {
  if (about == nullptr) return schema;
  Json whole = {{"description", about}};
  whole.update(schema);
  return whole;
}

}  // namespace

SchemaBook::SchemaBook() : definitions_(std::make_unique<Json>(Json::object())) {}
SchemaBook::~SchemaBook() = default;

Json SchemaBook::refer(const std::string& name, const std::function<Json()>& make) {
  if (!definitions_->contains(name)) {
    (*definitions_)[name] = nullptr;  // takes its place in the order, before what it refers to
    Json made = make();
    (*definitions_)[name] = std::move(made);
  }
  return {{"$ref", "#/$defs/" + name}};
}

Json RecordType::field_schema(const Field& field, const FieldRules& rules, SchemaBook& book) {
  if (rules.schema != nullptr) return *parse_json(rules.schema, field.key_);
  if (field.type_ == &group_type()) return object_schema(field::as<FieldList>(field.value_), book);
  return field.type_->schema(rules, book);
}

Json RecordType::object_schema(const FieldList& list, SchemaBook& book) {
  Json properties = Json::object();
  Json required = Json::array();
  const auto constant = [&](const char* key, const std::string& text) {
    properties[key] = {{"const", text}};
    required.push_back(key);
  };
  if (list.family_ != nullptr)
    constant("schema", fmt::format("{}/{}", list.family_, list.version_));
  if (list.tag_ != nullptr) constant(list.tag_key_, list.tag_);
  for (const Field& each : list.fields_) {
    if (each.until_ > 0) continue;
    FieldRules rules = each.rules_;
    rules.filled = rules.filled || each.omitted_;
    properties[each.key_] = described(each.about_, field_schema(each, rules, book));
    const bool may_lack = each.omitted_ || each.may_lack_ ||
                          (each.type_->is_optional() && !rules.null && !each.required_);
    if (!may_lack) required.push_back(each.key_);
  }
  Json schema = described(list.about_, {{"type", "object"}, {"properties", properties}});
  if (!required.empty()) schema["required"] = std::move(required);
  schema["additionalProperties"] = false;
  return schema;
}

Json RecordType::named_schema(const FieldList& list, SchemaBook& book) {
  if (list.name_ == nullptr) return object_schema(list, book);
  return book.refer(list.name_, [&] { return object_schema(list, book); });
}

void RecordType::list_branch(void* record, bool branch, FieldList& list) const {
  list.branch_ = branch;
  ops_.list(record, list);
}

Json RecordType::schema(const FieldRules&, SchemaBook& book) const {
  const std::shared_ptr<void> record = ops_.make();
  FieldList usual;
  list_branch(record.get(), false, usual);
  Json schema = named_schema(usual, book);
  if (!usual.branches_) return schema;
  FieldList chosen;
  list_branch(record.get(), true, chosen);
  return {{"oneOf", {std::move(schema), named_schema(chosen, book)}}};
}

Json RecordType::whole_schema(SchemaBook& book) const {
  const std::shared_ptr<void> record = ops_.make();
  FieldList usual;
  list_branch(record.get(), false, usual);
  if (usual.branches_) return schema({}, book);
  return object_schema(usual, book);
}

Json GroupType::schema(const FieldRules&, SchemaBook&) const { return Json::object(); }

Json VariantType::schema(const FieldRules& rules, SchemaBook& book) const {
  Json kinds = Json::array();
  for (const Kind& kind : kinds_) kinds.push_back(kind.type->schema(rules, book));
  return {{"oneOf", std::move(kinds)}};
}

Json schema_document(const FieldType& type, const char* name, const char* about) {
  SchemaBook book;
  const auto* record = dynamic_cast<const RecordType*>(&type);
  const Json whole = record == nullptr ? type.schema({}, book) : record->whole_schema(book);
  const std::string file = fmt::format("{}.json", name);
  std::string title = fmt::format("fatune.{}", name);
  if (const auto dot = title.rfind('.'); dot != std::string::npos) title[dot] = '/';
  Json document = {
      {"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"$id", file}, {"title", title}};
  if (about != nullptr) document["description"] = about;
  document.update(whole);
  if (!book.definitions().empty()) document["$defs"] = book.definitions();
  return document;
}

}  // namespace fatune
