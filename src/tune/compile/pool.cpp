// pool.cpp: Answers compile requests from the cache, or by compile processes.
#include "tune/compile/pool.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>

#include "core/descriptor.hpp"
#include "core/file.hpp"
#include "core/interrupt.hpp"
#include "core/log.hpp"
#include "core/scratch_folder.hpp"
#include "model/kernel/includes.hpp"
#include "tune/compile/local_compilers.hpp"

namespace fatune {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// Chosen: more jobs have never been measured to help.
constexpr std::size_t kMostJobs = 16;

/// Waits until a descriptor is readable or the time is reached.
void wait_until_readable(const std::vector<int>& descriptors, Clock::time_point until) {
  std::vector<pollfd> wanted;
  for (const int descriptor : descriptors) wanted.push_back({descriptor, POLLIN, 0});
  const auto left = std::chrono::ceil<milliseconds>(until - Clock::now()).count();
  // After an interrupted or failed poll the caller merely looks earlier.
  ::poll(wanted.data(), static_cast<nfds_t>(wanted.size()),
         static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000)));
}

}  // namespace

struct CompilePool::State {
  PoolOptions options;
  ScratchFolder fallback;
  /// Identities of toolkit headers, by the header names that a request includes.
  std::map<std::vector<std::string>, std::string> headers;
  CompileQueue queue;
  std::optional<LocalCompilers> local;
  bool warned = false;
  Descriptor open_cache;  ///< locked while its machine code is in use
  bool has_stored = false;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    local.reset();  // ends before the folder of the processes is removed
    prune_cache();
  }
  void open_and_lock_cache();
  void prune_cache();

  const Greeting& compiler() const { return *local->compiler(); }
  const Toolchain& toolchain() const { return local->options().toolchain; }
  std::size_t busy() const { return local->busy() + queue.waiting(); }
  /// Identity of the compiler and of the toolkit headers that the source and headers include.
  std::string identity_with(const SourceFile& source, const std::vector<SourceFile>& own);
  std::string key_of(const CompileRequest& request);
  Status wait_and_settle(milliseconds patience);
  Status settle(Answered answer);
};

/// Locks the cache in shared mode. A cache that cannot be opened or locked is not pruned.
void CompilePool::State::open_and_lock_cache() {
  if (options.cache.empty() || options.cache_limit == 0) return;
  static_cast<void>(make_directories(options.cache, Access::kPrivate));
  open_cache = open_file(options.cache, O_RDONLY | O_DIRECTORY);
  if (open_cache.open() && ::flock(open_cache.raw(), LOCK_SH) != 0) open_cache = Descriptor();
}

void CompilePool::State::prune_cache() {
  if (!has_stored) return;
  const Descriptor alone = locked(std::move(open_cache));
  if (alone.open()) CubinCache(options.cache).prune(options.cache_limit);
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
  if (identity.empty()) identity = headers_identity(toolchain(), names);
  return compiler().identity + " headers " + identity;
}

std::string CompilePool::State::key_of(const CompileRequest& request) {
  return cache_key(request, request.toolkit_headers ? identity_with(request.source, request.headers)
                                                    : compiler().identity);
}

Status CompilePool::State::wait_and_settle(milliseconds patience) {
  wait_until_readable(local->descriptors(),
                      std::min(Clock::now() + patience, local->next_deadline()));
  FATUNE_TRY(std::vector<Answered> answers, local->hear());
  for (Answered& answer : answers) FATUNE_TRY_STATUS(settle(std::move(answer)));
  return {};
}

Status CompilePool::State::settle(Answered answer) {
  Reply& reply = answer.reply;
  if (!reply.failure.empty()) {
    return file_error("the machine code cannot be stored: " + reply.failure);
  }
  if (!reply.cache_problem.empty() && !std::exchange(warned, true)) {
    log::warn("compiling without the cache: " + reply.cache_problem);
  }
  has_stored = true;
  queue.finish(answer.ticket, std::move(reply.compiled));
  return {};
}

