// implementation.hpp - implementations from elsewhere: names, what they need, and what was found of
// them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>  // settings are held as a value

#include "core/fields_fwd.hpp"
#include "core/json.hpp"
#include "core/result.hpp"

namespace fatune {

inline constexpr std::string_view kExternalPrefix = "external:";

/// Where an implementation that is not a template comes from; "flashinfer", "fa3", "fa4" and
/// "sage" run beside PyTorch.
enum class Origin { kCudnn, kTorch, kExternal };

/// "cudnn", "cudnn:best", "torch:flash", "flashinfer", "external:fa3".
struct OutsideName {
  Origin origin = Origin::kCudnn;
  std::string variant;  ///< behind the colon; empty for plain "cudnn"; those for themselves
};

/// Empty for a name without a known prefix, which is then a kernel's; an error for a prefix with a
/// variant that does not exist ("torch:fast"), naming those that do.
Result<std::optional<OutsideName>> parse_outside_name(std::string_view text);

/// Every name of a library's implementation: "cudnn", "cudnn:best", "torch:flash", ...
const std::vector<std::string>& library_names();

/// What a device worker needs to run one, as it travels to it.
struct OutsideProgram {
  std::string impl;
  Json settings = Json::object();  ///< libraries, interpreter, command: by origin
};
void fields(OutsideProgram& x, FieldList& f);

/// What implementations from elsewhere need from the user's side; filled by cli/.
struct OutsideOptions {
  std::string python = "python3";  ///< with PyTorch, for torch:*, flashinfer, fa3, fa4, sage
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
struct AvailabilityOrder : OutsideOptions {};
void fields(AvailabilityOrder& x, FieldList& f);

struct AvailabilityReply {
  std::vector<Availability> implementations;
};
void fields(AvailabilityReply& x, FieldList& f);

}  // namespace fatune
