// rank_crew.cpp: Turns messages of ranks into what became of the parts that they have.
#include "tune/fleet/rank_crew.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/interrupt.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "tune/fleet/measuring.hpp"

namespace fatune {
namespace {

/// For every rank to say hello before the first part begins; chosen: it takes seconds.
constexpr double kGathering_s = 10;

}  // namespace

class RankCrew::Ledger {
 public:
  class Hand;
  struct Rank {
    std::string name;  ///< "rank 2 on b"
    double heard_s = 0;
    bool greeted = false;
    bool lost = false;
    std::vector<Hand*> hands = {};
  };

  Ledger(Transport& transport, FleetClock& clock, FleetWork& work, RankCrewOptions options)
      : transport_(transport),
        clock_(clock),
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

  Status pump(std::vector<std::unique_ptr<FleetHand>>& hands);
  bool expects_more() const {
    return std::ranges::any_of(ranks_,
                               [](const Rank& each) { return !each.greeted && !each.lost; });
  }
  bool ready();
  RankCensus census() const;
  bool stop();

 private:
  Status take(int from, const ReadMessage& message, std::vector<std::unique_ptr<FleetHand>>& hands);
  void greet(int from, const HelloMessage& hello, std::vector<std::unique_ptr<FleetHand>>& hands);
  void take_device(int from, std::int64_t device, const Measuring& now,
                   std::vector<std::unique_ptr<FleetHand>>& hands);
  Status take_beat(int from, const BeatMessage& beat);
  /// Of the rank, that which has the lease; none when it was taken from it.
  Hand* hand_with(int rank, std::int64_t lease);
  Status look_for_silence();
  Status beat();

  Transport& transport_;
  FleetClock& clock_;
  FleetWork& work_;
  RankCrewOptions options_;
  std::vector<Rank> ranks_;
  std::vector<Measuring> measuring_;
  std::int64_t last_lease_ = 0;
  double beaten_s_ = 0, begun_s_ = 0;
  bool ready_ = false;
  std::map<std::string, std::size_t> reasons_;  ///< why ranks measure nothing
};

/// A device of another rank.
class RankCrew::Ledger::Hand final : public FleetHand {
 public:
  Hand(Ledger& ledger, int rank, std::int64_t device, Measuring measuring)
      : ledger_(ledger), rank_(rank), device_(device), measuring_(std::move(measuring)) {}

  const std::string& name() const override { return measuring_.name; }
  std::string said() const override { return said_; }
  const Environment* environment() const override { return &measuring_.environment; }
  bool able() const override { return !ledger_.ranks_[place()].lost && !has_stale_; }

  Status begin(std::size_t part) override {
    FATUNE_TRY(const std::string journal, ledger_.work_.journal_of(part, measuring_.environment));
    part_ = part;
    lease_ = ++ledger_.last_lease_;
    report_ = {};
    said_.clear();
    return ledger_.transport_.send(rank_, to_bytes(OrderMessage{lease_, device_}, journal));
  }

  Result<HandReport> look() override {
    if (ledger_.ranks_[place()].lost && report_.state == HandReport::State::kRuns) {
      report_ = {HandReport::State::kLost,
                 fmt::format("{} was silent for {:.0f} s", ledger_.ranks_[place()].name,
                             ledger_.options_.silence_s)};
      has_stale_ = true;  // until it says that it runs nothing
    }
    if (report_.state != HandReport::State::kRuns) lease_ = 0;
    return report_;
  }

  std::int64_t lease() const { return lease_; }
  std::int64_t device() const { return device_; }
  void set_stale(bool stale) { has_stale_ = stale; }

  Status append(const std::string& lines) {
    return lines.empty() ? Status() : ledger_.work_.take_lines(part_, *this, lines);
  }
  Status end(const EndMessage& end, const std::string& lines) {
    FATUNE_TRY_STATUS(append(lines));
    report_ = end.reason.empty() ? HandReport{HandReport::State::kEnded, ""}
                                 : HandReport{HandReport::State::kFailed, end.reason};
    return {};
  }
  void hear(const std::string& said) { said_ = said; }

 private:
  std::size_t place() const { return static_cast<std::size_t>(rank_); }

