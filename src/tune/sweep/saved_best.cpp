// saved_best.cpp - reads configs and what was measured of them from best.json or a bare config
// file.
#include "tune/sweep/saved_best.hpp"

#include <system_error>

#include <nlohmann/json.hpp>

#include "core/text.hpp"

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

Result<std::optional<Timing>> read_time(const Fields& best) {
  if (!best.has("hot")) return std::optional<Timing>();
  FATUNE_TRY(const Fields hot, best.object("hot"));
  Timing timing;
  FATUNE_TRY(timing.median_us, hot.number("median_us"));
  FATUNE_TRY(timing.samples, hot.integer_or("samples", 0));
  if (!hot.has("ci95_us")) return std::optional(timing);
  const Json& ci = hot.json().at("ci95_us");
  const bool pair = ci.is_array() && ci.size() == 2 && ci[0].is_number() && ci[1].is_number();
  if (!pair) return hot.error("ci95_us", "must be two numbers");
  timing.ci95_low_us = ci[0].get<double>();
  timing.ci95_high_us = ci[1].get<double>();
  return std::optional(timing);
}

/// Why a result was not checked, as a clause; empty when it was.
Result<std::string> read_unverified(const Fields& best) {
  if (!best.has("verify")) return std::string("it names no gates that the config passed");
  FATUNE_TRY(const Fields fields, best.object("verify"));
  FATUNE_TRY(const Verification verification,
             verification_from_json(fields.json(), fields.where()));
  if (verification.skipped) return std::string("the sweep ran with --skip-correctness");
  if (!verification.passed) return std::string("the config failed a gate");
  return std::string();
}

/// What the gate compared the best with, if there was a baseline.
Status read_gate(const Fields& problem, SavedWinner& winner) {
  if (!problem.has("gate") || problem.json().at("gate").is_null()) return {};
  FATUNE_TRY(const Fields gate, problem.object("gate"));
  FATUNE_TRY(winner.baseline, gate.text("baseline"));
  FATUNE_TRY(winner.ratio, gate.number("ratio"));
  return {};
}

/// A library can be what a file calls best; there is nothing of it to compile.
Result<std::string> kernel_of(const Fields& chosen) {
  if (!chosen.has("kernel") && chosen.has("impl")) {
    FATUNE_TRY(const std::string impl, chosen.text("impl"));
    return chosen.error("impl", "is " + impl + ", which is no kernel of fatune and has no config");
  }
  return chosen.text("kernel");
}

/// `chosen` has kernel and config; `context` has the problem, if there is one.
Result<SavedWinner> read_winner(const Fields& chosen, const Fields& context) {
  SavedWinner winner;
  ChosenConfig& choice = winner.choice;
  FATUNE_TRY(choice.kernel, kernel_of(chosen));
  FATUNE_TRY(const Fields config, chosen.object("config"));
  choice.config = config.json();
  FATUNE_TRY(choice.name, context.text_or("name", ""));
  FATUNE_TRY(winner.id, chosen.text_or("id", ""));
  FATUNE_TRY(winner.text_hash, chosen.text_or("text_hash", ""));
  FATUNE_TRY(winner.unverified, read_unverified(chosen));
  FATUNE_TRY(winner.hot, read_time(chosen));
  if (chosen.has("conditions")) {
    FATUNE_TRY(const Fields seen, chosen.object("conditions"));
    FATUNE_TRY(winner.conditions, conditions_from_json(seen.json(), seen.where()));
  }
  FATUNE_TRY_STATUS(read_gate(context, winner));
  if (!context.has("problem")) return winner;
  FATUNE_TRY(const Fields problem, context.object("problem"));
  FATUNE_TRY(choice.problem, problem_from_json(problem.json(), problem.where()));
  return winner;
}

Result<SavedWinner> read_problem(const Fields& problem) {
  if (!problem.has("best") || problem.json().at("best").is_null()) {
    return problem.error("best", "is missing or empty: this sweep found no correct candidate");
  }
  FATUNE_TRY(const Fields best, problem.object("best"));
  return read_winner(best, problem);
}

Status read_device(const Fields& file, SavedBest& saved) {
  if (!file.has("device")) return {};
  FATUNE_TRY(const Fields device, file.object("device"));
  FATUNE_TRY(saved.device_name, device.text_or("name", ""));
  FATUNE_TRY(saved.arch, device.text_or("arch", ""));
  FATUNE_TRY(saved.driver, device.text_or("driver", ""));
  FATUNE_TRY(saved.nvrtc, device.text_or("nvrtc", ""));
  FATUNE_TRY(saved.sm_count, device.integer_or("sm_count", 0));
  if (saved.sm_count < 0) return device.error("sm_count", "must be a whole number >= 0");
  return {};
}

Status read_winners(const Fields& file, SavedBest& saved) {
  if (!file.has("problems")) {
    const bool bare = file.has("kernel") && file.has("config");
    FATUNE_TRY(SavedWinner winner, bare ? read_winner(file, file) : read_problem(file));
    saved.winners.push_back(std::move(winner));
    return {};
  }
  FATUNE_TRY(const std::vector<Fields> problems, file.objects_or_empty("problems"));
  for (const Fields& problem : problems) {
    FATUNE_TRY(SavedWinner winner, read_problem(problem));
    saved.winners.push_back(std::move(winner));
  }
  if (saved.winners.empty()) return file.error("problems", "is empty");
  return {};
}

/// The file itself, or best.json in a run's folder.
Result<std::filesystem::path> file_of(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) return path;
  const std::filesystem::path best = path / "best.json";
  if (std::filesystem::exists(best, ignored)) return best;
  return file_error(path.string() +
                    ": has no best.json. A sweep writes it after its final phase: `fatune sweep "
                    "--resume " +
                    shell_word(path.string()) + "` ends one that was interrupted");
}

}  // namespace

Result<SavedBest> load_saved_best(const std::filesystem::path& path) {
  FATUNE_TRY(const std::filesystem::path found, file_of(path));
  FATUNE_TRY(const Json json, load_json(found));
  if (!json.is_object()) return file_error(found.string() + ": is not a JSON object");
  const Fields file(json, found.string());
  FATUNE_TRY_STATUS(check_schema(file));
  SavedBest saved;
  saved.file = found.string();
  FATUNE_TRY(saved.fatune, file.text_or("fatune", ""));
  FATUNE_TRY(saved.command, file.text_or("command", ""));
  FATUNE_TRY(saved.recorded, file.boolean_or("recorded", false));
  FATUNE_TRY_STATUS(read_device(file, saved));
  FATUNE_TRY_STATUS(read_winners(file, saved));
  return saved;
}

Result<std::vector<ChosenConfig>> load_best(const std::filesystem::path& path) {
  FATUNE_TRY(SavedBest saved, load_saved_best(path));
  std::vector<ChosenConfig> choices;
  for (SavedWinner& winner : saved.winners) choices.push_back(std::move(winner.choice));
  return choices;
}

}  // namespace fatune
