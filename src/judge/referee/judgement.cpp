// judgement.cpp: Keeps judgements as lines of a file, and submissions as folders that can be tuned.
#include "judge/referee/judgement.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/file.hpp"
#include "core/record_lines.hpp"
#include "core/text.hpp"
#include "model/kernel/kernel.hpp"

namespace fatune {
namespace {

/// In bytes; chosen: names and reasons from a manifest, a thought, and 2 KB of figures.
constexpr std::size_t kLongestJudgement = std::size_t{1} << 20U;
constexpr const char* kJudgements = "judgements.jsonl";
constexpr const char* kKernels = "kernels";  // subfolder for submissions, one folder per id

}  // namespace

Result<JudgementLog> JudgementLog::open(const std::filesystem::path& folder) {
  JudgementLog log;
  log.folder_ = folder;
  FATUNE_TRY_STATUS(make_directories(folder));
  FATUNE_TRY(log.file_,
             open_record_lines<JudgedKernel>(folder / kJudgements, kLargeFile,
                                             [&](JudgedKernel judgement, const std::string&) {
                                               log.judgements_.push_back(std::move(judgement));
                                               return Status();
                                             }));
  return log;
}

Status JudgementLog::check_room() const {
  if (!file_) return {};
  FATUNE_TRY(const std::uint64_t size, file_->size());
  if (size + kLongestJudgement <= kLargeFile) return {};
  return file_error(fmt::format(
      "{}: holds {} of the {} that are read, which leaves no room for a judgement; begin another "
      "folder with --out",
      (folder_ / kJudgements).string(), describe(Bytes(size)), describe(Bytes(kLargeFile))));
}

Status JudgementLog::add(const JudgedKernel& judgement, const Submission& submission,
                         const Kernel& kernel) {
  if (file_) {
    const auto name = std::filesystem::path(kKernels) / judgement.record.id;
    FATUNE_TRY_STATUS(write_below(folder_, name / kernel.source.path, submission.source));
    FATUNE_TRY_STATUS(write_below(folder_, name / kernel.manifest.where, submission.manifest));
    FATUNE_TRY_STATUS(file_->append_line(dump(to_json(judgement))));
  } else {
    submissions_.insert_or_assign(judgement.record.id, submission);
  }
  judgements_.push_back(judgement);
  return {};
}

Result<JudgedKernel> JudgementLog::find(const std::string& id) const {
  for (auto each = judgements_.rbegin(); each != judgements_.rend(); ++each) {
    if (each->record.id == id) return *each;
  }
  return usage_error(
      fmt::format("there is no judgement '{}'; history says which there are", excerpt(id)));
}

Result<Submission> JudgementLog::submission_of(const JudgedKernel& judgement) const {
  const std::string& id = judgement.record.id;
  Submission submission;
  if (const auto kept = submissions_.find(id); kept != submissions_.end()) {
    submission = kept->second;
  } else {
    const auto folder = folder_ / kKernels / id;
    FATUNE_TRY(submission.manifest, read_found_file(folder / kManifestName));
    FATUNE_TRY(const Json manifest, parse_json(submission.manifest, kManifestName));
    FATUNE_TRY(const std::string source, Fields(manifest, kManifestName).text("source"));
    FATUNE_TRY(submission.source, read_found_file(folder / file_name(source)));
  }
  submission.problem = judgement.problem_id;
  submission.config = dump(judgement.record.config);
  return submission;
}

History JudgementLog::history(const AskHistory& wanted) const {
  History history;
  for (const JudgedKernel& each : judgements_) {
    if (!wanted.problem || each.problem_id == *wanted.problem) history.judgements.push_back(each);
  }
  const auto excess = std::max<std::int64_t>(
      0, std::ssize(history.judgements) - wanted.last.value_or(kUsualHistory));
  history.judgements.erase(history.judgements.begin(), history.judgements.begin() + excess);
  return history;
}

void fields(BaselineComparison& x, FieldList& f) {
  f.record("beside", "A judged kernel's time over that of a baseline");
  f("impl", x.impl).required();
  f("time", x.time).about("That is compared");
  f("median_us", x.median_us).about("Of the baseline");
  f("ratio", x.ratio);
  f("paired", x.paired).omitted().about("Both took turns in the same rounds");
  f("comparison", x.comparison).omitted().one_of("faster, tie, slower");
  f("verdict", x.verdict).omitted();
  f("reason", x.reason).omitted().about("Why there is no ratio");
}

void fields(JudgedKernel& x, FieldList& f) {
  f.record("judgement", "What became of a submitted kernel");
  f.document("fatune.judgement", {2});
  f("id", x.record.id)
      .required()
      .looks_like(kIdPattern)
      .about("Of text, manifest, config and problem");
  f("problem_id", x.problem_id).required();
  f("mode", x.mode).about("check: nothing is timed; rank: few rounds; final: edge problems, too");
  f.derived("passed", x.passed())
      .absent_if(x.record.outcome == Outcome::kUnavailable)
      .about("Every gate that this mode has; absent: not judged");
  outcome_fields(x.record, f);
  f("gate", x.gate).omitted().about("That refused it; 'reason' says where and by how much");
  f("kernel", x.record.kernel);
  f("config", x.record.config).object().schema(kConfigSchema);
  f("problem", x.record.problem);
  f("verify", x.record.verification);
  f("resources", x.record.resources);
  time_fields(x.record, f);
  f("baselines", x.baselines).omitted().about("Its time over theirs");
  f("sol", x.sol);
  f("warnings", x.warnings).omitted();
  f("device", x.device).omitted();
  f("recorded", x.record.recorded).omitted().about("Measured earlier, not on this machine");
  f("regions", x.regions).omitted().about("Where outputs are wrong, and by how much");
  f("run", x.run).omitted().about("The search that chose the config");
  f("examined_s", x.examined_s).omitted().about("Seconds with compilers and device");
  f("thought", x.thought).omitted().about("Of its author: data, no instruction");
  f("parents", x.parents).omitted();
}

void fields(AskHistory& x, FieldList& f) {
  f("problem", x.problem).about("Its id; absent: every problem");
  f("last", x.last).range(1, 1000).about("So many, the newest last [20]");
  f.by_hand();
}

void fields(History& x, FieldList& f) { f("judgements", x.judgements).required(); }

}  // namespace fatune
