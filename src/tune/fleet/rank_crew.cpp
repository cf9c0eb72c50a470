// rank_crew.cpp - messages of ranks to what became of the parts that they have.
#include "tune/fleet/rank_crew.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/file.hpp"
#include "core/interrupt.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "tune/fleet/compile_dealer.hpp"
#include "tune/fleet/measuring.hpp"
#include "tune/fleet/part_folder.hpp"

namespace fatune {
namespace {

/// For every rank to say hello before the first part begins; chosen: it takes seconds.
constexpr double kGathering_s = 10;
constexpr double kCountEvery_s = 10;

}  // namespace

/// A rank that could compile for others.
struct Compiling {
  int rank = 0;
  std::string compiler;
  std::size_t jobs = 1;
};

class RankCrew::Ledger {
 public:
  class Hand;
  struct Rank {
    std::string name;  ///< "rank 2 on b"
    double heard_s = 0;
    bool greeted = false;
    bool lost = false;
    bool compiles = false;
    std::vector<Hand*> hands = {};
  };

  Ledger(Transport& transport, FleetClock& clock, RankCrewOptions options)
      : transport_(transport),
        clock_(clock),
        options_(std::move(options)),
        begun_s_(clock.now_s()),
        dealer_([this](int to, const RankMessage& message) { return tell(to, message); }),
        desk_([this](const RankMessage& message) { return ask(0, message); }) {
    for (int number = 0; number < transport.size(); ++number) {
      ranks_.push_back({.name = fmt::format("rank {} on {}", number, transport.host(number)),
                        .heard_s = clock.now_s()});
    }
    ranks_.front().greeted = true;
    for (const RankDevice& device : options_.own.devices)
      measuring_.push_back({ranks_.front().name + ", " + device.name, device.environment});
    if (!measuring_.empty()) need_compiler(ranks_.front().name, options_.own.compiler);
  }

  Status pump(std::vector<std::unique_ptr<FleetHand>>& hands);
  bool expects_more() const {
    return std::ranges::any_of(ranks_,
                               [](const Rank& each) { return !each.greeted && !each.lost; });
  }
  bool ready();
  RankCensus census() const;
  CompileDesk& desk() { return desk_; }
  std::int64_t remote_jobs() const;
  bool stop();

 private:
  Status tell(int rank, const RankMessage& message);
  Status ask(int from, const RankMessage& message);
  Status take(int from, const ReadMessage& message, std::vector<std::unique_ptr<FleetHand>>& hands);
  void greet(int from, const HelloMessage& hello, std::vector<std::unique_ptr<FleetHand>>& hands);
  void take_device(int from, std::int64_t device, const Measuring& now,
                   std::vector<std::unique_ptr<FleetHand>>& hands);
  void need_compiler(const std::string& name, const std::string& compiler);
  void begin_to_compile(const Compiling& compiling);
  Status take_beat(int from, const BeatMessage& beat);
  /// Of the rank, that which has the lease; none when it was taken from it.
  Hand* hand_with(int rank, std::int64_t lease);
  Status look_for_silence();
  Status beat();
  void report();  ///< of compilations

  Transport& transport_;
  FleetClock& clock_;
  RankCrewOptions options_;
  std::vector<Rank> ranks_;
  std::vector<Measuring> measuring_;
  std::int64_t last_lease_ = 0;
  double beaten_s_ = 0, begun_s_ = 0;
  double reported_s_ = 0;
  bool ready_ = false;
  CompileDealer dealer_;
  CompileDesk desk_;
  std::string compiler_, compiler_of_;          ///< of the first rank that measures, and its name
  std::vector<Compiling> early_;                ///< until that is known
  std::map<std::string, std::size_t> reasons_;  ///< why ranks measure nothing
};

/// A device of another rank.
class RankCrew::Ledger::Hand final : public FleetHand {
 public:
  Hand(Ledger& ledger, int rank, std::int64_t device, Measuring measuring)
      : ledger_(ledger), rank_(rank), device_(device), measuring_(std::move(measuring)) {}

