// judgement.hpp - fatune.judgement/1: what became of a submission, and the file that keeps it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/append_file.hpp"
#include "core/fields_fwd.hpp"
#include "core/result.hpp"
#include "judge/referee/submission.hpp"
#include "model/results/record.hpp"

namespace fatune {

/// Outcomes are those of the journal; `unavailable` is what no gate could be asked about.
struct JudgedKernel {
  std::string problem_id;
  std::string mode = "check";  ///< compilation and gates, nothing timed
  std::string gate;            ///< that refused it; empty where none did
  FinalRecord record;
  std::string thought;
  std::vector<std::string> parents;

  bool passed() const { return record.outcome == Outcome::kMeasured; }
};
void fields(JudgedKernel& x, FieldList& f);

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

 private:
  std::filesystem::path folder_;  ///< empty: none
  std::optional<AppendFile> file_;
  std::vector<JudgedKernel> judgements_;
};

}  // namespace fatune
