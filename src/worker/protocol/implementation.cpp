// implementation.cpp - names with a colon to origins and variants; fields of what travels.
#include "worker/protocol/implementation.hpp"

#include <algorithm>

#include "core/fields.hpp"
#include "core/text.hpp"

namespace fatune {
namespace {

const std::vector<std::string>& torch_backends() {
  static const std::vector<std::string> names = {"flash", "cudnn", "efficient", "math", "auto"};
  return names;
}

Result<std::optional<OutsideName>> with_variant(Origin origin, std::string_view prefix,
                                                std::string variant,
                                                const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), variant) == known.end()) {
    return usage_error("there is no implementation '" + std::string(prefix) + variant +
                       "'; behind '" + std::string(prefix) + "' stands " + join(known, ", "));
  }
  return std::optional<OutsideName>({origin, std::move(variant)});
}

}  // namespace

void fields(OutsideProgram& x, FieldList& f) {
  f("impl", x.impl).required();
  f("settings", x.settings).required().object();
}

std::string OutsideName::impl() const {
  switch (origin) {
    case Origin::kTorch:
      return "torch:" + variant;
    case Origin::kExternal:
      return std::string(kExternalPrefix) + variant;
    case Origin::kCudnn:
      break;
  }
  return variant.empty() ? "cudnn" : "cudnn:" + variant;
}

Result<std::optional<OutsideName>> parse_outside_name(std::string_view text) {
  if (text == "cudnn") return std::optional<OutsideName>({Origin::kCudnn, ""});
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::optional<OutsideName>();
  const std::string_view prefix = text.substr(0, colon + 1);
  std::string variant(text.substr(colon + 1));
  if (prefix == "cudnn:") return with_variant(Origin::kCudnn, prefix, std::move(variant), {"best"});
  if (prefix == "torch:")
    return with_variant(Origin::kTorch, prefix, std::move(variant), torch_backends());
  if (prefix == kExternalPrefix && !variant.empty())
    return std::optional<OutsideName>({Origin::kExternal, std::move(variant)});
  return std::optional<OutsideName>();
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
