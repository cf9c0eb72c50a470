// messages.hpp: Defines the messages between rank 0 and the other ranks, and their encoding.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/fields_fwd.hpp"
#include "core/result.hpp"
#include "model/results/measurement.hpp"

namespace fatune {

/// Period of the beats that each side sends; chosen.
inline constexpr double kBeatEvery_s = 1;

/// A device of a rank, named as for --device on the rank's host.
struct RankDevice {
  std::string name;
  Environment environment;
};
void fields(RankDevice& x, FieldList& f);

/// First message of a rank.
struct HelloMessage {
  std::int64_t pid = 0;
  std::string fatune;           ///< version
  std::int64_t cores = 1;       ///< usable by the rank
  std::int64_t host_cores = 1;  ///< of the host
  std::vector<RankDevice> devices{};
  std::string problem{};  ///< why the rank has no device
};
void fields(HelloMessage& x, FieldList& f);

/// Orders a rank to sweep a problem. The body is the problem's journal so far, with the plan.
struct OrderMessage {
  std::int64_t lease = 0;   ///< unique per order
  std::int64_t device = 0;  ///< index into HelloMessage::devices
};
void fields(OrderMessage& x, FieldList& f);

/// Sends the new lines of a part's journal as the body.
struct LinesMessage {
  std::int64_t lease = 0;
};
void fields(LinesMessage& x, FieldList& f);

/// Says that the sweep of a part has ended. The body is the last lines of the journal.
struct EndMessage {
  std::int64_t lease = 0;
  std::string reason{};  ///< why the sweep failed; empty on success
};
void fields(EndMessage& x, FieldList& f);

/// A running sweep of a rank, and its last progress line.
struct RunningLease {
  std::int64_t lease = 0;
  std::int64_t device = 0;
  std::string said{};
};
void fields(RunningLease& x, FieldList& f);
/// Says that the sender is alive; sent every kBeatEvery_s in both directions.
struct BeatMessage {
  std::vector<RunningLease> running;
};
void fields(BeatMessage& x, FieldList& f);

/// Orders a rank to end the sweep of a lost lease.
struct DropMessage {
  std::int64_t lease = 0;
};
void fields(DropMessage& x, FieldList& f);

/// Says that the sweep of the whole plan is over.
struct StopMessage {
  bool together = true;  ///< whether every rank is alive, so that all leave the transport together
};
void fields(StopMessage& x, FieldList& f);

using RankMessage = std::variant<HelloMessage, OrderMessage, LinesMessage, EndMessage, BeatMessage,
                                 DropMessage, StopMessage>;

/// Factor on the allowed silence before a rank's hello, when it looks for GPUs and NVRTC; chosen.
inline constexpr double kGreetingTimes = 4;

/// Encodes a message as a line of JSON, the unchanged body, and a crc of both.
std::string to_bytes(const RankMessage& message, std::string_view body = {});
struct ReadMessage {
  RankMessage message;
  std::string body;
};
/// Fails for a message whose crc is that of other bytes.
Result<ReadMessage> read_message(std::string_view bytes, const std::string& where);

}  // namespace fatune
