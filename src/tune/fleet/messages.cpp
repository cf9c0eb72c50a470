// messages.cpp: Names the fields of each message, and encodes and parses messages.
#include "tune/fleet/messages.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/hash.hpp"
#include "core/json.hpp"

namespace fatune {
namespace {

constexpr std::size_t kCrc = 8;  ///< characters of crc32_hex(), behind every message

}  // namespace

void fields(RankDevice& x, FieldList& f) {
  f("name", x.name).required();
  f("environment", x.environment).required();
}

void fields(HelloMessage& x, FieldList& f) {
  f.tag("t", "hello");
  f("pid", x.pid).required();
  f("fatune", x.fatune).required();
  f("cores", x.cores).at_least(1);
  f("host_cores", x.host_cores).at_least(1);
  f("devices", x.devices);
  f("problem", x.problem);
}

void fields(OrderMessage& x, FieldList& f) {
  f.tag("t", "order");
  f("lease", x.lease).required().at_least(1);
  f("device", x.device).required().at_least(0);
}

void fields(LinesMessage& x, FieldList& f) {
  f.tag("t", "lines");
  f("lease", x.lease).required().at_least(1);
}

void fields(EndMessage& x, FieldList& f) {
  f.tag("t", "end");
  f("lease", x.lease).required().at_least(1);
  f("reason", x.reason);
}

void fields(RunningLease& x, FieldList& f) {
  f("lease", x.lease).required().at_least(1);
  f("device", x.device).required().at_least(0);
  f("said", x.said);
}

void fields(BeatMessage& x, FieldList& f) {
  f.tag("t", "beat");
  f("running", x.running);
}

void fields(DropMessage& x, FieldList& f) {
  f.tag("t", "drop");
  f("lease", x.lease).required().at_least(1);
}

void fields(StopMessage& x, FieldList& f) {
  f.tag("t", "stop");
  f("together", x.together).required();
}

std::string to_bytes(const RankMessage& message, std::string_view body) {
  std::string bytes = dump(to_json(message));
  bytes += '\n';
  bytes.append(body);
  return bytes.append(crc32_hex(bytes));
}

Result<ReadMessage> read_message(std::string_view bytes, const std::string& where) {
  const std::size_t whole = bytes.size() - std::min(bytes.size(), kCrc);
  if (crc32_hex(bytes.substr(0, whole)) != bytes.substr(whole)) {
    return environment_error(
        fmt::format("{}: a message is of another fatune, or was changed on its way", where));
  }
  bytes.remove_suffix(kCrc);
  const std::size_t end = std::min(bytes.find('\n'), bytes.size());
  FATUNE_TRY(const Json json, parse_json(bytes.substr(0, end), where));
  FATUNE_TRY(RankMessage message, read_value<RankMessage>(json, where));
  return ReadMessage{std::move(message),
                     std::string(bytes.substr(std::min(end + 1, bytes.size())))};
}

}  // namespace fatune
