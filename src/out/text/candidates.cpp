// candidates.cpp - one row a candidate.
#include "out/text/candidates.hpp"

#include <fmt/format.h>

#include "core/text.hpp"
#include "model/results/sweep_result.hpp"
#include "out/text/ranking.hpp"

namespace fatune {
namespace {

std::string median_value(const std::optional<Timing>& timing) {
  return timing ? fixed(timing->median_us, 3) : "";
}

std::vector<std::string> row_of(const CandidateRecord& record, const std::string& place) {
  const std::optional<Resources>& used = record.resources;
  return {place,
          record.kernel,
          describe_config(record.config),
          std::string(name(record.outcome)),
          median_value(record.hot),
          median_value(record.cold),
          record.verification ? fixed(record.verification->margin, 3) : "",
          used ? fmt::to_string(used->registers) : "",
          used ? fmt::to_string(used->static_shared_bytes + used->dynamic_shared_bytes) : "",
          used ? fmt::to_string(used->spill_store_bytes + used->spill_load_bytes) : "",
          record.id,
          record.reason};
}

}  // namespace

Table candidates_table(std::span<const CandidateRecord> candidates, const std::string& objective) {
  Table table({{"place", Align::kRight},
               {"kernel"},
               {"config"},
               {"outcome"},
               {"hot_us", Align::kRight},
               {"cold_us", Align::kRight},
               {"margin", Align::kRight},
               {"registers", Align::kRight},
               {"shared_bytes", Align::kRight},
               {"spill_bytes", Align::kRight},
               {"id"},
               {"reason"}});
  for (const Ranked& ranked : rank_candidates(candidates, objective)) {
    table.add(row_of(*ranked.record, fmt::to_string(ranked.place)));
  }
  for (const CandidateRecord& record : candidates) {
    const bool placed = record.outcome == Outcome::kMeasured && objective_timing(record, objective);
    if (!placed) table.add(row_of(record, ""));
  }
  return table;
}

}  // namespace fatune
