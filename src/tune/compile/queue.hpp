// queue.hpp - a pool's compilations by ticket: those that wait, and those that are done.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>

#include "tune/compile/service.hpp"
#include "worker/protocol/compilation.hpp"

namespace fatune {

/// Whoever compiles takes a ticket from here and finishes it.
class CompileQueue {
 public:
  Ticket add(CompileOrder order);
  Ticket add_done(Compiled compiled);  ///< known at once
  std::size_t waiting() const { return waiting_.size() + put_back_.size(); }
  std::optional<Ticket> next_here();  ///< for this host's processes
  std::optional<Ticket> next_away();  ///< for others
  /// It will be the next here.
  void put_back(Ticket ticket) { put_back_.push_front(ticket); }
  const CompileOrder& order(Ticket ticket) const { return orders_.at(ticket); }
  void finish(Ticket ticket, Compiled compiled);
  void forget(Ticket ticket);
  bool ready(Ticket ticket) const { return done_.contains(ticket); }
  Compiled take(Ticket ticket);  ///< must be ready

 private:
  std::map<Ticket, CompileOrder> orders_;  ///< of all that are not done
  std::deque<Ticket> waiting_, put_back_;
  std::map<Ticket, Compiled> done_;
  Ticket last_ = 0;
};

/// What a compile process says of a ticket that it was given.
struct Answered {
  Ticket ticket = 0;
  Reply reply;
};

}  // namespace fatune
