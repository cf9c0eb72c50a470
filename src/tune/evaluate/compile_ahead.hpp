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

/// Speculative compilation: what is compiled here and submitted later is there sooner, what is
/// never submitted leaves its machine code in the compilation cache and no other trace. `compiler`
/// must outlive it.
class CompileAhead {
 public:
  CompileAhead(CompileService& compiler, DeviceLimits limits);

  /// From now on these are wanted, the likeliest first; what was wanted before and has not begun is
  /// dropped.
  void want(std::vector<Candidate> likely);
  /// Begins what is wanted while more than `keep_free` compilers are idle: those are for candidates
  /// that may be submitted meanwhile, so that none has to wait for a compilation of here.
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