Result<CompilePool> CompilePool::start(const PoolOptions& options) {
  auto state = std::make_unique<State>();
  state->options = options;
  if (state->options.jobs == 0)
    state->options.jobs =
        std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, kMostJobs);
  WorkerOptions worker_options;
  worker_options.toolchain = find_toolchain(options.search);
  if (auto fallback = ScratchFolder::make()) {
    state->fallback = *std::move(fallback);
    worker_options.fallback = state->fallback.path();
  }
  worker_options.cache = options.cache.empty() ? worker_options.fallback : options.cache;
  if (worker_options.cache.empty()) {
    return file_error("there is no folder for machine code; set TMPDIR, or name one with --cache");
  }
  state->open_and_lock_cache();
  state->local.emplace(std::move(worker_options), state->options.jobs, options.deadline);
  FATUNE_TRY_STATUS(state->local->start_worker());
  while (!state->local->compiler()) {
    if (interrupted()) return Error{ErrorKind::kInterrupted, "interrupted"};
    FATUNE_TRY_STATUS(state->wait_and_settle(milliseconds(200)));
  }
  return CompilePool(std::move(state));
}

CompilePool::CompilePool(std::unique_ptr<State> state) : state_(std::move(state)) {}
CompilePool::CompilePool(CompilePool&&) noexcept = default;
CompilePool& CompilePool::operator=(CompilePool&&) noexcept = default;
CompilePool::~CompilePool() = default;

const std::string& CompilePool::compiler_version() const { return state_->compiler().version; }
const std::string& CompilePool::compiler_identity() const { return state_->compiler().identity; }
std::string CompilePool::compiler_identity(const Kernel& kernel) const {
  return kernel.manifest.needs_toolkit_headers
             ? state_->identity_with(kernel.source, kernel.headers)
             : compiler_identity();
}
const std::string& CompilePool::compiler_path() const { return state_->compiler().path; }
const Toolchain& CompilePool::toolchain() const { return state_->toolchain(); }
std::size_t CompilePool::jobs() const { return state_->local->jobs(); }
std::string CompilePool::key_of(const CompileRequest& request) const {
  return state_->key_of(request);
}

Status CompilePool::check_arch(const Arch& arch) const {
  const std::string problem =
      unsupported_arch(arch, state_->compiler().version, state_->compiler().archs);
  if (problem.empty()) return {};
  return environment_error(problem);
}

Ticket CompilePool::submit(const CompileRequest& request) {
  if (request.toolkit_headers && toolchain().include_folders.empty()) {
    Compiled failure;
    failure.problem = toolchain().headers_problem;
    return state_->queue.add_done(std::move(failure));
  }
  std::string key = state_->key_of(request);
  if (auto found = CubinCache(state_->local->options().cache).find(key))
    return state_->queue.add_done(*std::move(found));
  return state_->queue.add({std::move(key), request});
}

Status CompilePool::pump(milliseconds patience) {
  FATUNE_TRY_STATUS(state_->local->dispatch(state_->queue));
  if (state_->busy() == 0) return {};
  FATUNE_TRY_STATUS(state_->wait_and_settle(patience));
  return state_->local->dispatch(state_->queue);
}

std::size_t CompilePool::idle() const { return jobs() - std::min(jobs(), state_->busy()); }

void CompilePool::cancel(Ticket ticket) {
  state_->local->cancel(ticket);
  state_->queue.forget(ticket);
}

bool CompilePool::ready(Ticket ticket) const { return state_->queue.ready(ticket); }
Compiled CompilePool::take(Ticket ticket) { return state_->queue.take(ticket); }
std::vector<int> CompilePool::descriptors() const { return state_->local->descriptors(); }

Result<Compiled> CompilePool::compile(const CompileRequest& request) {
  const Ticket ticket = submit(request);
  while (!ready(ticket)) {
    if (interrupted()) return Error{ErrorKind::kInterrupted, "interrupted"};
    FATUNE_TRY_STATUS(pump(milliseconds(200)));
  }
  return take(ticket);
}

}  // namespace fatune
