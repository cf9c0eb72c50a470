// candidates_json.cpp - configs become positions in lists of values, reasons positions in a list.
#include "out/page/candidates_json.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include "out/page/rounded.hpp"
#include "search/replay/landscape.hpp"

namespace fatune {
namespace {

constexpr int kShareDigits = 3;

/// The parameters of a kernel and the values that its candidates have.
class Parameters {
 public:
  explicit Parameters(const JournalGroup& group) {
    for (const ToldRecord& config : group.configs) {
      for (const auto& [name, value] : config.record.config.items()) add(name, value);
    }
    for (auto& [name, values] : values_) sort(values);
  }

  Json json() const {
    Json list = Json::array();
    for (const std::string& name : names_)
      list.push_back({{"name", name}, {"values", values_.at(name)}});
    return list;
  }

  Json positions(const Json& config) const {
    Json row = Json::array();
    for (const std::string& name : names_) {
      const auto value = config.find(name);
      row.push_back(value == config.end() ? -1 : position(values_.at(name), *value));
    }
    return row;
  }

 private:
  void add(const std::string& name, const Json& value) {
    const auto [values, fresh] = values_.try_emplace(name);
    if (fresh) names_.push_back(name);
    if (position(values->second, value) < 0) values->second.push_back(value);
  }
  static int position(const std::vector<Json>& values, const Json& value) {
    const auto found = std::find(values.begin(), values.end(), value);
    return found == values.end() ? -1 : static_cast<int>(found - values.begin());
  }
  /// Numbers ascend, truth values too; words stay in the order of their appearance.
  static void sort(std::vector<Json>& values) {
    const bool words = std::any_of(values.begin(), values.end(),
                                   [](const Json& value) { return value.is_string(); });
    if (!words) std::sort(values.begin(), values.end());
  }

  std::vector<std::string> names_;
  std::map<std::string, std::vector<Json>> values_;
};

Json importance_json(const JournalGroup& group, const JournalHeader& header, Depth depth) {
  if (depth == Depth::kQuick) return nullptr;
  const auto recording = recording_of(group, {header, {}, false}, "the journal");
  if (!recording) return nullptr;
  const ParameterImportance importance = importance_of(*recording);
  if (importance.measured < kFewestForImportance) return nullptr;
  return to_json(importance);
}

/// Each text once, by position.
class Texts {
 public:
  int position(const std::string& text) {
    const auto [place, fresh] = places_.try_emplace(text, static_cast<int>(list_.size()));
    if (fresh) list_.push_back(text);
    return place->second;
  }
  const std::vector<std::string>& list() const { return list_; }

 private:
  std::unordered_map<std::string, int> places_;
  std::vector<std::string> list_;
};

struct Row {
  std::size_t kernel;
  const ToldRecord* config;
};

/// In the order tried, over all kernels.
std::vector<Row> rows_of(const PageProblem& problem) {
  std::vector<Row> rows;
  for (std::size_t kernel = 0; kernel < problem.groups.size(); ++kernel) {
    for (const ToldRecord& config : problem.groups[kernel].configs)
      rows.push_back({kernel, &config});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return a.config->record.at_s < b.config->record.at_s;
  });
  return rows;
}

Json time_or_null(const std::optional<Timing>& timing) {
  return timing ? Json(rounded(timing->median_us)) : Json();
}

/// Columns of equal length.
class Columns {
 public:
  explicit Columns(Texts& reasons) : reasons_(reasons) {
    for (const char* name : {"kernel", "config", "id", "outcome", "reason", "at_s", "hot", "cold",
                             "margin", "registers", "shared_bytes", "spill_bytes"})
      columns_[name] = Json::array();
  }

  void add(const Row& row, Json positions, double begun_s) {
    const CandidateRecord& record = row.config->record;
    columns_["kernel"].push_back(row.kernel);
    columns_["config"].push_back(std::move(positions));
    columns_["id"].push_back(record.id);
    columns_["outcome"].push_back(name(record.outcome));
    columns_["reason"].push_back(record.reason.empty() ? -1 : reasons_.position(record.reason));
    columns_["at_s"].push_back(rounded(record.at_s - begun_s));
    columns_["hot"].push_back(time_or_null(record.hot));
    columns_["cold"].push_back(time_or_null(record.cold));
    const auto& verified = record.verification;
    columns_["margin"].push_back(verified ? Json(rounded(verified->margin, kShareDigits)) : Json());
    const auto& used = record.resources;
    columns_["registers"].push_back(used ? Json(used->registers) : Json());
    columns_["shared_bytes"].push_back(
        used ? Json(used->static_shared_bytes + used->dynamic_shared_bytes) : Json());
    columns_["spill_bytes"].push_back(used ? Json(used->spill_store_bytes + used->spill_load_bytes)
                                           : Json());
  }
  Json take() { return std::move(columns_); }

 private:
  Texts& reasons_;
  Json columns_ = Json::object();
};

}  // namespace

void add_candidates(const PageProblem& problem, const JournalHeader& header, Depth depth,
                    Json& object) {
  std::vector<Parameters> parameters;
  Json kernels = Json::array();
  for (const JournalGroup& group : problem.groups) {
    parameters.emplace_back(group);
    kernels.push_back({{"name", group.kernel},
                       {"parameters", parameters.back().json()},
                       {"importance", importance_json(group, header, depth)}});
  }
  const std::vector<Row> rows = rows_of(problem);
  // A problem of a suite begins when its first candidate does, the run's only problem at once.
  double begun_s = 0;
  if (!rows.empty() && header.plan.problems.size() > 1) {
    const CandidateRecord& first = rows.front().config->record;
    begun_s = std::max(0.0, first.at_s - seconds_spent(first));
  }
  Texts reasons;
  Columns columns(reasons);
  for (const Row& row : rows)
    columns.add(row, parameters[row.kernel].positions(row.config->record.config), begun_s);
  object["kernels"] = std::move(kernels);
  object["candidates"] = columns.take();
  object["reasons"] = reasons.list();
}

}  // namespace fatune
