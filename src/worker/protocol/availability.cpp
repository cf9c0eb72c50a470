// availability.cpp - the order to look for implementations, and its answer, to JSON and back.
#include "worker/protocol/availability.hpp"

#include <nlohmann/json.hpp>

namespace fatune {
namespace {

Json texts(const std::vector<std::filesystem::path>& folders) {
  Json list = Json::array();
  for (const auto& folder : folders) list.push_back(folder.string());
  return list;
}

Result<std::vector<std::filesystem::path>> paths(const Fields& fields, std::string_view key) {
  FATUNE_TRY(const std::vector<std::string> texts, fields.texts_or(key, {}));
  return std::vector<std::filesystem::path>(texts.begin(), texts.end());
}

}  // namespace

Json availability_order(const OutsideOptions& options) {
  return {{"t", "availability"},
          {"python", options.python},
          {"library_folders", texts(options.library_folders)},
          {"external_folders", texts(options.external_folders)},
          {"program_folders", texts(options.program_folders)}};
}

Result<OutsideOptions> availability_order_from_json(const Json& message) {
  const Fields fields(message, "order to the device worker");
  OutsideOptions options;
  FATUNE_TRY(options.python, fields.text("python"));
  FATUNE_TRY(options.library_folders, paths(fields, "library_folders"));
  FATUNE_TRY(options.external_folders, paths(fields, "external_folders"));
  FATUNE_TRY(options.program_folders, paths(fields, "program_folders"));
  return options;
}

Json availability_reply(const std::vector<Availability>& found) {
  Json list = Json::array();
  for (const Availability& each : found) {
    list.push_back({{"impl", each.impl},
                    {"available", each.available},
                    {"found", each.found},
                    {"remedy", each.remedy}});
  }
  return {{"t", "available"}, {"implementations", std::move(list)}};
}

Result<std::vector<Availability>> availability_from_json(const Json& message) {
  const Fields answer(message, "answer of the device worker");
  FATUNE_TRY(const auto list, answer.objects_or_empty("implementations"));
  std::vector<Availability> found;
  for (const Fields& fields : list) {
    Availability each;
    FATUNE_TRY(each.impl, fields.text("impl"));
    FATUNE_TRY(each.available, fields.boolean_or("available", false));
    FATUNE_TRY(each.found, fields.text("found"));
    FATUNE_TRY(each.remedy, fields.text("remedy"));
    found.push_back(std::move(each));
  }
  return found;
}

}  // namespace fatune
