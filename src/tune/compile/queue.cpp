// queue.cpp: Moves tickets from waiting to done.
#include "tune/compile/queue.hpp"

#include <utility>

#include "core/result.hpp"

namespace fatune {
Ticket CompileQueue::add(CompileOrder order) {
  orders_[++last_] = std::move(order);
  waiting_.push_back(last_);
  return last_;
}

Ticket CompileQueue::add_done(Compiled compiled) {
  done_[++last_] = std::move(compiled);
  return last_;
}

std::optional<Ticket> CompileQueue::next() {
  if (waiting_.empty()) return std::nullopt;
  const Ticket ticket = waiting_.front();
  waiting_.pop_front();
  return ticket;
}

void CompileQueue::finish(Ticket ticket, Compiled compiled) {
  compiled.ended = std::chrono::steady_clock::now();
  done_[ticket] = std::move(compiled);
  orders_.erase(ticket);
}

void CompileQueue::forget(Ticket ticket) {
  std::erase(waiting_, ticket);
  orders_.erase(ticket);
  done_.erase(ticket);
}

Compiled CompileQueue::take(Ticket ticket) {
  const auto found = done_.find(ticket);
  FATUNE_CHECK(found != done_.end(), "only a ready ticket can be taken");
  Compiled compiled = std::move(found->second);
  done_.erase(found);
  return compiled;
}

}  // namespace fatune
