// fields.cpp: Writes, reads, compares and describes records by their lists of fields.
#include "core/fields.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/text.hpp"

namespace fatune {
namespace {

/// As a person writes it: lists without brackets, on and off.
std::string plain(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "on" : "off";
  if (!value.is_array()) return value.is_null() ? "" : dump(value);
  std::vector<std::string> items;
  for (const Json& item : value) items.push_back(plain(item));
  return join(items, ",");
}

/// Puts the field's own description in front of its type's schema.
Json described(const char* about, Json schema) {
  if (about == nullptr) return schema;
  Json whole = {{"description", about}};
  whole.update(schema);
  return whole;
}

const FieldType& group_type();

/// Adds a fault of a record's field to those before it; the first one names the file.
void add_fault(std::optional<Error>& faults, const Status& read) {
  if (read) return;
  const std::string& fault = read.error().message;
  const std::size_t field = fault.find("field '");
  if (faults) faults->message += "; " + fault.substr(field == std::string::npos ? 0 : field);
  if (!faults) faults = read.error();
}

}  // namespace

FieldList::FieldList() { fields_.reserve(24); }
FieldList::~FieldList() = default;

Field& FieldList::add(const char* key, void* value, const FieldType& type) {
  return fields_.emplace_back(key, value, type);
}

bool FieldList::chooses(const char* key, bool now) {
  branches_ = true;
  if (branch_) return *branch_;
  return input_ == nullptr ? now : input_->contains(key);
}

class RecordType final : public FieldType {
 public:
  explicit RecordType(RecordOps ops) : ops_(ops) {}
  Json write(const void* value, const FieldRules&) const override {
    FieldList list;
    ops_.list(const_cast<void*>(value), list);  // lists are filled, not the record
    return write_list(list);
  }
  Status read(void* target, const Json& json, const FieldPlace& outer,
              const FieldRules&) const override {
    if (!json.is_object()) return outer.error(wrong_type("an object", json));
    FieldList list;
    list.input_ = &json;
    ops_.list(target, list);
    return read_list(list, json, outer);
  }
  Json schema(const FieldRules&, SchemaBook& book) const override {
    const std::shared_ptr<void> record = ops_.make();
    FieldList usual;
    list_branch(record.get(), false, usual);
    Json schema = named_schema(usual, book);
    if (!usual.branches_) return schema;
    FieldList chosen;
    list_branch(record.get(), true, chosen);
    return {{"anyOf", {std::move(schema), named_schema(chosen, book)}}};
  }
  bool empty(const void* value) const override { return write(value, {}).empty(); }
  std::string_view plural() const override { return "objects"; }

  /// The record's own schema, where a name would stand for it.
  Json whole_schema(SchemaBook& book) const {
    const std::shared_ptr<void> record = ops_.make();
    FieldList usual;
    list_branch(record.get(), false, usual);
    if (usual.branches_) return schema({}, book);
    return object_schema(usual, book);
  }

  /// The same of a list at hand.
  static Json write_list(const FieldList& list) {
    Json object = Json::object();
    if (list.family_ != nullptr) object["schema"] = schema_name(list);
    if (list.tag_ != nullptr) object[list.tag_key_] = list.tag_;
    for (const Field& each : list.fields_) {
      const bool left_out = each.omitted_ ? each.type_->empty(each.value_)
                                          : each.type_->absent(each.value_) && !each.rules_.null;
      if (!left_out && !each.unknown_)
        object[each.key_] = each.type_->write(each.value_, each.rules_);
    }
    return object;
  }

  static Status read_list(const FieldList& list, const Json& json, const FieldPlace& place) {
    Status version;
    if (list.family_ != nullptr)
      version = check_version(json, place.text(), list.family_, list.former_);
    if (!version && json.contains("schema")) return version;
    if (list.tag_ != nullptr) FATUNE_TRY_STATUS(check_tag(list, json, place));
    std::optional<Error> faults;
    std::vector<std::string> meant;
    if (list.closed_) meant = note_unknown(list, json, place, faults);
    if (std::ranges::count(meant, "schema") == 0) add_fault(faults, version);
    bool broken = false;  // values behind a wrong value may depend on it
    for (const Field& each : list.fields_) {
      if (broken && json.contains(each.key_)) continue;
      const Status read = read_field(each, json, place);
      if (read || std::ranges::count(meant, each.key_) > 0) continue;
      broken = broken || json.contains(each.key_);
      add_fault(faults, read);
    }
    if (faults) return *faults;
    for (const FieldList::Rule& rule : list.rules_) {
      const std::string fault = rule.fault();
      if (fault.empty()) continue;
      const std::size_t space = rule.within ? fault.find(' ') : 0;
      if (rule.within) {
        return file_error(field_place(place.text(), rule.key + fault.substr(0, space)) +
                          fault.substr(space));
      }
      if (*rule.key != 0) return FieldPlace(place, rule.key).error(fault);
      return file_error(place.text() + ": " + fault);
    }
    return {};
  }

