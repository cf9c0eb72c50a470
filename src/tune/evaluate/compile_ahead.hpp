// compile_ahead.hpp - candidates that may be submitted soon to compilations by idle compilers.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/kernel/candidate.hpp"
#include "tune/evaluate/compile_service.hpp"

namespace fatune {

/// Speculative compilation. A candidate that is never submitted leaves its machine code in the
/// compilation cache and no other trace. `compiler` must outlive it.
class CompileAhead {
 public:
  CompileAhead(CompileService& compiler, DeviceLimits limits);

  /// Replaces the wanted candidates, the likeliest first; those that have not begun are dropped.
  void want(std::vector<Candidate> likely);
  /// Begins compilations while more than `keep_free` compile processes are idle; those stay free
  /// for candidates that may be submitted meanwhile.
  Status begin(std::size_t keep_free);
  /// The compilation, under way or ended, of a candidate that is submitted now; from then on it is
  /// the caller's. Empty when it has not begun, and then it never does.
  std::optional<Ticket> claim(const std::string& key);
  /// Ends what is under way and forgets everything.
  void clear();

  std::size_t begun() const { return begun_; }      ///< since the last clear()
  std::size_t claimed() const { return claimed_; }  ///< of those

 private:
  CompileService& compiler_;
  DeviceLimits limits_;
  std::vector<Candidate> wanted_;          ///< the likeliest last
  std::map<std::string, Ticket> tickets_;  ///< by the candidate's key
  std::size_t begun_ = 0, claimed_ = 0;
};

}  // namespace fatune
