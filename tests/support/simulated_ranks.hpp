// simulated_ranks.hpp: Simulates the messages of rank workers in simulated time, for rank 0.
#pragma once

#include <algorithm>
#include <ctime>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/in_process_transport.hpp"
#include "tune/fleet/fleet.hpp"
#include "tune/fleet/messages.hpp"

namespace fatune::test {

/// The journal lines of a part's sweep, with their times since its begin.
struct SimulatedPart {
  struct Line {
    double at_s = 0;
    std::string text;
  };
  std::vector<Line> lines;
  double end_s = 0;
};

/// All ranks but 0, and a clock that advances by each pause of rank 0. The first line of an
/// order's journal is the number of the part.
class SimulatedRanks final : public FleetClock {
 public:
  SimulatedRanks(InProcessNetwork& network, const std::vector<SimulatedPart>& parts)
      : parts_(parts), ranks_(static_cast<std::size_t>(network.size())) {
    for (int number = 1; number < network.size(); ++number) {
      Rank& rank = at(number);
      rank.transport = std::make_unique<InProcessTransport>(network, number);
      Environment gpu;
      gpu.device_name = "simulated";
      gpu.device_uuid = "GPU-" + std::to_string(number);
      gpu.limits.arch = {90, 'a'};
      tell(rank, HelloMessage{.pid = number, .fatune = "0.1.0", .devices = {{"cuda:0", gpu}}});
      rank.next_beat_s = number / 1000.0;  // not all at once
    }
  }

  double now_s() const override { return now_s_; }
  void pause() override {
    const std::clock_t begin = std::clock();
    now_s_ += kGlance_s;
    for (Rank& rank : ranks_) {
      if (rank.transport && !rank.dead && now_s_ >= rank.dies_at_s) rank.dead = true;
      if (rank.transport && !rank.dead) step(rank);
    }
    own_ticks_ += std::clock() - begin;
  }
  /// Processor time that the simulation of the ranks took.
  double own_s() const { return static_cast<double>(own_ticks_) / CLOCKS_PER_SEC; }
  /// Stops the rank at a time: it then neither sends nor receives.
  void kill(int number, double at_s) { at(number).dies_at_s = at_s; }
  std::size_t messages() const { return messages_; }

 private:
  static constexpr double kGlance_s = 0.02, kBeatEvery_s = 1;

  struct Rank {
    std::unique_ptr<InProcessTransport> transport;
    double next_beat_s = 0, dies_at_s = 1e300;
    bool dead = false;
    std::int64_t lease = 0;  ///< 0: none
    const SimulatedPart* part = nullptr;
    double begin_s = 0;
    std::size_t next_line = 0;
  };

  Rank& at(int number) { return ranks_[static_cast<std::size_t>(number)]; }
  void tell(Rank& rank, const RankMessage& message, std::string_view body = {}) {
    ++messages_;
    static_cast<void>(rank.transport->send(0, to_bytes(message, body)));
  }

  void step(Rank& rank) {
    while (const auto parcel = *rank.transport->poll()) {
      const auto read = read_message(parcel->bytes, "rank 0");
      if (const auto* order = std::get_if<OrderMessage>(&read->message))
        begin(rank, *order, read->body);
    }
    work(rank);
    if (now_s_ < rank.next_beat_s) return;
    rank.next_beat_s += kBeatEvery_s;
    BeatMessage beat;
    if (rank.lease > 0) beat.running.push_back({rank.lease, 0, ""});
    tell(rank, beat);
  }

  /// Continues after the lines of the journal so far, without their cost.
  void begin(Rank& rank, const OrderMessage& order, const std::string& journal) {
    rank.lease = order.lease;
    rank.part = &parts_[std::stoul(journal)];
    rank.next_line = static_cast<std::size_t>(std::count(journal.begin(), journal.end(), '\n')) - 1;
    rank.begin_s = now_s_;
    if (rank.next_line > 0) rank.begin_s -= rank.part->lines[rank.next_line - 1].at_s;
  }

  void work(Rank& rank) {
    if (rank.lease == 0) return;
    std::string lines;
    const auto& all = rank.part->lines;
    while (rank.next_line < all.size() && rank.begin_s + all[rank.next_line].at_s <= now_s_)
      lines += all[rank.next_line++].text + "\n";
    if (rank.next_line == all.size() && rank.begin_s + rank.part->end_s <= now_s_) {
      tell(rank, EndMessage{.lease = std::exchange(rank.lease, 0)}, lines);
    } else if (!lines.empty()) {
      tell(rank, LinesMessage{rank.lease}, lines);
    }
  }

  const std::vector<SimulatedPart>& parts_;
  std::vector<Rank> ranks_;
  double now_s_ = 0;
  std::size_t messages_ = 0;
  std::clock_t own_ticks_ = 0;
};

}  // namespace fatune::test
