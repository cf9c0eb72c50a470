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
  std::size_t waiting() const { return waiting_.size(); }
  std::optional<Ticket> next();
  void put_back(Ticket ticket) { waiting_.push_front(ticket); }  ///< it will be the next
  const CompileOrder& order(Ticket ticket) const { return orders_.at(ticket); }
  void finish(Ticket ticket, Compiled compiled);
  void forget(Ticket ticket);
  bool ready(Ticket ticket) const { return done_.contains(ticket); }
  Compiled take(Ticket ticket);  ///< must be ready

 private:
  std::map<Ticket, CompileOrder> orders_;  ///< of all that are not done
  std::deque<Ticket> waiting_;
  std::map<Ticket, Compiled> done_;
  Ticket last_ = 0;
};

/// What a compile process says of a ticket that it was given.
struct Answered {
  Ticket ticket = 0;
  Reply reply;
};

}  // namespace fatune