  static Json object_schema(const FieldList& list, SchemaBook& book) {
    Json properties = Json::object();
    Json required = Json::array();
    const auto constant = [&](const char* key, const std::string& text) {
      properties[key] = {{"type", "string"}, {"const", text}};
      required.push_back(key);
    };
    if (list.family_ != nullptr) constant("schema", schema_name(list));
    if (list.tag_ != nullptr) constant(list.tag_key_, list.tag_);
    for (const Field& each : list.fields_) {
      FieldRules rules = each.rules_;
      rules.filled = rules.filled || each.omitted_;
      properties[each.key_] = described(each.about_, field_schema(each, rules, book));
      const bool may_lack = each.omitted_ || each.may_lack_ || (list.by_hand_ && !each.required_) ||
                            (each.type_->is_optional() && !rules.null && !each.required_);
      if (!may_lack) required.push_back(each.key_);
    }
    Json schema = described(list.about_, {{"type", "object"}, {"properties", properties}});
    if (!required.empty()) schema["required"] = std::move(required);
    schema["additionalProperties"] = false;
    if (list.conditions_ != nullptr) schema.update(*parse_json(list.conditions_, "conditions"));
    return schema;
  }

 private:
  static std::string schema_name(const FieldList& list) {
    return fmt::format("{}/1", list.family_);
  }

  static Status check_tag(const FieldList& list, const Json& json, const FieldPlace& outer) {
    const FieldPlace place(outer, list.tag_key_);
    const auto found = json.find(list.tag_key_);
    if (found == json.end()) return place.error("is missing");
    if (*found == list.tag_) return {};
    return place.error(fmt::format("is {}, not '{}'", excerpt(dump(*found)), list.tag_));
  }

  static Status read_field(const Field& field, const Json& json, const FieldPlace& place) {
    const auto found = json.find(field.key_);
    const FieldRules& rules = field.rules_;
    const FieldPlace here(place, field.key_);
    if (found != json.end()) return field.type_->read(field.value_, *found, here, rules);
    if (field.required_) return here.error("is missing");
    if (field.fallback_ == nullptr) return {};
    return field.type_->read(field.value_, field.type_->write(field.fallback_, rules), here, rules);
  }

  /// Adds the keys that a closed list lacks, and returns the fields for which they were meant.
  static std::vector<std::string> note_unknown(const FieldList& list, const Json& json,
                                               const FieldPlace& place,
                                               std::optional<Error>& faults) {
    std::vector<std::string> known, meant;
    if (list.family_ != nullptr) known.emplace_back("schema");
    if (list.tag_ != nullptr) known.emplace_back(list.tag_key_);
    for (const Field& each : list.fields_) known.emplace_back(each.key_);
    for (const auto& item : json.items()) {
      if (std::ranges::count(known, item.key()) > 0) continue;
      add_fault(faults, FieldPlace(place, item.key()).error(unknown_key(item.key(), known)));
      meant.push_back(nearest_name(item.key(), known).value_or(""));
    }
    return meant;
  }

  static Json field_schema(const Field& field, const FieldRules& rules, SchemaBook& book) {
    if (field.referred_ != nullptr) field.referred_->schema({}, book);
    if (rules.schema != nullptr) return *parse_json(rules.schema, field.key_);
    if (field.type_ == &group_type())
      return object_schema(field::as<FieldList>(field.value_), book);
    return field.type_->schema(rules, book);
  }

  static Json named_schema(const FieldList& list, SchemaBook& book) {
    if (list.name_ == nullptr) return object_schema(list, book);
    return book.refer(list.name_, [&] { return object_schema(list, book); });
  }

  void list_branch(void* record, bool branch, FieldList& list) const {
    list.branch_ = branch;
    ops_.list(record, list);
  }

