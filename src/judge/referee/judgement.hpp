// judgement.hpp: Declares the judgement of a submission, fatune.judgement/1, and its log.
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
#include "model/results/comparison.hpp"

namespace fatune {

/// Compares a judged kernel's time with a baseline's.
struct BaselineComparison : Compared {
  std::string impl;
  Time time = Time::kHot;           ///< the compared time
  std::optional<double> median_us;  ///< median of the baseline
};
void fields(BaselineComparison& x, FieldList& f);

/// Outcomes are those of the journal; `unavailable` means that no gate could run.
struct JudgedKernel {
  std::string problem_id;
  Scrutiny mode = Scrutiny::kCheck;
  std::string gate;  ///< the gate that refused the kernel; empty if none did
  FinalRecord record;
  std::string device;                         ///< "NVIDIA H200"; empty if no device was used
  std::vector<BaselineComparison> baselines;  ///< comparisons of a kernel that passed and was timed
  std::optional<SolScore> sol;                ///< score against the fastest baseline
  std::vector<std::string> warnings;
  std::vector<ErrorRegion> regions;  ///< regions of wrong outputs
  std::string run;        ///< "runs/3": the search that chose the config; empty if no search did
  double examined_s = 0;  ///< time in compilers and on the device; 0 if no device was used
  std::string thought;
  std::vector<std::string> parents;

  bool passed() const { return record.outcome == Outcome::kMeasured; }
};
void fields(JudgedKernel& x, FieldList& f);
/// Compares times of one kind of device only, both measured or both recorded.
inline bool same_conditions(const JudgedKernel& a, const JudgedKernel& b) {
  return a.device == b.device && a.record.recorded == b.record.recorded;
}

inline constexpr std::int64_t kUsualHistory = 20;
struct AskHistory {
  std::optional<std::string> problem;  ///< problem id; empty for every problem
  std::optional<std::int64_t> last;    ///< maximum judgements, newest last; kUsualHistory if empty
};
struct History {
  std::vector<JudgedKernel> judgements;
};
void fields(AskHistory& x, FieldList& f);
void fields(History& x, FieldList& f);

/// Keeps the judgements of this process and, given a folder, of earlier processes.
class JudgementLog {
 public:
  /// Keeps the judgements of this process only.
  JudgementLog() = default;
  /// FOLDER/judgements.jsonl has one judgement a line. FOLDER/kernels/ID has the submission in the
  /// layout of --kernel-dir. Fails if another judge uses the folder.
  static Result<JudgementLog> open(const std::filesystem::path& folder);

  /// Fails when one more judgement could make the file longer than its reader's limit.
  Status check_room() const;
  Status add(const JudgedKernel& judgement, const Submission& submission, const Kernel& kernel);
  History history(const AskHistory& wanted) const;
  const std::vector<JudgedKernel>& judgements() const { return judgements_; }
  /// Returns the newest judgement of an id, or a usage error if there is none.
  Result<JudgedKernel> find(const std::string& id) const;
  /// Returns the submission of a judgement, with the judged config.
  Result<Submission> submission_of(const JudgedKernel& judgement) const;
  const std::filesystem::path& folder() const { return folder_; }  ///< empty if there is no folder

 private:
  std::filesystem::path folder_;  ///< empty if there is no folder
  std::optional<AppendFile> file_;
  std::vector<JudgedKernel> judgements_;
  std::map<std::string, Submission> submissions_;  ///< by id, if there is no folder
};

}  // namespace fatune