  Ledger& ledger_;
  int rank_;
  std::int64_t device_;
  Measuring measuring_;
  std::int64_t lease_ = 0;  ///< 0: none
  bool has_stale_ = false;  ///< runs what was taken from it
  std::size_t part_ = 0;
  std::string said_;
  HandReport report_;
};

Status RankCrew::Ledger::pump(std::vector<std::unique_ptr<FleetHand>>& hands) {
  for (;;) {
    FATUNE_TRY(const std::optional<Parcel> parcel, transport_.poll());
    if (!parcel) break;
    Rank& rank = ranks_[static_cast<std::size_t>(parcel->from)];
    const auto message = read_message(parcel->bytes, rank.name);
    if (!message) {  // of another fatune, say: it will be silent
      log::warn(message.error().message);
      continue;
    }
    if (std::exchange(rank.lost, false)) log::warn(rank.name + " is heard again");
    rank.heard_s = clock_.now_s();
    FATUNE_TRY_STATUS(take(parcel->from, *message, hands));
  }
  FATUNE_TRY_STATUS(look_for_silence());
  return beat();
}

Status RankCrew::Ledger::take(int from, const ReadMessage& message,
                              std::vector<std::unique_ptr<FleetHand>>& hands) {
  if (const auto* hello = std::get_if<HelloMessage>(&message.message)) {
    greet(from, *hello, hands);
  } else if (const auto* beat = std::get_if<BeatMessage>(&message.message)) {
    return take_beat(from, *beat);
  } else if (const auto* lines = std::get_if<LinesMessage>(&message.message)) {
    if (Hand* hand = hand_with(from, lines->lease)) return hand->append(message.body);
  } else if (const auto* end = std::get_if<EndMessage>(&message.message)) {
    if (Hand* hand = hand_with(from, end->lease)) return hand->end(*end, message.body);
  }
  return {};
}

void RankCrew::Ledger::greet(int from, const HelloMessage& hello,
                             std::vector<std::unique_ptr<FleetHand>>& hands) {
  Rank& rank = ranks_[static_cast<std::size_t>(from)];
  if (std::exchange(rank.greeted, true)) return;
  if (hello.fatune != options_.own.fatune) {
    log::warn(fmt::format("{} is refused: its fatune is {}, that of {} is {}", rank.name,
                          hello.fatune, ranks_.front().name, options_.own.fatune));
    return;
  }
  std::string why = hello.problem;
  for (std::size_t i = 0; i < hello.devices.size(); ++i) {
    const Measuring now{rank.name + ", " + hello.devices[i].name, hello.devices[i].environment};
    const std::string shared = owner(now, measuring_);
    why = shared.empty() ? refusal(now, measuring_) : shared;
    if (why.empty()) {
      take_device(from, static_cast<std::int64_t>(i), now, hands);
    } else if (shared.empty() || options_.warn_of_shared) {
      log::warn(now.name + " is refused: " + why);
    }
  }
  if (rank.hands.empty()) ++reasons_[why];
}

void RankCrew::Ledger::take_device(int from, std::int64_t device, const Measuring& now,
                                   std::vector<std::unique_ptr<FleetHand>>& hands) {
  auto hand = std::make_unique<Hand>(*this, from, device, now);
  ranks_[static_cast<std::size_t>(from)].hands.push_back(hand.get());
  hands.push_back(std::move(hand));
  measuring_.push_back(now);
}

bool RankCrew::Ledger::ready() {
  if (ready_ || (expects_more() && clock_.now_s() - begun_s_ < kGathering_s)) return ready_;
  log::info(describe(census()));
  for (const auto& [why, count] : reasons_)
    log::info(fmt::format("{} without a GPU to measure: {}", counted(count, "rank"), why));
  return ready_ = true;
}

RankCensus RankCrew::Ledger::census() const {
  RankCensus census;
  std::set<std::string> hosts;
  for (std::size_t number = 0; number < ranks_.size(); ++number) {
    const Rank& rank = ranks_[number];
    const bool measures = number == 0 ? !options_.own.devices.empty() : !rank.hands.empty();
    census.gpu += measures ? 1 : 0;
    if (measures) hosts.insert(transport_.host(static_cast<int>(number)));
  }
  census.hosts = hosts.size();
  return census;
}

/// What was taken from a rank that was silent, it is told to drop; until then it gets nothing else.
Status RankCrew::Ledger::take_beat(int from, const BeatMessage& beat) {
  const std::vector<Hand*>& hands = ranks_[static_cast<std::size_t>(from)].hands;
  for (Hand* hand : hands) hand->set_stale(false);
  for (const RunningLease& running : beat.running) {
    if (Hand* hand = hand_with(from, running.lease)) {
      hand->hear(running.said);
      continue;
    }
    for (Hand* hand : hands) {
      if (hand->device() == running.device) hand->set_stale(true);
    }
    FATUNE_TRY_STATUS(transport_.send(from, to_bytes(DropMessage{running.lease})));
  }
  return {};
}

RankCrew::Ledger::Hand* RankCrew::Ledger::hand_with(int rank, std::int64_t lease) {
  for (Hand* hand : ranks_[static_cast<std::size_t>(rank)].hands) {
    if (hand->lease() == lease) return hand;
  }
  return nullptr;
}

Status RankCrew::Ledger::look_for_silence() {
  const double now_s = clock_.now_s();
  for (std::size_t number = 1; number < ranks_.size(); ++number) {
    Rank& rank = ranks_[number];
    const double patience_s = options_.silence_s * (rank.greeted ? 1 : kGreetingTimes);
    if (rank.lost || now_s - rank.heard_s < patience_s) continue;
    rank.lost = true;
    log::warn(fmt::format("{} {} for {:.0f} s", rank.name,
                          rank.greeted ? "was silent" : "has said nothing", patience_s));
  }
  return {};
}

Status RankCrew::Ledger::beat() {
  if (clock_.now_s() - beaten_s_ < kBeatEvery_s) return {};
  beaten_s_ = clock_.now_s();
  for (int number = 1; number < transport_.size(); ++number)
    FATUNE_TRY_STATUS(transport_.send(number, to_bytes(BeatMessage{})));
  return {};
}

bool RankCrew::Ledger::stop() {
  // After Ctrl-C, which other ranks had too, nobody waits.
  const bool together = !interrupted() && std::ranges::none_of(ranks_, &Rank::lost);
  stop_ranks(transport_, together);
  return together;
}

RankCrew::RankCrew(Transport& transport, FleetClock& fleet_clock, FleetWork& work,
                   RankCrewOptions options)
    : FleetCrew(fleet_clock),
      ledger_(std::make_unique<Ledger>(transport, fleet_clock, work, std::move(options))) {}
RankCrew::~RankCrew() { hands.clear(); }  // they refer to the ledger
Status RankCrew::pump() { return ledger_->pump(hands); }
bool RankCrew::expects_more() const { return ledger_->expects_more(); }
bool RankCrew::ready() const { return ledger_->ready(); }
RankCensus RankCrew::census() const { return ledger_->census(); }
bool RankCrew::stop() { return ledger_->stop(); }

void stop_ranks(Transport& transport, bool together) {
  for (int number = 1; number < transport.size(); ++number)
    static_cast<void>(transport.send(number, to_bytes(StopMessage{together})));
}

}  // namespace fatune
