// pool.cpp - hands requests to compile workers, watches deadlines, and answers from the cache.
#include "tune/compile/pool.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/file.h>

#include "core/child.hpp"
#include "core/descriptor.hpp"
#include "core/fields.hpp"
#include "core/file.hpp"
#include "core/interrupt.hpp"
#include "core/log.hpp"
#include "core/scratch_folder.hpp"
#include "model/kernel/includes.hpp"
#include "worker/protocol/compilation.hpp"
#include "worker/protocol/environment.hpp"

namespace fatune {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// Chosen: as many as were ever measured to help.
constexpr std::size_t kMostJobs = 16;
/// Chosen: a cold disk takes seconds to read NVRTC.
constexpr std::chrono::seconds kGreetingTime{60};

struct Worker {
  std::size_t number = 0;  ///< from 0; a worker that is gone leaves its number to another
  Child child;
  bool greeted = false;
  bool fresh = true;  ///< has compiled nothing
  std::optional<Ticket> ticket;
  Clock::time_point deadline;  ///< of the greeting, then of the compilation
};

Compiled failure(std::string problem) {
  Compiled compiled;
  compiled.problem = std::move(problem);
  return compiled;
}

}  // namespace

struct CompilePool::State {
  PoolOptions options;
  WorkerOptions worker_options;
  ScratchFolder fallback;
  Greeting compiler;
  /// Identities of the toolkit's headers, by the names that a request includes.
  std::map<std::vector<std::string>, std::string> headers;
  std::vector<Worker> workers;
  std::map<Ticket, CompileOrder> jobs;
  std::deque<Ticket> queue;
  /// Those whose worker was killed: each once more in a fresh worker, while no other compiles.
  std::deque<Ticket> second_tries;
  std::optional<Ticket> second_try;  ///< under way
  std::map<Ticket, Compiled> done;
  Ticket last_ticket = 0;
  bool warned = false;
  Descriptor open_cache;  ///< locked for as long as machine code in it is relied on
  bool has_stored = false;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    workers.clear();  // before their folder
    prune_cache();
  }
  void open_and_lock_cache();
  void prune_cache();

  std::size_t compiling() const;
  std::size_t waiting() const { return queue.size() + second_tries.size(); }
  Status hand_out_second_try();
  /// Of the compiler and the toolkit's headers that source and headers include.
  std::string identity_with(const SourceFile& source, const std::vector<SourceFile>& own);
  std::string key_of(const CompileRequest& request);
  Status start_worker();
  Status hand_out();
  Status give(Worker& worker, Ticket ticket);
  Status wait_and_handle(milliseconds patience);
  Status handle(Worker& worker);
  Status take_greeting(Worker& worker, const Json& message);
  Status take_reply(Worker& worker, const Json& message);
  Status lost(Worker& worker, const std::string& how);
  Status kill_late();
  void finish(Ticket ticket, Compiled compiled);
};

/// A cache that cannot be opened or locked is not pruned.
void CompilePool::State::open_and_lock_cache() {
  if (options.cache.empty() || options.cache_limit == 0) return;
  static_cast<void>(make_directories(options.cache));
  open_cache = open_file(options.cache, O_RDONLY | O_DIRECTORY);
  if (open_cache.open() && ::flock(open_cache.raw(), LOCK_SH) != 0) open_cache = Descriptor();
}

void CompilePool::State::prune_cache() {
  if (!has_stored) return;
  const Descriptor alone = locked(std::move(open_cache));
  if (alone.open()) CubinCache(options.cache).prune(options.cache_limit);
}

std::size_t CompilePool::State::compiling() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      workers, [](const Worker& worker) { return worker.ticket.has_value(); }));
}

std::string CompilePool::State::identity_with(const SourceFile& source,
                                              const std::vector<SourceFile>& own) {
  std::vector<std::string> names;
  const auto note = [&](const SourceFile& file) {
    for (const Include& include : includes_of(file.text)) {
      if (!include.quoted) names.push_back(include.name);
    }
  };
  note(source);
  std::ranges::for_each(own, note);
  std::string& identity = headers[names];
  if (identity.empty()) identity = headers_identity(worker_options.toolchain, names);
  return compiler.identity + " headers " + identity;
}

std::string CompilePool::State::key_of(const CompileRequest& request) {
  return cache_key(request, request.toolkit_headers ? identity_with(request.source, request.headers)
                                                    : compiler.identity);
}

Status CompilePool::State::start_worker() {
  ChildCommand command;
  command.program = executable_path();
  command.arguments = {"compile-worker", dump(to_json(worker_options))};
  command.inherited = kWorkerEnvironment;
  auto child = Child::start(command);
  if (!child) return with_context(std::move(child).error(), "starting a compile worker");
  std::size_t number = 0;
  while (std::ranges::find(workers, number, &Worker::number) != workers.end()) ++number;
  workers.push_back({.number = number,
                     .child = *std::move(child),
                     .greeted = false,
                     .fresh = true,
                     .ticket = std::nullopt,
                     .deadline = Clock::now() + kGreetingTime});
  return {};
}

