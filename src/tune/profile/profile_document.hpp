// profile_document.hpp - profiled configs as a document, and those that a run's folder keeps.
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
  std::string id;  ///< the candidate's, as in a journal
  std::optional<Timing> hot;
  Profile profile;
};
/// fatune.profile/1
struct ProfileDocument {
  DocumentHead head;
  Environment environment;
  std::vector<ProfiledConfig> profiles;
};
void fields(ProfiledConfig& x, FieldList& f);
void fields(ProfileDocument& x, FieldList& f);

/// Of a candidate, in a run's folder. `extension`: ".json", or ncu's own ".ncu-rep".
std::filesystem::path kept_profile(const std::filesystem::path& run, const std::string& id,
                                   const char* extension);
/// By file name. A document that cannot be read is left out, with a warning.
std::vector<ProfiledConfig> kept_profiles(const std::filesystem::path& run);

}  // namespace fatune
