// edge_problems.hpp: Chooses which contestants of a final phase solve which edge problems.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "tune/evaluate/final_stages.hpp"

namespace fatune {

/// Short, odd and large problems that a kernel must solve as well. The last resort is for
/// contestants that support no other edge problem, and for contestants that run several work tiles
/// per CTA there only.
class EdgeProblems {
 public:
  explicit EdgeProblems(FinalStages& stages) : stages_(stages) {}
  ~EdgeProblems();  ///< cancels what nothing awaits
  EdgeProblems(const EdgeProblems&) = delete;
  EdgeProblems& operator=(const EdgeProblems&) = delete;

  /// Submits the compilations. `seed` is that of the inputs.
  Status request(const Places& contestants, std::uint64_t seed);
  bool empty() const { return edges_.empty(); }
  /// Checks every requested contestant that has not failed.
  Status check_all(const Places& contestants);
  /// Puts the winner's compilations before all others.
  Status leave_to(std::size_t winner);
  /// Returns the first edge problem with a contestant to check; null if there is none.
  Stage* next();
  /// Notes in a contestant's record how many edge problems it passed.
  void note(std::size_t index);

 private:
  Status request_last_resort(const Places& contestants);
  bool persists(std::size_t index, const Problem& problem) const;

  FinalStages& stages_;
  std::uint64_t seed_ = 0;
  std::vector<Stage> edges_;
  std::set<std::size_t> at_last_resort_;  ///< contestants checked on the last-resort problem
};

}  // namespace fatune
