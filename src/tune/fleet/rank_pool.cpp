// rank_pool.cpp: Turns the messages of other ranks into the states of their parts.
#include "tune/fleet/rank_pool.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/interrupt.hpp"
#include "core/log.hpp"
#include "core/text.hpp"

namespace fatune {
namespace {

/// Time for every rank to say hello before the first part begins; chosen, a hello takes seconds.
constexpr double kGathering_s = 10;

/// Explains that another device of `before` is the same GPU; empty if none is.
std::string owner(const MeasuringDevice& now, const std::vector<MeasuringDevice>& before) {
  for (const MeasuringDevice& other : before) {
    const std::string& uuid = now.environment.device_uuid;
    if (!now.environment.recorded && !uuid.empty() && uuid == other.environment.device_uuid)
      return fmt::format("{} has the same GPU ({})", other.name, uuid);
  }
  return "";
}

}  // namespace

RankPool::RankPool(Transport& transport, FleetClock& fleet_clock, FleetWork& work,
                   RankPoolOptions options)
    : ExecutorPool(fleet_clock),
      transport_(transport),
      work_(work),
      options_(std::move(options)),
      begun_s_(clock.now_s()) {
  for (int number = 0; number < transport.size(); ++number) {
    ranks_.push_back({.name = fmt::format("rank {} on {}", number, transport.host(number)),
                      .heard_s = clock.now_s()});
  }
  ranks_.front().greeted = true;
  for (const RankDevice& device : options_.own.devices)
    measuring_.push_back({ranks_.front().name + ", " + device.name, device.environment});
}

/// A device of another rank.
class RankPool::Executor final : public FleetExecutor {
 public:
  Executor(RankPool& pool, int rank, std::int64_t device, MeasuringDevice measuring)
      : pool_(pool), rank_(rank), device_(device), measuring_(std::move(measuring)) {}

  const std::string& name() const override { return measuring_.name; }
  std::string said() const override { return said_; }
  const Environment* environment() const override { return &measuring_.environment; }
  bool able() const override { return !pool_.ranks_[place()].lost && !has_stale_; }

  Status begin(std::size_t part) override {
    FATUNE_TRY(const std::string journal, pool_.work_.journal_of(part, measuring_.environment));
    part_ = part;
    lease_ = ++pool_.last_lease_;
    report_ = {};
    said_.clear();
    return pool_.transport_.send(rank_, to_bytes(OrderMessage{lease_, device_}, journal));
  }

  Result<PartReport> look() override {
    if (pool_.ranks_[place()].lost) {
      lose(fmt::format("{} was silent for {:.0f} s", pool_.ranks_[place()].name,
                       pool_.options_.silence_s));
    }
    if (report_.state != PartReport::State::kRuns) lease_ = 0;
    return report_;
  }

  std::int64_t lease() const { return lease_; }
  std::int64_t device() const { return device_; }
  bool stale() const { return has_stale_; }
  void set_stale(bool stale) { has_stale_ = stale; }

  Status append(const std::string& lines) {
    return lines.empty() ? Status() : pool_.work_.take_lines(part_, *this, lines);
  }
  Status end(const EndMessage& end, const std::string& lines) {
    FATUNE_TRY_STATUS(append(lines));
    report_ = end.reason.empty() ? PartReport{PartReport::State::kEnded, ""}
                                 : PartReport{PartReport::State::kFailed, end.reason};
    return {};
  }
  void hear(const std::string& said) { said_ = said; }
  /// Withdraws a running lease.
  void lose(const std::string& why) {
    if (lease_ == 0 || report_.state != PartReport::State::kRuns) return;
    report_ = {PartReport::State::kLost, why};
    lease_ = 0;
    has_stale_ = true;  // until a beat shows that the device is idle
  }

 private:
  std::size_t place() const { return static_cast<std::size_t>(rank_); }

