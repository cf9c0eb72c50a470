// replay.cpp: Answers requests from a transcript.
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/log.hpp"
#include "evolve/proposers/proposer.hpp"
#include "evolve/protocol/transcript.hpp"

namespace fatune {
namespace {

class ReplayProposer final : public Proposer {
 public:
  ReplayProposer(std::vector<TranscriptEntry> entries, std::string where)
      : entries_(std::move(entries)), where_(std::move(where)) {}

  Result<ProposerAnswer> ask(std::int64_t number, const std::string& request) override {
    if (number >= std::ssize(entries_)) {
      return file_error(
          fmt::format("{}: has {} answers, and another one is wanted", where_, entries_.size()));
    }
    const TranscriptEntry& entry = entries_[static_cast<std::size_t>(number)];
    if (entry.request != request && !warned_) {
      log::warn(
          fmt::format("{}: request {} is not the one that was answered then: times or "
                      "options differ",
                      where_, entry.ask));
      warned_ = true;
    }
    return ProposerAnswer{.line = entry.answer, .failure = entry.failure};
  }

 private:
  std::vector<TranscriptEntry> entries_;
  std::string where_;
  bool warned_ = false;
};

}  // namespace

Result<std::unique_ptr<Proposer>> make_replay_proposer(const std::filesystem::path& transcript) {
  FATUNE_TRY(auto entries, load_transcript(transcript));
  return std::unique_ptr<Proposer>(
      std::make_unique<ReplayProposer>(std::move(entries), transcript.string()));
}

}  // namespace fatune
