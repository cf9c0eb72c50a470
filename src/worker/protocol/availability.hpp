// availability.hpp - what to look for of implementations from elsewhere, and what was found.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/fields_fwd.hpp"

namespace fatune {

/// What implementations from elsewhere need from the user's side; filled by cli/.
struct OutsideOptions {
  std::string python = "python3";                       ///< with PyTorch, for torch:*
  std::vector<std::filesystem::path> library_folders;   ///< looked in before the loader's own path
  std::vector<std::filesystem::path> external_folders;  ///< descriptions NAME.json of externals
  std::vector<std::filesystem::path> program_folders;   ///< PATH, split
};

struct Availability {
  std::string impl;  ///< "cudnn", "torch:*", "external:fa3"
  bool available = false;
  std::string found;   ///< version or place; else what is missing
  std::string remedy;  ///< empty when available
};

void fields(Availability& x, FieldList& f);

/// To the device worker: look for implementations.
struct AvailabilityOrder {
  std::string python;
  std::vector<std::string> library_folders, external_folders, program_folders;
};
AvailabilityOrder availability_order(const OutsideOptions& options);
OutsideOptions options_of(const AvailabilityOrder& order);
void fields(AvailabilityOrder& x, FieldList& f);

struct AvailabilityReply {
  std::vector<Availability> implementations;
};
void fields(AvailabilityReply& x, FieldList& f);

}  // namespace fatune
