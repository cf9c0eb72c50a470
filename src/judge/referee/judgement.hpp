// judgement.hpp - fatune.judgement/1: what became of a submission, and the file that keeps it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/append_file.hpp"
#include "core/fields_fwd.hpp"
#include "core/result.hpp"
#include "judge/referee/submission.hpp"
#include "model/results/error_region.hpp"
#include "model/results/record.hpp"
#include "model/results/sol_score.hpp"
#include "model/results/sweep_result.hpp"

namespace fatune {

/// A judged kernel's time over that of something else.
struct Beside {
  std::string impl;
  std::string time;                 ///< that is compared: "in_layer", "plain", "hot"
  std::optional<double> median_us;  ///< of the other
  std::optional<Ratio> ratio;       ///< empty: see reason
  bool paired = false;              ///< both took turns in the same rounds
  std::string comparison;           ///< "faster", "tie", "slower": by the interval, against 1
  std::string verdict;              ///< "Excellent", ... of the ratio
  std::string reason;
};
void fields(Beside& x, FieldList& f);

/// Outcomes are those of the journal; `unavailable` is what no gate could be asked about.
struct JudgedKernel {
  std::string problem_id;
  Scrutiny mode = Scrutiny::kCheck;
  std::string gate;  ///< that refused it; empty where none did
  FinalRecord record;
  std::string device;             ///< "NVIDIA H200"; empty where none was asked
  std::vector<Beside> baselines;  ///< of one that passed and was timed
  std::optional<SolScore> sol;    ///< against the fastest of them
  std::vector<std::string> warnings;
  std::vector<ErrorRegion> regions;  ///< of wrong outputs
  std::string run;                   ///< "runs/3": the search that chose the config; else empty
  double examined_s = 0;             ///< by compilers and device; 0 where no device was
  std::string thought;
  std::vector<std::string> parents;

  bool passed() const { return record.outcome == Outcome::kMeasured; }
};
void fields(JudgedKernel& x, FieldList& f);
/// Of one kind of device, both measured or both recorded: their times can be compared.
inline bool same_conditions(const JudgedKernel& a, const JudgedKernel& b) {
  return a.device == b.device && a.record.recorded == b.record.recorded;
}

inline constexpr std::int64_t kUsualHistory = 20;
struct AskHistory {
  std::optional<std::string> problem;  ///< its id; none: every problem
  std::optional<std::int64_t> last;    ///< so many, the newest last; none: kUsualHistory
};
struct History {
  std::vector<JudgedKernel> judgements;
};
void fields(AskHistory& x, FieldList& f);
void fields(History& x, FieldList& f);

/// The judgements of this process, and with a folder those of the processes before it.
class JudgementLog {
 public:
  /// Of this process alone.
  JudgementLog() = default;
  /// FOLDER/judgements.jsonl has a judgement a line; FOLDER/kernels/ID, for --kernel-dir, what was
  /// submitted. Another judge must not have the folder.
  static Result<JudgementLog> open(const std::filesystem::path& folder);

  Status add(const JudgedKernel& judgement, const Submission& submission, const Kernel& kernel);
  History history(const AskHistory& wanted) const;
  const std::vector<JudgedKernel>& judgements() const { return judgements_; }
  /// The newest of that id; a usage error when there is none.
  Result<JudgedKernel> find(const std::string& id) const;
  /// What was submitted for it, with the config that was judged.
  Result<Submission> submission_of(const JudgedKernel& judgement) const;
  const std::filesystem::path& folder() const { return folder_; }  ///< empty: none

 private:
  std::filesystem::path folder_;  ///< empty: none
  std::optional<AppendFile> file_;
  std::vector<JudgedKernel> judgements_;
  std::map<std::string, Submission> submissions_;  ///< by id; of this process
};

}  // namespace fatune
