// queue.hpp: Keeps the compilations of a pool by ticket, waiting or done.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>

#include "tune/compile/service.hpp"
#include "worker/protocol/compilation.hpp"

namespace fatune {

/// A queue whose tickets compile workers take and finish.
class CompileQueue {
 public:
  Ticket add(CompileOrder order);
  Ticket add_done(Compiled compiled);  ///< for a result known at once
  std::size_t waiting() const { return waiting_.size(); }
  std::optional<Ticket> next();
  void put_back(Ticket ticket) { waiting_.push_front(ticket); }  ///< makes the ticket the next one
  const CompileOrder& order(Ticket ticket) const { return orders_.at(ticket); }
  void finish(Ticket ticket, Compiled compiled);
  void forget(Ticket ticket);
  bool ready(Ticket ticket) const { return done_.contains(ticket); }
  Compiled take(Ticket ticket);  ///< must be ready

 private:
  std::map<Ticket, CompileOrder> orders_;  ///< of all tickets that are not done
  std::deque<Ticket> waiting_;
  std::map<Ticket, Compiled> done_;
  Ticket last_ = 0;
};

/// The reply of a compile process to a ticket.
struct Answered {
  Ticket ticket = 0;
  Reply reply;
};

}  // namespace fatune
