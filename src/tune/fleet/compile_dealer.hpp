// compile_dealer.hpp - rank 0's ledger of compilations: who wants which, and who has it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "tune/fleet/messages.hpp"

namespace fatune {

/// Deals the orders of all ranks to those that compile, in the order in which they come. What a
/// rank has that is lost goes to others; what two were lost with, and all when nobody is left, is
/// refused: whoever asked compiles it.
class CompileDealer {
 public:
  using Tell = std::function<Status(int rank, const RankMessage&)>;
  explicit CompileDealer(Tell tell) : tell_(std::move(tell)) {}

  void add(int rank, std::size_t jobs);  ///< a rank that compiles
  Status lose(int rank);
  void find_again(int rank);  ///< one that was lost

  Status ask(int from, const CompileMessage& message);
  Status withdraw(int from, const WithdrawMessage& message);
  Status answer(int by, CompiledMessage message);

  std::size_t ranks() const { return compilers_.size(); }
  std::size_t jobs() const;  ///< of the ranks that are there
  /// Of `jobs()`, those at work now; and all compilations so far.
  std::size_t busy() const;
  std::size_t compiled() const { return compiled_; }

 private:
  /// Chosen: after so many in a row a rank gets no more; being idle it would draw every order.
  static constexpr int kMostRefusals = 3;
  struct Compiler {
    std::size_t jobs = 1, busy = 0;
    bool lost = false;
    int refusals = 0;  ///< in a row
    bool takes_orders() const { return !lost && refusals < kMostRefusals; }
  };
  struct Open {
    int from = 0;
    std::int64_t asked = 0;  ///< the asker's number
    CompileOrder order;
    int by = 0;  ///< 0: it waits
    std::size_t losses = 0;
  };

  Status deal();
  std::map<int, Compiler>::iterator least_busy();
  Status refuse(std::int64_t number, const std::string& why);
  void leave(const Open& open);

  Tell tell_;
  std::map<int, Compiler> compilers_;  ///< by rank
  std::map<std::int64_t, Open> open_;  ///< by the number that its compiler knows
  std::deque<std::int64_t> waiting_;
  std::int64_t last_ = 0;
  std::size_t compiled_ = 0;
};

}  // namespace fatune