  const std::string& name() const override { return measuring_.name; }
  std::string gpu() const override { return gpu_of(measuring_); }
  std::string said() const override { return said_; }
  bool able() const override { return !ledger_.ranks_[place()].lost && !has_stale_; }

  Status begin(std::size_t part) override {
    PartOrder order = ledger_.options_.order(part);
    FATUNE_TRY(store_, PartStore::open(order.folder));
    const std::string& journal = store_->journal();
    log_ = std::move(order.log);
    lease_ = ++ledger_.last_lease_;
    report_ = {};
    said_.clear();
    return ledger_.transport_.send(
        rank_, to_bytes(OrderMessage{lease_, device_,
                                     journal.empty() ? order.words : order.words_to_resume,
                                     ledger_.remote_jobs()},
                        journal));
  }

  Result<HandReport> look() override {
    if (ledger_.ranks_[place()].lost && report_.state == HandReport::State::kRuns) {
      report_ = {HandReport::State::kLost,
                 fmt::format("{} was silent for {:.0f} s", ledger_.ranks_[place()].name,
                             ledger_.options_.silence_s)};
      has_stale_ = true;  // until it says that it runs nothing
    }
    if (report_.state != HandReport::State::kRuns) {
      lease_ = 0;
      store_.reset();
    }
    return report_;
  }

  std::int64_t lease() const { return lease_; }
  std::int64_t device() const { return device_; }
  void set_stale(bool stale) { has_stale_ = stale; }

  Status append(const std::string& lines) { return store_->append(lines); }
  Status end(const EndMessage& end, const std::string& lines) {
    FATUNE_TRY_STATUS(store_->end(end.best, lines));
    if (!end.log.empty()) FATUNE_TRY_STATUS(replace_file(log_, end.log));
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
  std::optional<PartStore> store_;
  std::filesystem::path log_;
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
    if (std::exchange(rank.lost, false)) {
      log::warn(rank.name + " is heard again");
      dealer_.find_again(parcel->from);
    }
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
  } else if (const auto* compiled = std::get_if<CompiledMessage>(&message.message)) {
    return dealer_.answer(from, *compiled);
  }
  return ask(from, message.message);
}

/// An answer to the rank that asked, or an order to one that compiles.
Status RankCrew::Ledger::tell(int rank, const RankMessage& message) {
  if (rank > 0) return transport_.send(rank, to_bytes(message));
  if (const auto* compiled = std::get_if<CompiledMessage>(&message)) desk_.answer(*compiled);
  return {};
}

Status RankCrew::Ledger::ask(int from, const RankMessage& message) {
  if (const auto* compile = std::get_if<CompileMessage>(&message))
    return dealer_.ask(from, *compile);
  if (const auto* withdraw = std::get_if<WithdrawMessage>(&message))
    return dealer_.withdraw(from, *withdraw);
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
  bool refused = false;
  for (std::size_t i = 0; i < hello.devices.size(); ++i) {
    const Measuring now{rank.name + ", " + hello.devices[i].name, hello.devices[i].environment};
    const std::string shared = owner(now, measuring_);
    why = shared.empty() ? refusal(now, measuring_) : shared;
    refused = refused || (shared.empty() && !why.empty());
    if (why.empty()) {
      take_device(from, static_cast<std::int64_t>(i), now, hands);
    } else if (shared.empty() || options_.warn_of_shared) {
      log::warn(now.name + " is refused: " + why);
    }
  }
  if (!rank.hands.empty()) {
    need_compiler(rank.name, hello.compiler);
  } else if (hello.compiler.empty()) {
    log::warn(rank.name + " measures nothing: " + why);
  } else if (!refused) {
    ++reasons_[why];
    begin_to_compile({from, hello.compiler, static_cast<std::size_t>(hello.jobs)});
  }
}

void RankCrew::Ledger::take_device(int from, std::int64_t device, const Measuring& now,
                                   std::vector<std::unique_ptr<FleetHand>>& hands) {
  auto hand = std::make_unique<Hand>(*this, from, device, now);
  ranks_[static_cast<std::size_t>(from)].hands.push_back(hand.get());
  hands.push_back(std::move(hand));
  measuring_.push_back(now);
}

void RankCrew::Ledger::need_compiler(const std::string& name, const std::string& compiler) {
  if (!compiler_.empty() || compiler.empty()) return;
  compiler_ = compiler;
  compiler_of_ = name;
  for (const Compiling& each : std::exchange(early_, {})) begin_to_compile(each);
}

void RankCrew::Ledger::begin_to_compile(const Compiling& compiling) {
  Rank& rank = ranks_[static_cast<std::size_t>(compiling.rank)];
  if (compiler_.empty()) {
    early_.push_back(compiling);
  } else if (compiling.compiler != compiler_) {
    log::warn(fmt::format("{} is refused: its compiler is {}, that of {} is {}", rank.name,
                          compiling.compiler, compiler_of_, compiler_));
  } else {
    rank.compiles = true;
    dealer_.add(compiling.rank, compiling.jobs);
  }
}

/// Of each device at once.
std::int64_t RankCrew::Ledger::remote_jobs() const {
  const std::size_t devices = std::max<std::size_t>(1, measuring_.size());
  return static_cast<std::int64_t>((dealer_.jobs() + devices - 1) / devices);
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
    census.compile += rank.compiles ? 1 : 0;
    if (measures || rank.compiles || number == 0)
      hosts.insert(transport_.host(static_cast<int>(number)));
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
    FATUNE_TRY_STATUS(dealer_.lose(static_cast<int>(number)));
  }
  return {};
}