  RecordOps ops_;
};

/// Members of a record in an object of their own; the value is their list.
class GroupType final : public FieldType {
 public:
  Json write(const void* value, const FieldRules&) const override {
    return RecordType::write_list(field::as<FieldList>(value));
  }
  Status read(void* target, const Json& json, const FieldPlace& place,
              const FieldRules&) const override {
    if (!json.is_object()) return place.error(wrong_type("an object", json));
    return RecordType::read_list(field::as<FieldList>(target), json, place);
  }
  Json schema(const FieldRules&, SchemaBook&) const override { return Json::object(); }
  bool empty(const void*) const override { return false; }
  std::string_view plural() const override { return "objects"; }
};

/// A function reads the member.
class ReaderType final : public FieldType {
 public:
  Json write(const void*, const FieldRules&) const override { return {}; }
  Status read(void* target, const Json& json, const FieldPlace& place,
              const FieldRules&) const override {
    return field::as<FieldReader>(target)(json, place);
  }
  Json schema(const FieldRules&, SchemaBook&) const override { return Json::object(); }
  bool empty(const void*) const override { return true; }
  bool absent(const void*) const override { return true; }
  std::string_view plural() const override { return "values"; }
};

namespace {

const FieldType& group_type() {
  static const GroupType type;
  return type;
}

}  // namespace

class VariantType final : public FieldType {
 public:
  explicit VariantType(VariantOps ops) : ops_(std::move(ops)) {
    for (const RecordOps& each : ops_.types) {
      const std::shared_ptr<void> record = each.make();
      FieldList list;
      each.list(record.get(), list);
      if (list.tag_ != nullptr) tag_key_ = list.tag_key_;
      kinds_.push_back({list.tag_ == nullptr ? "" : list.tag_, &make_record_type(each)});
    }
  }
  Json write(const void* value, const FieldRules& rules) const override {
    return kinds_[ops_.index(value)].type->write(ops_.get(value), rules);
  }
  Status read(void* target, const Json& json, const FieldPlace& place,
              const FieldRules& rules) const override {
    if (!json.is_object()) return place.error(wrong_type("an object", json));
    const auto found = json.find(tag_key_);
    if (found == json.end()) return FieldPlace(place, tag_key_).error("is missing");
    if (!found->is_string())
      return FieldPlace(place, tag_key_).error(wrong_type("a string", *found));
    const auto& tag = found->get_ref<const std::string&>();
    for (std::size_t i = 0; i < kinds_.size(); ++i) {
      if (kinds_[i].tag != tag) continue;
      return kinds_[i].type->read(ops_.emplace(target, i), json, place, rules);
    }
    return FieldPlace(place, tag_key_)
        .error(fmt::format("is '{}', a kind of record this version does not know", excerpt(tag)));
  }
  Json schema(const FieldRules& rules, SchemaBook& book) const override {
    Json kinds = Json::array();
    for (const Kind& kind : kinds_) kinds.push_back(kind.type->schema(rules, book));
    return {{"anyOf", std::move(kinds)}};
  }
  bool empty(const void*) const override { return false; }
  std::string_view plural() const override { return "objects"; }

 private:
  struct Kind {
    std::string tag;
    const FieldType* type;
  };
  VariantOps ops_;
  std::string tag_key_;
  std::vector<Kind> kinds_;
};

Field& FieldList::group(const char* key, const std::function<void(FieldList&)>& list) {
  FieldList& members = keep(FieldList());
  list(members);
  return add(key, &members, group_type());
}

Field& FieldList::read_by(const char* key, FieldReader read) {
  static const ReaderType type;
  return add(key, &keep(std::move(read)), type);
}

void FieldList::by_hand() {
  closed_ = by_hand_ = true;
  if (family_ == nullptr) return;
  read_by("$schema", [](const Json&, const FieldPlace&) { return Status(); })
      .schema(R"({"type":"string"})")
      .about("For an editor: where this schema lies");
}

const FieldType& make_record_type(RecordOps ops) { return *new RecordType(ops); }
const FieldType& make_variant_type(VariantOps ops) { return *new VariantType(std::move(ops)); }

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

std::optional<Difference> first_difference(const FieldList& before, const FieldList& now) {
  for (std::size_t i = 0; i < before.fields_.size() && i < now.fields_.size(); ++i) {
    const Field& old = before.fields_[i];
    const Field& fresh = now.fields_[i];
    if (old.incidental_) continue;
    const Json was = old.type_->write(old.value_, old.rules_);
    const Json is = fresh.type_->write(fresh.value_, fresh.rules_);
    if (was == is && std::string_view(old.key_) == fresh.key_) continue;
    return Difference{old.key_, old.option_ == nullptr ? "" : old.option_, plain(was), plain(is)};
  }
  return std::nullopt;
}

}  // namespace fatune
