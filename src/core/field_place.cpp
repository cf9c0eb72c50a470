// field_place.cpp: Names the places of fields, and refuses documents of other versions.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/text.hpp"

namespace fatune {
namespace {

/// The last program that reads and writes the formats from before the first release.
constexpr const char* kFormerReader = "fatune at commit 2b9a2ab5";

}  // namespace

std::string FieldPlace::steps() const {
  if (parent_ == nullptr) return {};
  std::string before = parent_->steps();
  if (key_.empty()) return fmt::format("{}[{}]", before, index_);
  return before + (before.empty() ? "" : ".") + excerpt(key_);
}

std::string FieldPlace::text() const {
  const FieldPlace* root = this;
  while (root->parent_ != nullptr) root = root->parent_;
  const std::string& where = *root->where_;
  return parent_ == nullptr ? where : field_place(where, steps());
}

Error FieldPlace::error(const std::string& problem) const {
  const std::string place = text();
  return file_error(place + (place.ends_with('\'') ? " " : ": ") + problem);
}

Status check_version(const Json& document, const std::string& where, std::string_view family,
                     const FormerFormats& former) {
  const Fields fields(document, where);
  FATUNE_TRY(const std::string schema, fields.text("schema"));
  const std::string current = fmt::format("{}/1", family);
  const bool of_family = schema.starts_with(fmt::format("{}/", family));
  const auto version =
      of_family ? parse_integer(std::string_view(schema).substr(family.size() + 1)) : std::nullopt;
  if (!version || *version < 1)
    return fields.error("schema", fmt::format("is '{}', not {}", excerpt(schema), current));
  const bool spelled = former.spells_one != nullptr && former.spells_one(document);
  if (*version == 1 ? spelled : *version <= former.newest) {
    return file_error(fmt::format("{}: is a {} from before the first release; {} reads it", where,
                                  schema, kFormerReader));
  }
  if (*version == 1) return {};
  return file_error(
      fmt::format("{}: is a {}, written by a newer fatune; this one reads {}. Update "
                  "fatune to read it",
                  where, schema, current));
}

}  // namespace fatune
