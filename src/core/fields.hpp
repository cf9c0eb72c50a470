// fields.hpp: Declares the list of a record's fields, from which writer, reader and schema follow.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/json.hpp"

namespace fatune {

class FieldList;

/// Where in a document a value stands.
class FieldPlace {
 public:
  /// `where` goes in front of errors; it may itself end in "field 'a'".
  explicit FieldPlace(const std::string& where) : where_(&where) {}
  FieldPlace(const FieldPlace& parent, std::string_view key) : parent_(&parent), key_(key) {}
  FieldPlace(const FieldPlace& parent, std::size_t index) : parent_(&parent), index_(index) {}

  std::string text() const;  ///< "x.json: field 'a.b[2]'"
  Error error(const std::string& problem) const;

 private:
  std::string steps() const;

  const std::string* where_ = nullptr;
  const FieldPlace* parent_ = nullptr;
  std::string_view key_;
  std::size_t index_ = 0;
};

/// A field in which two records differ; both values as texts.
struct Difference {
  std::string key;
  std::string option;  ///< what the field's list says; empty: nothing
  std::string before, now;
};
std::optional<Difference> first_difference(const FieldList& before, const FieldList& now);

/// Limits of a value besides its type: checked on reading, and part of the schema.
struct FieldRules {
  std::optional<std::int64_t> least{}, most{};  ///< of a number, or of each number of a list
  bool positive = false;                        ///< more than 0
  bool finite = false;                          ///< without "inf", "-inf" and "nan"
  bool filled = false;                          ///< not empty; a text has more than spaces
  bool null = false;                            ///< an empty optional is written as null
  bool object = false;                          ///< of JSON as it is: {...}
  std::size_t items = 0;                        ///< of a list; 0: any number
  std::string_view words{};                     ///< "hot, cold": the only texts allowed
  const char* pattern = nullptr;                ///< of a text: a regular expression
  std::string_view pattern_noun{};              ///< "an identifier", for errors; empty: not checked
  const char* schema = nullptr;                 ///< JSON text that stands for the type's own schema
};

/// The named schemas of a document.
class SchemaBook {
 public:
  /// A reference to `name`, whose schema `make` is asked for once.
  Json refer(const std::string& name, const std::function<Json()>& make);
  const Json& definitions() const { return *definitions_; }
  SchemaBook();
  ~SchemaBook();

 private:
  std::unique_ptr<Json> definitions_;
};

/// How values of a type are written and read; the values are known by their addresses only.
class FieldType {
 public:
  virtual ~FieldType() = default;
  virtual Json write(const void* value, const FieldRules& rules) const = 0;
  virtual Status read(void* target, const Json& json, const FieldPlace& place,
                      const FieldRules& rules) const = 0;
  virtual Json schema(const FieldRules& rules, SchemaBook& book) const = 0;
  virtual bool empty(const void* value) const = 0;
  virtual bool absent(const void*) const { return false; }  ///< an optional without a value
  virtual bool is_optional() const { return false; }
  virtual std::string_view plural() const = 0;  ///< "strings"
};

template <typename T>
const FieldType& field_type();

/// A member of a record; the functions that return *this are chained in the record's list.
class Field {
 public:
  Field(const char* key, void* value, const FieldType& type)
      : key_(key), value_(value), type_(&type) {}

  /// Reading fails without it.
  Field& required() { return set(required_); }
  /// Not written when empty, false or 0.
  Field& omitted() { return set(omitted_); }
  /// An empty optional is written as null.
  Field& or_null() { return set(rules_.null); }
  /// Not part of difference().
  Field& incidental() { return set(incidental_); }
  Field& at_least(std::int64_t least) { return rules_.least = least, *this; }
  Field& range(std::int64_t least, std::int64_t most) {
    return rules_.most = most, at_least(least);
  }
  Field& positive() { return set(rules_.positive); }
  Field& finite() { return set(rules_.finite); }
  Field& filled() { return set(rules_.filled); }
  Field& object() { return set(rules_.object); }
  /// The number of items of a list.
  Field& items(std::size_t count) { return rules_.items = count, *this; }
  /// "hot, cold, score".
  Field& one_of(std::string_view words) { return rules_.words = words, *this; }
  /// `noun` is for the error: "is 'x', not an identifier".
  Field& matching(const char* pattern, std::string_view noun) {
    return rules_.pattern_noun = noun, looks_like(pattern);
  }
  /// Describes the text that fatune writes; readers take any text.
  Field& looks_like(const char* pattern) { return rules_.pattern = pattern, *this; }
  /// Missing, it is what `other`, a field before it, has been read as.
  Field& same_as(const void* other) { return fallback_ = other, *this; }
  /// Not written now: what it holds was not measured or is unknown.
  Field& absent_if(bool unknown) { return unknown_ = unknown, set(may_lack_); }
  /// In the words of a user: "--seed". For differences.
  Field& option(const char* option) { return option_ = option, *this; }
  /// One line for the schema.
  Field& about(const char* text) { return about_ = text, *this; }
  /// JSON text that stands in the schema for what the type says.
  Field& schema(const char* text) { return rules_.schema = text, *this; }
  /// The schema's text refers to the definition of T, a record with a name.
  template <typename T>
  Field& refers_to() {
    return referred_ = &field_type<T>(), *this;
  }

