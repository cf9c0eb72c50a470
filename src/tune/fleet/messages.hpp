// messages.hpp - what rank 0 and the other ranks of a sweep say to each other, to bytes and back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/fields_fwd.hpp"
#include "core/result.hpp"
#include "model/results/measurement.hpp"

namespace fatune {

/// Each side says at least so often that it is there.
inline constexpr double kBeatEvery_s = 1;

/// A device of a rank, as --device takes it on its host.
struct RankDevice {
  std::string name;
  Environment environment;
};
void fields(RankDevice& x, FieldList& f);

/// The first words of a rank.
struct HelloMessage {
  std::int64_t pid = 0;
  std::string fatune;           ///< version
  std::int64_t cores = 1;       ///< that the rank may use
  std::int64_t host_cores = 1;  ///< that there are
  std::vector<RankDevice> devices{};
  std::string problem{};  ///< why it has no device
};
void fields(HelloMessage& x, FieldList& f);

/// To sweep a problem. Its journal so far, whose header has the plan, is the message's body.
struct OrderMessage {
  std::int64_t lease = 0;   ///< no two orders have the same
  std::int64_t device = 0;  ///< of the hello
};
void fields(OrderMessage& x, FieldList& f);

/// What the part's journal has more; the lines are the body.
struct LinesMessage {
  std::int64_t lease = 0;
};
void fields(LinesMessage& x, FieldList& f);

/// A part's sweep has ended. The journal's last lines are the body.
struct EndMessage {
  std::int64_t lease = 0;
  std::string reason{};  ///< why it failed; empty: it did not
};
void fields(EndMessage& x, FieldList& f);

/// What a rank runs, and the last line that each said.
struct RunningLease {
  std::int64_t lease = 0;
  std::int64_t device = 0;
  std::string said{};
};
void fields(RunningLease& x, FieldList& f);
/// Each second, both ways.
struct BeatMessage {
  std::vector<RunningLease> running;
};
void fields(BeatMessage& x, FieldList& f);

/// To end what a lease that is lost still runs.
struct DropMessage {
  std::int64_t lease = 0;
};
void fields(DropMessage& x, FieldList& f);

/// The sweep is over.
struct StopMessage {
  bool together = true;  ///< every rank is there: they leave the transport as one
};
void fields(StopMessage& x, FieldList& f);

using RankMessage = std::variant<HelloMessage, OrderMessage, LinesMessage, EndMessage, BeatMessage,
                                 DropMessage, StopMessage>;

/// Until a rank's first words it looks for GPUs and NVRTC: it may be silent so many times longer.
inline constexpr double kGreetingTimes = 4;

/// A line of JSON, then the body as it is.
std::string to_bytes(const RankMessage& message, std::string_view body = {});
struct ReadMessage {
  RankMessage message;
  std::string body;
};
Result<ReadMessage> read_message(std::string_view bytes, const std::string& where);

}  // namespace fatune
