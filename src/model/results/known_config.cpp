// known_config.cpp - known configs to JSON and back.
#include "model/results/known_config.hpp"

namespace fatune {

Json to_json(const KnownConfig& known) {
  return {{"problem", to_json(known.problem)},
          {"arch", name(known.arch)},
          {"kernel", known.kernel},
          {"config", known.config},
          {"source", known.source}};
}

Result<KnownConfig> known_config_from_json(const Json& object, const std::string& where) {
  const Fields fields(object, where);
  KnownConfig known;
  FATUNE_TRY(const Fields problem, fields.object("problem"));
  FATUNE_TRY(known.problem, problem_from_json(problem.json(), problem.where()));
  FATUNE_TRY(const std::string arch, fields.text("arch"));
  auto parsed = parse_arch(arch);
  if (!parsed) return fields.error("arch", "is wrong: " + parsed.error().message);
  known.arch = *parsed;
  FATUNE_TRY(known.kernel, fields.text("kernel"));
  FATUNE_TRY(const Fields config, fields.object("config"));
  known.config = config.json();
  FATUNE_TRY(known.source, fields.text("source"));
  return known;
}

}  // namespace fatune
