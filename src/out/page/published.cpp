// published.cpp - reads the finalists and baselines of fatune.best/1.
#include "out/page/published.hpp"

#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "model/results/statistics.hpp"

namespace fatune {
namespace {

using ImplAndId = std::pair<std::string, std::string>;  ///< implementation, id

void add_entry(const Json& entry, std::map<Problem, Json>& entries) {
  if (!entry.is_object() || !entry.contains("problem")) return;
  const auto problem = from_json<Problem>(entry["problem"], "best.json");
  if (problem) entries.emplace(*problem, entry);
}

std::string text_of(const Json& object, const char* key) {
  const auto value = object.find(key);
  return value != object.end() && value->is_string() ? value->get<std::string>() : "";
}

std::optional<Ratio> ratio_of(const Json& object) {
  if (!object.is_object() || !object.contains("ratio") || !object.contains("ci95")) return {};
  const Json &value = object["ratio"], &interval = object["ci95"];
  const bool numbers = value.is_number() && interval.is_array() && interval.size() == 2 &&
                       interval[0].is_number() && interval[1].is_number();
  if (!numbers) return {};
  return Ratio{value.get<double>(), interval[0].get<double>(), interval[1].get<double>()};
}

Standing standing_of(const Json& row) {
  Standing standing;
  if (row.contains("to_baseline")) standing.to_baseline = ratio_of(row["to_baseline"]);
  if (standing.to_baseline) standing.verdict = verdict_word(standing.to_baseline->value);
  const auto tie = row.find("ties_with_best");
  standing.ties_with_best = tie != row.end() && tie->is_boolean() && tie->get<bool>();
  return standing;
}

std::optional<Gate> gate_of(const Json& entry) {
  const auto object = entry.find("gate");
  if (object == entry.end()) return {};
  const auto ratio = ratio_of(*object);
  if (!ratio) return {};
  Gate gate{text_of(*object, "baseline"), *ratio};
  if (object->contains("threshold") && (*object)["threshold"].is_number())
    gate.threshold = (*object)["threshold"].get<double>();
  gate.passed = gate.ratio.high < gate.threshold;
  return gate;
}

}  // namespace

std::map<Problem, Json> published_beside(const std::filesystem::path& journal) {
  std::map<Problem, Json> entries;
  const std::filesystem::path file = journal.parent_path() / "best.json";
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return entries;
  const auto best = load_json(file);
  if (!best || !best->is_object()) return entries;
  add_entry(*best, entries);
  const auto problems = best->find("problems");
  if (problems != best->end() && problems->is_array()) {
    for (const Json& entry : *problems) add_entry(entry, entries);
  }
  return entries;
}

bool settle_as_published(const Json& entry, ProblemResult& result) {
  std::map<ImplAndId, std::size_t> places;
  for (std::size_t i = 0; i < result.finals.size(); ++i)
    places[{result.finals[i].impl, result.finals[i].id}] = i;
  std::vector<FinalRecord> finals;
  std::vector<Standing> standings;
  for (const char* list : {"finalists", "baselines"}) {
    const auto rows = entry.find(list);
    if (rows == entry.end() || !rows->is_array()) return false;
    for (const Json& row : *rows) {
      if (!row.is_object()) return false;
      const auto place = places.find({text_of(row, "impl"), text_of(row, "id")});
      if (place == places.end()) return false;
      finals.push_back(result.finals[place->second]);
      standings.push_back(standing_of(row));
      places.erase(place);
    }
  }
  if (!places.empty()) return false;
  result.finals = std::move(finals);
  result.standings = std::move(standings);
  result.gate = gate_of(entry);
  return true;
}

std::string published_winner(const Json& entry) {
  const auto best = entry.find("best");
  return best != entry.end() && best->is_object() ? text_of(*best, "id") : "";
}

}  // namespace fatune