/// The killer may have been the system, for want of memory that all compilations share.
Status CompilePool::State::hand_out_second_try() {
  if (compiling() > 0) return {};
  const auto fresh = std::ranges::find(workers, true, &Worker::fresh);
  if (fresh == workers.end()) {
    workers.clear();  // idle ones hold memory, too
    return start_worker();
  }
  if (!fresh->greeted) return {};
  second_try = second_tries.front();
  if (!give(*fresh, *second_try)) return {};  // it is gone; another will be started
  second_tries.pop_front();
  return {};
}

Status CompilePool::State::hand_out() {
  if (!second_tries.empty()) return hand_out_second_try();
  if (second_try && compiling() > 0) return {};
  second_try.reset();
  for (Worker& worker : workers) {
    if (queue.empty()) return {};
    if (!worker.greeted || worker.ticket) continue;
    const Ticket ticket = queue.front();
    if (!give(worker, ticket)) {
      worker.child = Child();  // died while it had nothing to do; another takes its place
      continue;
    }
    queue.pop_front();
  }
  std::erase_if(workers, [](const Worker& worker) { return !worker.child.started(); });
  auto starting = static_cast<std::size_t>(std::count_if(
      workers.begin(), workers.end(), [](const Worker& worker) { return !worker.greeted; }));
  for (; starting < queue.size() && workers.size() < options.jobs; ++starting) {
    FATUNE_TRY_STATUS(start_worker());
  }
  return {};
}

Status CompilePool::State::give(Worker& worker, Ticket ticket) {
  FATUNE_TRY_STATUS(worker.child.channel().send(to_json(jobs.at(ticket))));
  worker.ticket = ticket;
  worker.fresh = false;
  worker.deadline = Clock::now() + options.deadline;
  return {};
}

Status CompilePool::State::wait_and_handle(milliseconds patience) {
  std::vector<pollfd> wanted;
  auto until = Clock::now() + patience;
  for (Worker& worker : workers) {
    wanted.push_back({worker.child.channel().descriptor(), POLLIN, 0});
    if (worker.ticket || !worker.greeted) until = std::min(until, worker.deadline);
  }
  const auto left = std::chrono::ceil<milliseconds>(until - Clock::now()).count();
  const int timeout = static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
  if (poll(wanted.data(), wanted.size(), timeout) > 0) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i].revents != 0) FATUNE_TRY_STATUS(handle(workers[i]));
    }
  }
  FATUNE_TRY_STATUS(kill_late());
  std::erase_if(workers, [](const Worker& worker) { return !worker.child.started(); });
  return {};
}

Status CompilePool::State::handle(Worker& worker) {
  const auto message = worker.child.channel().receive(std::chrono::seconds(5));
  if (!message || !*message) return lost(worker, "");
  return worker.greeted ? take_reply(worker, **message) : take_greeting(worker, **message);
}

Status CompilePool::State::take_greeting(Worker& worker, const Json& message) {
  FATUNE_TRY(Greeting greeting, from_json<Greeting>(message, "compile worker"));
  if (!greeting.problem.empty()) return environment_error(greeting.problem);
  worker.greeted = true;
  compiler = std::move(greeting);
  return {};
}

Status CompilePool::State::take_reply(Worker& worker, const Json& message) {
  FATUNE_TRY(Reply reply, from_json<Reply>(message, "compile worker"));
  if (!reply.failure.empty()) {
    return file_error("the machine code cannot be stored: " + reply.failure);
  }
  if (!reply.cache_problem.empty() && !std::exchange(warned, true)) {
    log::warn("compiling without the cache: " + reply.cache_problem);
  }
  has_stored = true;
  FATUNE_CHECK(worker.ticket.has_value(), "a worker replies to requests only");
  reply.compiled.process = worker.number;
  finish(*worker.ticket, std::move(reply.compiled));
  worker.ticket.reset();
  return {};
}

/// The worker's process is gone or was killed; costs the candidate it had, if any.
Status CompilePool::State::lost(Worker& worker, const std::string& how) {
  const auto end = worker.child.kill();
  const std::string ended = end ? describe(*end) : "it does not end";
  worker.child = Child();
  if (const auto ticket = std::exchange(worker.ticket, std::nullopt)) {
    if (how.empty() && ticket != second_try) {
      second_tries.push_back(*ticket);
    } else {
      finish(*ticket, failure(how.empty() ? "the compiler crashed twice: " + ended : how));
    }
    return {};
  }
  if (worker.greeted) return {};
  return environment_error("a compile worker did not start: " + (how.empty() ? ended : how));
}

Status CompilePool::State::kill_late() {
  const auto now = Clock::now();
  for (Worker& worker : workers) {
    if (!worker.child.started() || now < worker.deadline) continue;
    if (worker.greeted && !worker.ticket) continue;
    const auto limit = worker.greeted ? options.deadline : kGreetingTime;
    FATUNE_TRY_STATUS(
        lost(worker, fmt::format("the compiler did not finish within {} s", limit.count())));
  }
  return {};
}

