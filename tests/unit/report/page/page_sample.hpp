// page_sample.hpp: Makes a small journal with finals, failures and two kernels.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/file.hpp"
#include "core/result.hpp"
#include "model/results/journal.hpp"
#include "report/page/page_run.hpp"
#include "support/temporary_folder.hpp"

namespace fatune::test {

inline const Attention kMission = {4, 8, 8, 512, 512, 64, Dtype::kF16, Mask::kNone};

inline Timing timing(double us) {
  Timing x;
  x.median_us = us;
  x.ci95_low_us = us * 0.99;
  x.ci95_high_us = us * 1.01;
  x.samples = 40;
  return x;
}

inline CandidateRecord candidate(int number, const std::string& kernel, int tile, double us,
                                 Outcome outcome = Outcome::kMeasured,
                                 const std::string& reason = "") {
  CandidateRecord record;
  record.id = "00000000000000" + std::to_string(10 + number);
  record.key = kernel + " TILE=" + std::to_string(tile);
  record.kernel = kernel;
  record.config = {{"TILE", tile}, {"ORDER", number % 2 == 0 ? "forward" : "backward"}};
  record.problem = kMission;
  record.outcome = outcome;
  record.reason = reason;
  if (us > 0) record.hot = timing(us);
  record.at_s = number;
  return record;
}

inline FinalRecord contestant(const std::string& impl, RowRole role, double us) {
  FinalRecord record;
  record.impl = impl;
  record.role = role;
  record.kernel = role == RowRole::kBaseline ? "" : impl.substr(impl.find(':') + 1);
  record.id = role == RowRole::kBaseline ? "" : "0000000000000012";
  if (role != RowRole::kBaseline) record.config = {{"TILE", 64}, {"ORDER", "forward"}};
  record.problem = kMission;
  record.hot = timing(us);
  for (int round = 0; round < 40; ++round)
    record.hot_rounds_us.push_back(us * (1 + 0.0002 * (round % 7 - 3)));
  return record;
}

inline JournalHeader sample_header() {
  JournalHeader header;
  header.plan.problems = {{"mission", kMission}};
  header.plan.command = "fatune sweep --shape 4,8,512,64";
  Environment& environment = header.environment;
  environment.device_name = "NVIDIA H200";
  environment.limits = *typical_limits({90, 'a'});
  environment.l2_bytes = 60 << 20;
  environment.memory_bus_bits = 6144;
  environment.memory_clock_mhz = 3201;
  environment.max_sm_clock_mhz = 1980;
  return header;
}

inline std::vector<Record> sample_records() {
  return {candidate(1, "fa_mma", 32, 12),
          candidate(2, "fa_mma", 64, 10),
          candidate(3, "fa_mma", 128, 0, Outcome::kWrongResult, "margin 3.1 in block 4"),
          candidate(4, "fa_mma", 256, 0, Outcome::kWrongResult, "margin 7 in block 12"),
          candidate(5, "fa_tiled", 32, 80),
          candidate(6, "fa_tiled", 64, 0, Outcome::kCompileError, "</script><b>no & \"such\" type"),
          contestant("cudnn", RowRole::kBaseline, 12.5),
          contestant("fatune:fa_mma", RowRole::kFinalist, 10),
          EndRecord{"complete", 9}};
}

/// A run's folder with its journal, and nothing else.
class SampleRun {
 public:
  explicit SampleRun(const std::vector<Record>& records = sample_records(),
                     const JournalHeader& header = sample_header()) {
    auto writer = JournalWriter::create(path(), header);
    FATUNE_CHECK(writer, "a fresh folder takes a journal");
    for (const Record& record : records) FATUNE_CHECK(writer->append(record), "there is room");
  }
  std::filesystem::path path() const { return folder_ / "sample"; }
  PageRun load() const {
    auto run = load_page_run(path());
    FATUNE_CHECK(run, "its own journal can be read");
    return std::move(*run);
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace fatune::test
