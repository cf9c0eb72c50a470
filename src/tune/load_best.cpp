// load_best.cpp - reads configs from best.json or from a bare config file.
#include <nlohmann/json.hpp>

#include "tune/best.hpp"

namespace fatune {
namespace {

constexpr std::string_view kFamily = "fatune.best/";
constexpr std::string_view kSchema = "fatune.best/1";

Status check_schema(const Fields& file) {
  if (!file.has("schema")) return {};
  FATUNE_TRY(const std::string schema, file.text("schema"));
  if (schema == kSchema) return {};
  if (schema.starts_with(kFamily)) {
    return file_error(file.where() + ": is a " + schema +
                      ", written by a newer fatune; this one reads " + std::string(kSchema));
  }
  return file_error(file.where() + ": schema '" + schema + "' is not " + std::string(kSchema));
}

/// `chosen` has kernel and config; `context` has the problem, if there is one.
Result<ChosenConfig> read_choice(const Fields& chosen, const Fields& context) {
  ChosenConfig choice;
  FATUNE_TRY(choice.kernel, chosen.text("kernel"));
  FATUNE_TRY(const Fields config, chosen.object("config"));
  choice.config = config.json();
  FATUNE_TRY(choice.name, context.text_or("name", ""));
  if (!context.has("problem")) return choice;
  FATUNE_TRY(const Fields problem, context.object("problem"));
  FATUNE_TRY(choice.problem, problem_from_json(problem.json(), problem.where()));
  return choice;
}

Result<ChosenConfig> read_problem(const Fields& problem) {
  if (!problem.has("best") || problem.json().at("best").is_null()) {
    return problem.error("best", "is missing or empty: this sweep found no correct candidate");
  }
  FATUNE_TRY(const Fields best, problem.object("best"));
  return read_choice(best, problem);
}

}  // namespace

Result<std::vector<ChosenConfig>> load_best(const std::filesystem::path& path) {
  FATUNE_TRY(const Json json, load_json(path));
  if (!json.is_object()) return file_error(path.string() + ": is not a JSON object");
  const Fields file(json, path.string());
  FATUNE_TRY_STATUS(check_schema(file));
  std::vector<ChosenConfig> choices;
  if (file.has("problems")) {
    FATUNE_TRY(const std::vector<Fields> problems, file.objects_or_empty("problems"));
    for (const Fields& problem : problems) {
      FATUNE_TRY(ChosenConfig choice, read_problem(problem));
      choices.push_back(std::move(choice));
    }
    if (choices.empty()) return file.error("problems", "is empty");
    return choices;
  }
  const bool bare = file.has("kernel") && file.has("config");
  FATUNE_TRY(ChosenConfig choice, bare ? read_choice(file, file) : read_problem(file));
  choices.push_back(std::move(choice));
  return choices;
}

}  // namespace fatune
