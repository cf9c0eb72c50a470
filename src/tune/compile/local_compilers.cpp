// local_compilers.cpp: Starts compile workers, gives them orders, and enforces deadlines.
#include "tune/compile/local_compilers.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <poll.h>

#include "core/fields.hpp"
#include "core/file.hpp"

namespace fatune {
namespace {

/// Chosen: a cold disk takes seconds to read NVRTC.
constexpr std::chrono::seconds kGreetingTime{60};
constexpr int kClockTimes = 5;  ///< clock time of a compilation by its CPU time; chosen
constexpr std::chrono::milliseconds kSoonest{100};  ///< until CPU time is looked at again; chosen

Reply failure(std::string problem) {
  Reply reply;
  reply.compiled.problem = std::move(problem);
  return reply;
}

bool is_readable(int descriptor) {
  pollfd wanted{descriptor, POLLIN, 0};
  return ::poll(&wanted, 1, 0) > 0;
}

}  // namespace

Ticket CompileQueue::add(CompileOrder order) {
  orders_[++last_] = std::move(order);
  waiting_.push_back(last_);
  return last_;
}

Ticket CompileQueue::add_done(Compiled compiled) {
  done_[++last_] = std::move(compiled);
  return last_;
}

void CompileQueue::put_back(Ticket ticket) {
  std::erase(given_, ticket);
  waiting_.push_front(ticket);
}

std::optional<Ticket> CompileQueue::next() {
  const auto key_of = [this](Ticket ticket) -> const std::string& { return order(ticket).key; };
  const auto found = std::ranges::find_if(waiting_, [&](Ticket ticket) {
    return std::ranges::count(given_, key_of(ticket), key_of) == 0;
  });
  if (found == waiting_.end()) return std::nullopt;
  given_.push_back(*found);
  waiting_.erase(found);
  return given_.back();
}

void CompileQueue::finish(Ticket ticket, Compiled compiled) {
  compiled.ended = std::chrono::steady_clock::now();
  const std::string key = orders_.at(ticket).key;
  std::erase(given_, ticket);
  orders_.erase(ticket);
  if (!is_of_a_machine(compiled)) {
    Compiled same = compiled;
    same.from_cache = true;
    same.seconds = 0;
    same.process.reset();
    std::erase_if(waiting_, [&](Ticket other) {
      if (orders_.at(other).key != key) return false;
      done_[other] = same;
      orders_.erase(other);
      return true;
    });
  }
  done_[ticket] = std::move(compiled);
}

void CompileQueue::forget(Ticket ticket) {
  std::erase(waiting_, ticket);
  std::erase(given_, ticket);
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

std::size_t LocalCompilers::compiling() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      workers_, [](const Worker& worker) { return worker.order.has_value(); }));
}

Status LocalCompilers::start_worker() {
  ChildCommand command;
  command.program = executable_path();
  command.arguments = {"compile-worker", dump(to_json(options_))};
  command.inherited = kWorkerEnvironment;
  auto child = Child::start(command);
  if (!child) return with_context(std::move(child).error(), "starting a compile worker");
  std::size_t number = 0;
  while (std::ranges::find(workers_, number, &Worker::number) != workers_.end()) ++number;
  workers_.push_back({.number = number,
                      .child = *std::move(child),
                      .greeted = false,
                      .fresh = true,
                      .order = std::nullopt,
                      .deadline = Clock::now() + kGreetingTime});
  return {};
}

/// Retries one order alone, because the system may kill workers when compilations exhaust memory.
Status LocalCompilers::dispatch_second_try() {
  if (compiling() > 0) return {};
  const auto fresh = std::ranges::find(workers_, true, &Worker::fresh);
  if (fresh == workers_.end()) {
    workers_.clear();  // idle workers hold memory, too
    return start_worker();
  }
  if (!fresh->greeted) return {};
  const SecondTry& next = second_tries_.front();
  second_try_ = next.ticket;
  // If the worker has died, another one is started.
  if (give(*fresh, next.ticket, next.order)) second_tries_.pop_front();
  return {};
}

Status LocalCompilers::dispatch(CompileQueue& queue) {
  if (!second_tries_.empty()) return dispatch_second_try();
  if (second_try_ && compiling() > 0) return {};
  second_try_.reset();
  for (Worker& worker : workers_) {
    if (!worker.greeted || worker.order) continue;
    const std::optional<Ticket> ticket = queue.next();
    if (!ticket) return {};
    if (give(worker, *ticket, queue.order(*ticket))) continue;
    queue.put_back(*ticket);
    worker.child = Child();  // an idle worker died; another one takes its place
  }
  std::erase_if(workers_, [](const Worker& worker) { return !worker.child.started(); });
  auto starting = static_cast<std::size_t>(std::count_if(
      workers_.begin(), workers_.end(), [](const Worker& worker) { return !worker.greeted; }));
  for (; starting < queue.waiting() && workers_.size() < jobs_; ++starting) {
    FATUNE_TRY_STATUS(start_worker());
  }
  return {};
}

