// candidates.cpp - sorts candidates, shares places among equals, and makes a row of each.
#include "out/text/candidates.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/text.hpp"
#include "model/results/sweep_result.hpp"

namespace fatune {
namespace {

constexpr double kTieErrors = 2.0;  // about a 95 % interval of the difference

bool ties(const Timing& a, const Timing& b) {
  const double error = std::hypot(a.sem_relative * a.median_us, b.sem_relative * b.median_us);
  return std::abs(a.median_us - b.median_us) <= kTieErrors * error;
}

std::string median_value(const std::optional<Timing>& timing) {
  return timing ? fixed(timing->median_us, 3) : "";
}

/// Names in the order of their first appearance, and for each row its values.
class NamedCells {
 public:
  /// Members of members have columns of their own: the sizes of an operation.
  void add(std::size_t row, const Json& object) {
    for (const auto& [name, value] : object.items()) {
      if (value.is_object()) {
        add(row, value);
        continue;
      }
      if (std::find(names_.begin(), names_.end(), name) == names_.end()) names_.push_back(name);
      cells_[{row, name}] = value.is_string() ? value.get<std::string>() : value.dump();
    }
  }
  void append(std::size_t row, std::vector<std::string>& line) const {
    for (const std::string& name : names_) {
      const auto cell = cells_.find({row, name});
      line.push_back(cell == cells_.end() ? "" : cell->second);
    }
  }
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_;
  std::map<std::pair<std::size_t, std::string>, std::string> cells_;
};

struct Placed {
  const CandidateRecord* record;
  std::string place;  ///< empty: not measured
};

/// The measured ones by place, then the others in the order they were tried.
std::vector<Placed> in_order(std::span<const CandidateRecord> candidates,
                             const std::string& objective) {
  std::vector<Placed> rows;
  for (const Ranked& ranked : rank_candidates(candidates, objective))
    rows.push_back({ranked.record, fmt::to_string(ranked.place)});
  for (const CandidateRecord& record : candidates) {
    const bool placed = record.outcome == Outcome::kMeasured && objective_timing(record, objective);
    if (!placed) rows.push_back({&record, ""});
  }
  return rows;
}

std::string text_of(const std::optional<std::int64_t>& count) {
  return count ? fmt::to_string(*count) : "";
}

/// From the outcome on.
std::vector<std::string> measured_cells(const CandidateRecord& record) {
  const std::optional<Resources>& used = record.resources;
  std::optional<std::int64_t> registers, shared, spilled;
  if (used) {
    registers = used->registers;
    shared = used->static_shared_bytes + used->dynamic_shared_bytes;
    spilled = used->spill_store_bytes + used->spill_load_bytes;
  }
  return {std::string(name(record.outcome)),
          median_value(record.hot),
          median_value(record.cold),
          record.verification ? fixed(record.verification->margin, 3) : "",
          text_of(registers),
          text_of(shared),
          text_of(spilled),
          record.id,
          record.reason};
}

Table table_of(std::vector<Column> columns) {
  const std::vector<Column> measured = {{"outcome"},
                                        {"hot_median_us", Align::kRight},
                                        {"cold_median_us", Align::kRight},
                                        {"margin", Align::kRight},
                                        {"registers", Align::kRight},
                                        {"shared_bytes", Align::kRight},
                                        {"spill_bytes", Align::kRight},
                                        {"id"},
                                        {"reason"}};
  columns.insert(columns.end(), measured.begin(), measured.end());
  return Table(std::move(columns));
}

void append(std::vector<std::string>& line, std::vector<std::string> more) {
  line.insert(line.end(), std::make_move_iterator(more.begin()),
              std::make_move_iterator(more.end()));
}

}  // namespace

std::vector<Ranked> rank_candidates(std::span<const CandidateRecord> candidates,
                                    const std::string& objective) {
  std::vector<Ranked> ranked;
  for (const CandidateRecord& record : candidates) {
    const bool timed = objective_timing(record, objective).has_value();
    if (record.outcome == Outcome::kMeasured && timed) ranked.push_back({&record, 0});
  }
  const auto timing = [&](const Ranked& entry) -> const Timing& {
    return *objective_timing(*entry.record, objective);
  };
  std::stable_sort(ranked.begin(), ranked.end(), [&](const Ranked& a, const Ranked& b) {
    return timing(a).median_us < timing(b).median_us;
  });
  std::size_t first = 0;
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    if (!ties(timing(ranked[first]), timing(ranked[i]))) first = i;
    ranked[i].place = first + 1;
  }
  return ranked;
}

Table candidates_table(std::span<const CandidateRecord> candidates, const std::string& objective) {
  Table table = table_of({{"place", Align::kRight}, {"kernel"}, {"config"}});
  for (const Placed& row : in_order(candidates, objective)) {
    std::vector<std::string> line = {row.place, row.record->kernel,
                                     describe_config(row.record->config)};
    append(line, measured_cells(*row.record));
    table.add(std::move(line));
  }
  return table;
}

std::string candidates_csv(std::span<const CandidateRecord> candidates,
                           const std::string& objective) {
  const std::vector<Placed> rows = in_order(candidates, objective);
  NamedCells problems, parameters;
  // In the order tried, so that columns do not depend on the times.
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    problems.add(i, to_json(candidates[i].problem));
    parameters.add(i, candidates[i].config);
  }
  std::vector<Column> columns = {{"place"}, {"kernel"}};
  for (const NamedCells* part : {&problems, &parameters}) {
    for (const std::string& name : part->names()) columns.push_back({name});
  }
  Table table = table_of(std::move(columns));
  for (const Placed& row : rows) {
    const auto at = static_cast<std::size_t>(row.record - candidates.data());
    std::vector<std::string> line = {row.place, row.record->kernel};
    problems.append(at, line);
    parameters.append(at, line);
    append(line, measured_cells(*row.record));
    table.add(std::move(line));
  }
  return table.csv();
}

}  // namespace fatune
