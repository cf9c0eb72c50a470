// profile_document.hpp: Writes and reads profiles of configs as documents in a run's folder.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/fields_fwd.hpp"
#include "core/json.hpp"
#include "model/problem/suite.hpp"
#include "model/results/document.hpp"
#include "tune/profile/profile.hpp"

namespace fatune {

struct ProfiledConfig {
  NamedProblem problem;
  std::string kernel;
  Json config = Json::object();
  std::string id;  ///< the candidate's id, as in a journal
  std::optional<Timing> hot;
  Profile profile;
};
/// A document of the schema fatune.profile/1.
struct ProfileDocument {
  DocumentHead head;
  Environment environment;
  std::vector<ProfiledConfig> profiles;
};
void fields(ProfiledConfig& x, FieldList& f);
void fields(ProfileDocument& x, FieldList& f);

/// Returns the file of a candidate's profile in a run's folder. `extension` is ".json" or ncu's
/// ".ncu-rep".
std::filesystem::path kept_profile(const std::filesystem::path& run, const std::string& id,
                                   const char* extension);
/// Loads all profiles of a run by file name. Skips unreadable documents with a warning.
std::vector<ProfiledConfig> kept_profiles(const std::filesystem::path& run);

}  // namespace fatune