void CompilePool::State::finish(Ticket ticket, Compiled compiled) {
  compiled.ended = Clock::now();
  done[ticket] = std::move(compiled);
  jobs.erase(ticket);
}

Result<CompilePool> CompilePool::start(const PoolOptions& options) {
  auto state = std::make_unique<State>();
  state->options = options;
  if (state->options.jobs == 0)
    state->options.jobs =
        std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, kMostJobs);
  state->worker_options.toolchain = find_toolchain(options.search);
  if (auto fallback = ScratchFolder::make()) {
    state->fallback = *std::move(fallback);
    state->worker_options.fallback = state->fallback.path();
  }
  state->worker_options.cache =
      options.cache.empty() ? state->worker_options.fallback : options.cache;
  if (state->worker_options.cache.empty()) {
    return file_error("there is no folder for machine code; set TMPDIR, or name one with --cache");
  }
  state->open_and_lock_cache();
  FATUNE_TRY_STATUS(state->start_worker());
  while (!state->workers.empty() && !state->workers.front().greeted) {
    if (interrupted()) return Error{ErrorKind::kInterrupted, "interrupted"};
    FATUNE_TRY_STATUS(state->wait_and_handle(milliseconds(200)));
  }
  return CompilePool(std::move(state));
}

CompilePool::CompilePool(std::unique_ptr<State> state) : state_(std::move(state)) {}
CompilePool::CompilePool(CompilePool&&) noexcept = default;
CompilePool& CompilePool::operator=(CompilePool&&) noexcept = default;
CompilePool::~CompilePool() = default;

const std::string& CompilePool::compiler_version() const { return state_->compiler.version; }
const std::string& CompilePool::compiler_identity() const { return state_->compiler.identity; }
std::string CompilePool::compiler_identity(const Kernel& kernel) const {
  return kernel.manifest.needs_toolkit_headers
             ? state_->identity_with(kernel.source, kernel.headers)
             : compiler_identity();
}
const std::string& CompilePool::compiler_path() const { return state_->compiler.path; }
const Toolchain& CompilePool::toolchain() const { return state_->worker_options.toolchain; }
std::size_t CompilePool::jobs() const { return state_->options.jobs; }

Status CompilePool::check_arch(const Arch& arch) const {
  const std::string problem =
      unsupported_arch(arch, state_->compiler.version, state_->compiler.archs);
  if (problem.empty()) return {};
  return environment_error(problem);
}

Ticket CompilePool::submit(const CompileRequest& request) {
  const Ticket ticket = ++state_->last_ticket;
  const Toolchain& toolchain = state_->worker_options.toolchain;
  if (request.toolkit_headers && toolchain.include_folders.empty()) {
    state_->done[ticket] = failure(toolchain.headers_problem);
    return ticket;
  }
  const std::string key = state_->key_of(request);
  if (auto found = CubinCache(state_->worker_options.cache).find(key)) {
    state_->done[ticket] = *std::move(found);
    return ticket;
  }
  state_->jobs[ticket] = {key, request};
  state_->queue.push_back(ticket);
  return ticket;
}

Status CompilePool::pump(milliseconds patience) {
  FATUNE_TRY_STATUS(state_->hand_out());
  if (state_->waiting() == 0 && state_->compiling() == 0) return {};
  FATUNE_TRY_STATUS(state_->wait_and_handle(patience));
  return state_->hand_out();
}

std::size_t CompilePool::idle() const {
  return jobs() - std::min(jobs(), state_->compiling() + state_->waiting());
}

void CompilePool::cancel(Ticket ticket) {
  std::erase(state_->queue, ticket);
  std::erase(state_->second_tries, ticket);
  // NVRTC cannot be told to stop.
  std::erase_if(state_->workers, [&](const Worker& worker) { return worker.ticket == ticket; });
  state_->jobs.erase(ticket);
  state_->done.erase(ticket);
}

bool CompilePool::ready(Ticket ticket) const { return state_->done.contains(ticket); }

Compiled CompilePool::take(Ticket ticket) {
  const auto found = state_->done.find(ticket);
  FATUNE_CHECK(found != state_->done.end(), "only a ready ticket can be taken");
  Compiled compiled = std::move(found->second);
  state_->done.erase(found);
  return compiled;
}

std::vector<int> CompilePool::descriptors() const {
  std::vector<int> all;
  for (Worker& worker : state_->workers) all.push_back(worker.child.channel().descriptor());
  return all;
}

Result<Compiled> CompilePool::compile(const CompileRequest& request) {
  const Ticket ticket = submit(request);
  while (!ready(ticket)) {
    if (interrupted()) return Error{ErrorKind::kInterrupted, "interrupted"};
    FATUNE_TRY_STATUS(pump(milliseconds(200)));
  }
  return take(ticket);
}

}  // namespace fatune
