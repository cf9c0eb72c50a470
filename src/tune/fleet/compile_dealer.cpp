// compile_dealer.cpp - orders to the rank with most room, and answers to whoever asked.
#include "tune/fleet/compile_dealer.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/log.hpp"

namespace fatune {
namespace {

/// Of an order: it may be what ends them.
constexpr std::size_t kMostRanksLost = 2;

}  // namespace

void CompileDealer::add(int rank, std::size_t jobs) { compilers_[rank].jobs = jobs; }

void CompileDealer::find_again(int rank) {
  const auto compiler = compilers_.find(rank);
  if (compiler != compilers_.end()) compiler->second.lost = false;
}

/// It is told to forget what it had: it may hear that when it comes back.
Status CompileDealer::lose(int rank) {
  const auto compiler = compilers_.find(rank);
  if (compiler == compilers_.end()) return {};
  compiler->second = {.jobs = compiler->second.jobs,
                      .busy = 0,
                      .lost = true,
                      .refusals = compiler->second.refusals};
  std::vector<std::pair<std::int64_t, Open>> had;
  for (const auto& [number, open] : open_) {
    if (open.by == rank) had.emplace_back(number, open);
  }
  for (auto each = had.rbegin(); each != had.rend(); ++each) {
    auto& [number, open] = *each;
    FATUNE_TRY_STATUS(tell_(rank, WithdrawMessage{number}));
    open_.erase(number);
    open.by = 0;
    ++open.losses;
    open_[++last_] = std::move(open);
    waiting_.push_front(last_);
  }
  return deal();
}

Status CompileDealer::ask(int from, const CompileMessage& message) {
  open_[++last_] = {.from = from, .asked = message.number, .order = message.order};
  waiting_.push_back(last_);
  return deal();
}

Status CompileDealer::withdraw(int from, const WithdrawMessage& message) {
  const auto found = std::ranges::find_if(open_, [&](const auto& each) {
    return each.second.from == from && each.second.asked == message.number;
  });
  if (found == open_.end()) return {};
  const auto [number, open] = *found;
  open_.erase(found);
  std::erase(waiting_, number);
  leave(open);
  if (open.by > 0) FATUNE_TRY_STATUS(tell_(open.by, WithdrawMessage{number}));
  return deal();
}

Status CompileDealer::answer(int by, CompiledMessage message) {
  const auto found = open_.find(message.number);
  if (found == open_.end() || found->second.by != by) return {};
  const Open open = std::move(found->second);
  open_.erase(found);
  leave(open);
  Compiler& compiler = compilers_.at(by);
  if (message.refused.empty()) {
    ++compiled_;
    compiler.refusals = 0;
  } else if (++compiler.refusals == kMostRefusals) {
    log::warn(fmt::format("rank {} compiles no more: {}", by, message.refused));
  }
  message.number = open.asked;
  FATUNE_TRY_STATUS(tell_(open.from, message));
  return deal();
}

void CompileDealer::leave(const Open& open) {
  if (open.by > 0) --compilers_.at(open.by).busy;
}

Status CompileDealer::deal() {
  while (!waiting_.empty()) {
    const std::int64_t number = waiting_.front();
    Open& open = open_.at(number);
    const auto compiler = least_busy();
    if (compiler == compilers_.end() || open.losses >= kMostRanksLost) {
      waiting_.pop_front();
      FATUNE_TRY_STATUS(refuse(number, compiler == compilers_.end()
                                           ? "no rank is left that compiles"
                                           : "ranks were lost that had it"));
      continue;
    }
    if (compiler->second.busy >= compiler->second.jobs) return {};
    waiting_.pop_front();
    open.by = compiler->first;
    ++compiler->second.busy;
    FATUNE_TRY_STATUS(tell_(open.by, CompileMessage{number, open.order}));
  }
  return {};
}

/// By what it has for each job; none where all are lost.
std::map<int, CompileDealer::Compiler>::iterator CompileDealer::least_busy() {
  auto least = compilers_.end();
  for (auto each = compilers_.begin(); each != compilers_.end(); ++each) {
    if (!each->second.takes_orders()) continue;
    const auto load = [](const Compiler& of) { return of.busy * 1000 / of.jobs; };
    if (least == compilers_.end() || load(each->second) < load(least->second)) least = each;
  }
  return least;
}

Status CompileDealer::refuse(std::int64_t number, const std::string& why) {
  const auto open = open_.extract(number);
  return tell_(open.mapped().from, CompiledMessage{.number = open.mapped().asked, .refused = why});
}

std::size_t CompileDealer::jobs() const {
  std::size_t sum = 0;
  for (const auto& [rank, compiler] : compilers_)
    sum += compiler.takes_orders() ? compiler.jobs : 0;
  return sum;
}

std::size_t CompileDealer::busy() const {
  std::size_t sum = 0;
  for (const auto& [rank, compiler] : compilers_) sum += compiler.busy;
  return sum;
}

}  // namespace fatune
