// implementation.cpp - names with a colon to origins and variants; fields of what travels.
#include "worker/protocol/implementation.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/fields.hpp"

namespace fatune {
void fields(OutsideProgram& x, FieldList& f) {
  f("impl", x.impl).required();
  f("settings", x.settings).required().object();
}

const std::vector<std::string>& library_names() {
  static const std::vector<std::string> names = {
      "cudnn",      "cudnn:best", "torch:flash", "torch:cudnn", "torch:efficient",
      "torch:math", "torch:auto", "flashinfer",  "fa3",         "fa4",
      "sage"};
  return names;
}

Result<std::optional<OutsideName>> parse_outside_name(std::string_view text) {
  using Name = std::optional<OutsideName>;
  const std::string_view prefix = text.substr(0, text.find(':') + 1);
  std::string variant(text.substr(prefix.size()));
  if (prefix == kExternalPrefix && !variant.empty())
    return Name({Origin::kExternal, std::move(variant)});
  if (text == "cudnn") return Name({Origin::kCudnn, ""});
  if (prefix.empty() && std::ranges::count(library_names(), text) > 0)
    return Name({Origin::kTorch, std::string(text)});
  if (prefix != "cudnn:" && prefix != "torch:") return Name();
  std::vector<std::string> known;
  for (const std::string& name : library_names()) {
    if (name == text)
      return Name({prefix == "torch:" ? Origin::kTorch : Origin::kCudnn, std::move(variant)});
    if (name.starts_with(prefix)) known.push_back(name.substr(prefix.size()));
  }
  return usage_error(fmt::format("there is no implementation '{}'; behind '{}' stands {}", text,
                                 prefix, fmt::join(known, ", ")));
}

void fields(AvailabilityOrder& x, FieldList& f) {
  f.tag("t", "availability");
  f("python", x.python).required();
  f("library_folders", x.library_folders).required();
  f("external_folders", x.external_folders).required();
  f("program_folders", x.program_folders).required();
}

void fields(Availability& x, FieldList& f) {
  f("impl", x.impl).required();
  f("available", x.available).required();
  f("found", x.found).required();
  f("remedy", x.remedy).required();
}

void fields(AvailabilityReply& x, FieldList& f) {
  f.tag("t", "available");
  f("implementations", x.implementations).required();
}

}  // namespace fatune
