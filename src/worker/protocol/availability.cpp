// availability.cpp - the order to look for implementations and its answer, field by field.
#include "worker/protocol/availability.hpp"

#include "core/fields.hpp"

namespace fatune {
namespace {

using Paths = std::vector<std::filesystem::path>;

std::vector<std::string> texts(const Paths& folders) { return {folders.begin(), folders.end()}; }
Paths paths(const std::vector<std::string>& texts) { return {texts.begin(), texts.end()}; }

}  // namespace

AvailabilityOrder availability_order(const OutsideOptions& options) {
  return {.python = options.python,
          .library_folders = texts(options.library_folders),
          .external_folders = texts(options.external_folders),
          .program_folders = texts(options.program_folders)};
}

OutsideOptions options_of(const AvailabilityOrder& order) {
  return {.python = order.python,
          .library_folders = paths(order.library_folders),
          .external_folders = paths(order.external_folders),
          .program_folders = paths(order.program_folders)};
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