 private:
  friend class RecordType;
  friend std::optional<Difference> first_difference(const FieldList&, const FieldList&);
  Field& set(bool& flag) { return flag = true, *this; }

  const char* key_;
  void* value_;
  const FieldType* type_;
  FieldRules rules_;
  const void* fallback_ = nullptr;
  const char* about_ = nullptr;
  const char* option_ = nullptr;
  const FieldType* referred_ = nullptr;
  bool required_ = false, omitted_ = false, incidental_ = false;
  bool may_lack_ = false, unknown_ = false;
};

template <auto kKey, auto kValue, typename T>
const FieldType& keyed_type(const std::vector<T>*);
/// A list of such lists.
template <auto kKey, auto kValue, typename T>
const FieldType& keyed_type(const std::vector<std::vector<T>>*);
template <auto kList, typename T>
const FieldType& listed_type();
const FieldType& make_pair_type(const FieldType& item);

/// Takes a member's value; errors name the place.
using FieldReader = std::function<Status(const Json&, const FieldPlace&)>;

/// The formats of a document before the first release, which are refused.
struct FormerFormats {
  int newest = 1;                             ///< version
  bool (*spells_one)(const Json&) = nullptr;  ///< whether a document of version 1 is in one of them
};

/// The fields of one record in the order in which they are written. A record has a function
/// `void fields(X& x, FieldList& f)` beside it that fills one: `f("seed", x.seed).required();`.
class FieldList {
 public:
  FieldList();
  ~FieldList();

  template <typename T>
  Field& operator()(const char* key, T& member) {
    return add(key, &member, field_type<T>());
  }
  /// A list as an object: of each item, the member `kKey` is the key, and the value is the rest of
  /// its fields, or its member `kValue`.
  template <auto kKey, auto kValue = nullptr, typename T>
  Field& keyed(const char* key, std::vector<T>& member) {
    return add(key, &member, keyed_type<kKey, kValue>(&member));
  }
  /// A record, or an optional or list of records, by another list than that of its type.
  template <auto kList, typename T>
  Field& as(const char* key, T& member) {
    return add(key, &member, listed_type<kList, T>());
  }
  /// Two members as a list; left out when either is empty.
  template <typename T>
  Field& pair(const char* key, T& low, T& high) {
    static const FieldType& type = make_pair_type(field_type<T>());
    return add(key, &keep(std::pair<void*, void*>(&low, &high)), type);
  }
  /// Members of this record that stand in an object of their own.
  Field& group(const char* key, const std::function<void(FieldList&)>& list);
  /// A text that holds JSON, written as what it holds.
  Field& packed(const char* key, std::string& json);
  /// Read by a function, and not written: a member with spellings of its own.
  Field& read_by(const char* key, FieldReader read);
  template <typename T>
  Field& read_by(const char* key, T& x, Status (*read)(T&, const Json&, const FieldPlace&)) {
    return read_by(key, [&x, read](const Json& j, const FieldPlace& p) { return read(x, j, p); });
  }
  /// Written, and not read: what follows from other members.
  template <typename T>
  Field& derived(const char* key, T value) {
    return (*this)(key, keep(std::move(value)));
  }
  template <auto kList, typename T>
  Field& derived_as(const char* key, T value) {
    return as<kList>(key, keep(std::move(value)));
  }
  /// A member that always has this text, by which records of a variant are told apart.
  void tag(const char* key, const char* text) {
    tag_key_ = key;
    tag_ = text;
  }
  /// The record is a whole file, with "schema": "fatune.best/1".
  void document(const char* family, FormerFormats former = {}) {
    family_ = family;
    former_ = former;
  }
  /// `name` is that of the schema's definition.
  void record(const char* name, const char* about = nullptr) {
    name_ = name;
    about_ = about;
  }
  /// JSON text of more members of the record's schema: "if", "anyOf".
  void conditions(const char* text) { conditions_ = text; }
  /// Fields that are not listed are refused by name; else they are ignored.
  void closed() { closed_ = true; }
  /// People write the record: it is closed, and in the schema too only required() members must be
  /// there. A document may name its schema for an editor, as `$schema`.
  void by_hand();
  /// After reading: `fault` returns what is wrong with the field, or nothing. An empty key stands
  /// for the record.
  void rule(const char* key, std::function<std::string()> fault) {
    rules_.push_back({key, std::move(fault), false});
  }
  /// The same of a field deeper in the record: `fault` may name it first, "[2].element", then a
  /// space.
  void rule_within(const char* key, std::function<std::string()> fault) {
    rules_.push_back({key, std::move(fault), true});
  }
  /// True when the record is one with `part`, which is so if it has the key: what `part` stands for
  /// is then listed, and else what it replaces.
  template <typename T>
  bool chooses(const char* key, std::optional<T>& part) {
    const bool chosen = chooses(key, part.has_value());
    if (chosen && !part) part.emplace();
    return chosen;
  }
  bool chooses(const char* key, bool now);  ///< the same of a part that the caller makes

