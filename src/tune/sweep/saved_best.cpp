// saved_best.cpp - reads configs and what was measured of them from best.json or a bare config
// file.
#include "tune/sweep/saved_best.hpp"

#include <system_error>

#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/text.hpp"

namespace fatune {
namespace {

/// Why a result was not checked, as a clause; empty when it was.
std::string why_unverified(const BestRow& best) {
  if (!best.verification) return "it names no gates that the config passed";
  if (best.verification->skipped) return "the sweep ran with --skip-correctness";
  return best.verification->passed ? "" : "the config failed a gate";
}

Result<SavedWinner> winner_of(const BestProblem& problem, const std::string& where) {
  const auto error = [&](const char* key, const std::string& fault) {
    return file_error(field_place(where, key) + " " + fault);
  };
  if (!problem.best)
    return error("best", "is missing or empty: this sweep found no correct candidate");
  const BestRow& best = *problem.best;
  // A library can be what a file calls best; there is nothing of it to compile.
  if (best.kernel.empty() && !best.impl.empty()) {
    return error("best.impl",
                 "is " + best.impl + ", which is no kernel of fatune and has no config");
  }
  if (best.kernel.empty()) return error("best.kernel", "is missing");
  SavedWinner winner;
  winner.choice = {best.kernel, best.config, problem.problem, problem.name};
  winner.id = best.id;
  winner.text_hash = best.text_hash;
  winner.unverified = why_unverified(best);
  winner.hot = best.hot;
  winner.conditions = best.conditions;
  if (!problem.gate) return winner;
  winner.baseline = problem.gate->baseline;
  winner.ratio = problem.gate->ratio.value;
  return winner;
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
  FATUNE_TRY(Json json, load_json(found));
  FATUNE_TRY(const BestFile file, best_file_from_json(std::move(json), found.string()));
  SavedBest saved{.file = found.string(),
                  .fatune = file.fatune,
                  .command = file.command,
                  .device_name = file.device.name,
                  .arch = file.device.arch,
                  .driver = file.device.driver,
                  .nvrtc = file.device.nvrtc,
                  .sm_count = file.device.sm_count,
                  .recorded = file.recorded,
                  .winners = {}};
  for (const auto& [where, problem] : problems_of(file, saved.file)) {
    FATUNE_TRY(SavedWinner winner, winner_of(problem, where));
    saved.winners.push_back(std::move(winner));
  }
  if (saved.winners.empty()) return file_error(field_place(saved.file, "problems") + " is empty");
  return saved;
}

Result<std::vector<SavedConfig>> load_best(const std::filesystem::path& path) {
  FATUNE_TRY(SavedBest saved, load_saved_best(path));
  std::vector<SavedConfig> choices;
  for (SavedWinner& winner : saved.winners) choices.push_back(std::move(winner.choice));
  return choices;
}

}  // namespace fatune
