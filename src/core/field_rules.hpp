// field_rules.hpp - the types of fields behind fields.hpp, and their rules; for fields*.cpp only.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/fields.hpp"

namespace fatune {

class RecordType final : public FieldType {
 public:
  explicit RecordType(RecordOps ops) : ops_(ops) {}
  Json write(const void* value, const FieldRules& rules) const override;
  Status read(void* target, const Json& json, const FieldPlace& place,
              const FieldRules& rules) const override;
  Json schema(const FieldRules& rules, SchemaBook& book) const override;
  bool empty(const void* value) const override;
  std::string_view plural() const override { return "objects"; }
  /// The record's own schema, where a name would stand for it.
  Json whole_schema(SchemaBook& book) const;
  /// The same of a list at hand.
  static Json write_list(const FieldList& list);
  static Status read_list(const FieldList& list, const Json& json, const FieldPlace& outer);
  static Json object_schema(const FieldList& list, SchemaBook& book);

 private:
  static Status read_field(const Field& field, const Json& json, const FieldPlace& place);
  static Status check_tag(const FieldList& list, const Json& json, const FieldPlace& outer);
  static Status refuse_unknown(const FieldList& list, const Json& json, const FieldPlace& place);
  static Json field_schema(const Field& field, const FieldRules& rules, SchemaBook& book);
  static Json named_schema(const FieldList& list, SchemaBook& book);
  void list_branch(void* record, bool branch, FieldList& list) const;

  RecordOps ops_;
};

/// Members of a record in an object of their own; the value is their list.
class GroupType final : public FieldType {
 public:
  Json write(const void* value, const FieldRules& rules) const override;
  Status read(void* target, const Json& json, const FieldPlace& place,
              const FieldRules& rules) const override;
  Json schema(const FieldRules& rules, SchemaBook& book) const override;
  bool empty(const void*) const override { return false; }
  std::string_view plural() const override { return "objects"; }
};
const FieldType& group_type();

class VariantType final : public FieldType {
 public:
  explicit VariantType(VariantOps ops);
  Json write(const void* value, const FieldRules& rules) const override;
  Status read(void* target, const Json& json, const FieldPlace& place,
              const FieldRules& rules) const override;
  Json schema(const FieldRules& rules, SchemaBook& book) const override;
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

/// One of a type, for as long as the program runs.
template <typename Type, typename... Args>
const FieldType& keep_type(Args&&... args) {
  return *new Type(std::forward<Args>(args)...);
}

}  // namespace fatune
