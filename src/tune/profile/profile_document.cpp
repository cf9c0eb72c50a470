// profile_document.cpp: Names the fields of the document and the files of the folder profiles/.
#include "tune/profile/profile_document.hpp"

#include <algorithm>
#include <iterator>
#include <system_error>

#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "model/kernel/config.hpp"

namespace fatune {
namespace {

constexpr const char* kFolder = "profiles";

}  // namespace

void fields(ProfiledConfig& x, FieldList& f) {
  document::problem_fields(x.problem.name, x.problem.problem, f);
  f("kernel", x.kernel);
  f("config", x.config).object().schema(kConfigSchema);
  f("id", x.id).about("The candidate's, as in a journal");
  f("hot", x.hot);
  fields(x.profile, f);
}

void fields(ProfileDocument& x, FieldList& f) {
  f.document("fatune.profile");
  document::head_fields(x.head, f);
  f.as<&device_fields>("device", x.environment);
  host_fields(x.environment, f);
  f("profiles", x.profiles);
}

std::filesystem::path kept_profile(const std::filesystem::path& run, const std::string& id,
                                   const char* extension) {
  return run / kFolder / (file_name(id) + extension);
}

std::vector<ProfiledConfig> kept_profiles(const std::filesystem::path& run) {
  std::error_code none;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(run / kFolder, none)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  std::vector<ProfiledConfig> kept;
  for (const std::filesystem::path& file : files) {
    const auto json = load_json(file);
    auto document = json ? from_json<ProfileDocument>(*json, file.string())
                         : Result<ProfileDocument>(json.error());
    if (!document) {
      log::warn("a profile is left out: " + document.error().message);
      continue;
    }
    std::ranges::move(document->profiles, std::back_inserter(kept));
  }
  return kept;
}

}  // namespace fatune
