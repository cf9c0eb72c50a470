// sample_journal.hpp: Makes the header and records of a small run.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/hash.hpp"
#include "core/text.hpp"
#include "model/results/journal.hpp"

namespace fatune::test {

inline RunPlan sample_plan() {
  RunPlan plan;
  plan.problems = {{"mission", Attention{4, 8, 8, 512, 512, 64, Dtype::kF16, Mask::kNone}},
                   {"", Attention{1, 8, 2, 128, 256, 64, Dtype::kBf16, Mask::kCausal}}};
  plan.kernels = {"fa_mma", "fa_rows"};
  plan.kernel_hashes = {"aa", "bb"};
  plan.strategy = "random";
  plan.objective = Objective::kCold;
  plan.seed = 18446744073709551615ULL;
  plan.budget_evaluations = 12;
  plan.budget_seconds = 60;
  plan.skip_correctness = true;
  plan.record_cold = true;
  plan.command = "fatune sweep --shape 4,8,512,64";
  return plan;
}

inline JournalHeader sample_header() {
  JournalHeader header;
  header.plan = sample_plan();
  header.environment.device_name = "Formula 1";
  header.environment.limits.arch = {90, 'a'};
  return header;
}

inline std::vector<Record> sample_records() {
  CandidateRecord measured;
  measured.id = "0123456789abcdef";
  measured.key = "fa_mma BLOCK_M=64";
  measured.kernel = "fa_mma";
  measured.config = {{"BLOCK_M", 64}, {"REDUCE", "warp"}, {"EXP2", true}};
  measured.hot = Timing{};
  measured.hot->median_us = 9.75;
  measured.hot->min_us = 9.5;
  measured.at_s = 1.5;
  CandidateRecord failed = measured;
  failed.key = "fa_mma BLOCK_M=128";
  failed.outcome = Outcome::kCompileError;
  failed.reason = "line 1: \"quoted\"\nline 2: µs";
  failed.hot.reset();
  FinalRecord final;
  final.impl = "fatune:fa_mma";
  final.role = RowRole::kFinalist;
  final.kernel = "fa_mma";
  final.config = measured.config;
  final.hot_rounds_us = {9.5, 9.75, 10};
  return {StartedRecord{measured.id, measured.key}, measured, failed, final,
          EndRecord{"complete", 2.5}};
}

/// The text of a journal that holds `records`.
inline std::string journal_text(const std::vector<Record>& records) {
  const JournalHeader header = sample_header();
  std::string text = dump(to_json(header)) + "\n";
  for (const Record& record : records) text += dump(to_json(record)) + "\n";
  return text;
}

/// The same as a writer makes it: a checksum at the end of each line.
inline std::string sealed_text(const std::vector<Record>& records) {
  std::string text;
  for (const std::string& line : split(journal_text(records), '\n')) {
    if (line.empty()) continue;
    text += line.substr(0, line.size() - 1) + R"(,"crc":")" + crc32_hex(line) + "\"}\n";
  }
  return text;
}

}  // namespace fatune::test