Status LocalCompilers::give(Worker& worker, Ticket ticket, const CompileOrder& order) {
  FATUNE_TRY_STATUS(worker.child.channel().send(to_json(order)));
  worker.order = order;
  worker.ticket = ticket;
  worker.fresh = false;
  worker.deadline = Clock::now() + deadline_;
  worker.last = Clock::now() + kClockTimes * deadline_;
  worker.cpu_had = worker.child.cpu_time();
  return {};
}

std::chrono::steady_clock::time_point LocalCompilers::next_deadline() const {
  auto next = Clock::time_point::max();
  for (const Worker& worker : workers_) {
    if (worker.order || !worker.greeted) next = std::min(next, worker.deadline);
  }
  return next;
}

std::vector<int> LocalCompilers::descriptors() {
  std::vector<int> all;
  for (Worker& worker : workers_) all.push_back(worker.child.channel().descriptor());
  return all;
}

Result<std::vector<Answered>> LocalCompilers::hear() {
  std::vector<Answered> answers;
  for (Worker& worker : workers_) {
    if (is_readable(worker.child.channel().descriptor()))
      FATUNE_TRY_STATUS(handle(worker, answers));
  }
  FATUNE_TRY_STATUS(kill_late(answers));
  std::erase_if(workers_, [](const Worker& worker) { return !worker.child.started(); });
  return answers;
}

Status LocalCompilers::handle(Worker& worker, std::vector<Answered>& answers) {
  const auto message = worker.child.channel().receive(std::chrono::seconds(5));
  if (!message || !*message) return lost(worker, "", answers);
  return worker.greeted ? take_reply(worker, **message, answers) : take_greeting(worker, **message);
}

Status LocalCompilers::take_greeting(Worker& worker, const Json& message) {
  FATUNE_TRY(Greeting greeting, read_value<Greeting>(message, "compile worker"));
  if (!greeting.problem.empty()) return environment_error(greeting.problem);
  worker.greeted = true;
  compiler_ = std::move(greeting);
  return {};
}

Status LocalCompilers::take_reply(Worker& worker, const Json& message,
                                  std::vector<Answered>& answers) {
  FATUNE_TRY(Reply reply, read_value<Reply>(message, "compile worker"));
  FATUNE_CHECK(worker.order.has_value(), "a worker replies to requests only");
  auto order = *std::exchange(worker.order, std::nullopt);
  if (lacks_memory(reply.compiled)) {
    if (worker.ticket != second_try_) {
      second_tries_.push_back({worker.ticket, std::move(order)});
      return {};
    }
    reply.compiled.problem = "the compiler lacked memory twice: " + reply.compiled.problem;
  }
  reply.compiled.process = worker.number;
  answers.push_back({worker.ticket, std::move(reply)});
  return {};
}

/// Handles a worker process that died or was killed, and fails its order, if any.
Status LocalCompilers::lost(Worker& worker, const std::string& how,
                            std::vector<Answered>& answers) {
  const auto end = worker.child.kill();
  const std::string ended = end ? describe(*end) : "it does not end";
  worker.child = Child();
  if (auto order = std::exchange(worker.order, std::nullopt)) {
    if (how.empty() && worker.ticket != second_try_) {
      second_tries_.push_back({worker.ticket, *std::move(order)});
    } else {
      answers.push_back(
          {worker.ticket, failure(how.empty() ? "the compiler crashed twice: " + ended : how)});
    }
    return {};
  }
  if (worker.greeted) return {};
  return environment_error("a compile worker did not start: " + (how.empty() ? ended : how));
}

Status LocalCompilers::kill_late(std::vector<Answered>& answers) {
  for (Worker& worker : workers_) {
    if (!worker.child.started() || Clock::now() < worker.deadline) continue;
    if (worker.greeted && !worker.order) continue;
    const std::string why = why_late(worker);
    if (!why.empty()) FATUNE_TRY_STATUS(lost(worker, why, answers));
  }
  return {};
}

/// Returns why the process is killed at its deadline. Empty: the order has CPU time left, and a new
/// deadline.
std::string LocalCompilers::why_late(Worker& worker) {
  const auto within = [](std::chrono::seconds limit) {
    return fmt::format("the compiler did not finish within {} s", limit.count());
  };
  if (!worker.greeted) return within(kGreetingTime);
  const auto left = deadline_ - (worker.child.cpu_time() - worker.cpu_had);
  if (left <= left.zero()) return within(deadline_) + " of CPU time";
  if (Clock::now() >= worker.last) return within(kClockTimes * deadline_);
  worker.deadline = std::min(worker.last, Clock::now() + std::max<Clock::duration>(left, kSoonest));
  return {};
}

void LocalCompilers::cancel(Ticket ticket) {
  std::erase_if(second_tries_, [&](const SecondTry& each) { return each.ticket == ticket; });
  // NVRTC cannot be interrupted, so the process is killed.
  std::erase_if(workers_,
                [&](const Worker& worker) { return worker.order && worker.ticket == ticket; });
}

}  // namespace fatune