 private:
  friend class RecordType;
  friend class VariantType;
  friend class GroupType;
  friend std::optional<Difference> first_difference(const FieldList&, const FieldList&);
  struct Rule {
    const char* key;
    std::function<std::string()> fault;
    bool within;
  };
  Field& add(const char* key, void* value, const FieldType& type);
  template <typename T>
  T& keep(T value) {
    auto kept = std::make_shared<T>(std::move(value));
    kept_.push_back(kept);
    return *kept;
  }

  std::vector<Field> fields_;
  std::vector<Rule> rules_;
  std::vector<std::shared_ptr<void>> kept_;
  const char* name_ = nullptr;
  const char* about_ = nullptr;
  const char* conditions_ = nullptr;
  const char* tag_key_ = nullptr;
  const char* tag_ = nullptr;
  const char* family_ = nullptr;
  FormerFormats former_;
  bool closed_ = false;
  bool by_hand_ = false;
  const Json* input_ = nullptr;  ///< while reading
  std::optional<bool> branch_;   ///< for schemas: what chooses() answers
  bool branches_ = false;        ///< chooses() was asked
};

/// A type that is written as a word; found as `FieldWord<T> word_of(const T*)`, beside `name(x)`.
template <typename T>
struct FieldWord {
  Result<T> (*parse)(std::string_view text);
  std::span<const T> all = {};    ///< every word; empty: see pattern
  const char* pattern = nullptr;  ///< for the schema
};

template <typename T>
concept ListsFields = requires(T& x, FieldList& f) {
  fields(x, f);
};
template <typename T>
concept IsWord = requires(const T* x) {
  word_of(x);
};

/// An error unless the document's "schema" is `family` with "/1", in today's spelling.
Status check_version(const Json& document, const std::string& where, std::string_view family,
                     const FormerFormats& former = {});

Json schema_document(const FieldType& type, const char* name, const char* about);

}  // namespace fatune

#include "core/field_types.hpp"

namespace fatune {

template <typename T>
concept Written = ListsFields<T> || requires {
  typename std::variant_size<T>::type;
};

/// J lets the caller alone need the whole of <nlohmann/json.hpp>.
template <Written T, typename J = Json>
J to_json(const T& x) {
  return field_type<T>().write(&x, {});
}

/// Errors read "where: field 'a.b[2]' is missing".
template <Written T>
Result<T> read_value(const Json& json, const std::string& where) {
  T x{};
  FATUNE_TRY_STATUS(field_type<T>().read(&x, json, FieldPlace(where), {}));
  return x;
}

/// The first field, in the order of the list, in which two records differ.
template <ListsFields T>
std::optional<Difference> difference(T before, T now) {
  FieldList one, other;
  fields(before, one);
  fields(now, other);
  return first_difference(one, other);
}

/// The JSON Schema of what to_json() writes: `name` is that of its file, say "best.1".
template <Written T, typename J = Json>
J schema_of(const char* name, const char* about = nullptr) {
  return schema_document(field_type<T>(), name, about);
}

}  // namespace fatune