  RankPool& pool_;
  int rank_;
  std::int64_t device_;
  MeasuringDevice measuring_;
  std::int64_t lease_ = 0;  ///< 0: none
  bool has_stale_ = false;  ///< still runs a withdrawn lease
  std::size_t part_ = 0;
  std::string said_;
  PartReport report_;
};

Status RankPool::pump() {
  for (;;) {
    FATUNE_TRY(const std::optional<Parcel> parcel, transport_.poll());
    if (!parcel) break;
    Rank& rank = ranks_[static_cast<std::size_t>(parcel->from)];
    const auto message = read_message(parcel->bytes, rank.name);
    if (!message) {  // the rank counts as silent; lines may be missing
      log::warn(message.error().message);
      for (Executor* executor : rank.executors) executor->lose(message.error().message);
      continue;
    }
    if (std::exchange(rank.lost, false)) log::warn(rank.name + " is heard again");
    rank.heard_s = clock.now_s();
    FATUNE_TRY_STATUS(take(parcel->from, *message));
  }
  look_for_silence();
  return beat();
}

Status RankPool::take(int from, const ReadMessage& message) {
  if (const auto* hello = std::get_if<HelloMessage>(&message.message)) {
    greet(from, *hello);
  } else if (const auto* beat = std::get_if<BeatMessage>(&message.message)) {
    return take_beat(from, *beat);
  } else if (const auto* lines = std::get_if<LinesMessage>(&message.message)) {
    if (Executor* executor = executor_with(from, lines->lease))
      return executor->append(message.body);
  } else if (const auto* end = std::get_if<EndMessage>(&message.message)) {
    if (Executor* executor = executor_with(from, end->lease))
      return executor->end(*end, message.body);
  }
  return {};
}

void RankPool::greet(int from, const HelloMessage& hello) {
  Rank& rank = ranks_[static_cast<std::size_t>(from)];
  if (std::exchange(rank.greeted, true)) return;
  if (hello.fatune != options_.own.fatune) {
    log::warn(fmt::format("{} is refused: its fatune is {}, that of {} is {}", rank.name,
                          hello.fatune, ranks_.front().name, options_.own.fatune));
    return;
  }
  std::string why = hello.problem;
  for (std::size_t i = 0; i < hello.devices.size(); ++i) {
    const MeasuringDevice now{rank.name + ", " + hello.devices[i].name,
                              hello.devices[i].environment};
    const std::string shared = owner(now, measuring_);
    why = shared.empty() ? refusal(now, measuring_) : shared;
    if (why.empty()) {
      take_device(from, static_cast<std::int64_t>(i), now);
    } else if (shared.empty() || options_.warn_of_shared) {
      log::warn(now.name + " is refused: " + why);
    }
  }
  if (rank.executors.empty()) ++reasons_[why];
}

void RankPool::take_device(int from, std::int64_t device, const MeasuringDevice& now) {
  auto executor = std::make_unique<Executor>(*this, from, device, now);
  ranks_[static_cast<std::size_t>(from)].executors.push_back(executor.get());
  executors.push_back(std::move(executor));
  measuring_.push_back(now);
}

bool RankPool::expects_more() const {
  return std::ranges::any_of(ranks_, [](const Rank& each) {
    return !each.lost && (!each.greeted || std::ranges::any_of(each.executors, &Executor::stale));
  });
}

bool RankPool::ready() const {
  if (ready_ || (expects_more() && clock.now_s() - begun_s_ < kGathering_s)) return ready_;
  log::info(describe(census()));
  for (const auto& [why, count] : reasons_)
    log::info(fmt::format("{} without a GPU to measure: {}", counted(count, "rank"), why));
  return ready_ = true;
}

RankCensus RankPool::census() const {
  RankCensus census;
  std::set<std::string> hosts;
  for (std::size_t number = 0; number < ranks_.size(); ++number) {
    const Rank& rank = ranks_[number];
    const bool measures = number == 0 ? !options_.own.devices.empty() : !rank.executors.empty();
    census.gpu += measures ? 1 : 0;
    if (measures) hosts.insert(transport_.host(static_cast<int>(number)));
  }
  census.hosts = hosts.size();
  return census;
}

/// Tells a rank to drop withdrawn leases; its device gets no other part until the lease is dropped.
Status RankPool::take_beat(int from, const BeatMessage& beat) {
  const std::vector<Executor*>& own = ranks_[static_cast<std::size_t>(from)].executors;
  for (Executor* executor : own) executor->set_stale(false);
  for (const RunningLease& running : beat.running) {
    if (Executor* executor = executor_with(from, running.lease)) {
      executor->hear(running.said);
      continue;
    }
    for (Executor* executor : own) {
      if (executor->device() == running.device) executor->set_stale(true);
    }
    FATUNE_TRY_STATUS(transport_.send(from, to_bytes(DropMessage{running.lease})));
  }
  return {};
}

RankPool::Executor* RankPool::executor_with(int rank, std::int64_t lease) {
  for (Executor* executor : ranks_[static_cast<std::size_t>(rank)].executors) {
    if (executor->lease() == lease) return executor;
  }
  return nullptr;
}

void RankPool::look_for_silence() {
  const double now_s = clock.now_s();
  for (std::size_t number = 1; number < ranks_.size(); ++number) {
    Rank& rank = ranks_[number];
    const double patience_s = options_.silence_s * (rank.greeted ? 1 : kGreetingTimes);
    if (rank.lost || now_s - rank.heard_s < patience_s) continue;
    rank.lost = true;
    log::warn(fmt::format("{} {} for {:.0f} s", rank.name,
                          rank.greeted ? "was silent" : "has said nothing", patience_s));
  }
}

Status RankPool::beat() {
  if (clock.now_s() - beaten_s_ < kBeatEvery_s) return {};
  beaten_s_ = clock.now_s();
  for (int number = 1; number < transport_.size(); ++number)
    FATUNE_TRY_STATUS(transport_.send(number, to_bytes(BeatMessage{})));
  return {};
}

bool RankPool::stop() {
  // After Ctrl-C, which reaches every rank, no rank waits for the others.
  const bool together = !interrupted() && std::ranges::none_of(ranks_, &Rank::lost);
  stop_ranks(transport_, together);
  return together;
}

void stop_ranks(Transport& transport, bool together) {
  for (int number = 1; number < transport.size(); ++number)
    static_cast<void>(transport.send(number, to_bytes(StopMessage{together})));
}

}  // namespace fatune