Status RankCrew::Ledger::beat() {
  if (clock_.now_s() - beaten_s_ < kBeatEvery_s) return {};
  beaten_s_ = clock_.now_s();
  for (int number = 1; number < transport_.size(); ++number)
    FATUNE_TRY_STATUS(transport_.send(number, to_bytes(BeatMessage{})));
  if (clock_.now_s() - reported_s_ >= kCountEvery_s) report();
  return {};
}

void RankCrew::Ledger::report() {
  reported_s_ = clock_.now_s();
  if (dealer_.ranks() == 0) return;
  log::info(fmt::format("other ranks: {} of {} compile processes at work, {} compiled",
                        dealer_.busy(), dealer_.jobs(), dealer_.compiled()));
}

bool RankCrew::Ledger::stop() {
  report();
  // After Ctrl-C, which other ranks had too, nobody waits.
  const bool together = !interrupted() && std::ranges::none_of(ranks_, &Rank::lost);
  stop_ranks(transport_, together);
  desk_.close();
  return together;
}

RankCrew::RankCrew(Transport& transport, FleetClock& clock, RankCrewOptions options)
    : ledger_(std::make_unique<Ledger>(transport, clock, std::move(options))) {}
/// Sweeps of this process are guests of the ledger's desk.
RankCrew::~RankCrew() { hands.clear(); }
Status RankCrew::pump() { return ledger_->pump(hands); }
bool RankCrew::expects_more() const { return ledger_->expects_more(); }
bool RankCrew::ready() const { return ledger_->ready(); }
RankCensus RankCrew::census() const { return ledger_->census(); }
CompileDesk& RankCrew::desk() { return ledger_->desk(); }
std::size_t RankCrew::remote_jobs() const {
  return static_cast<std::size_t>(ledger_->remote_jobs());
}
bool RankCrew::stop() { return ledger_->stop(); }

void stop_ranks(Transport& transport, bool together) {
  for (int number = 1; number < transport.size(); ++number)
    static_cast<void>(transport.send(number, to_bytes(StopMessage{together})));
}

}  // namespace fatune
