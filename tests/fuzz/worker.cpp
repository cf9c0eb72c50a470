// worker.cpp: Fuzzes readers of what workers, compilers, ncu and disassemblers say.
#include "fuzz.hpp"
#include "tune/profile/census.hpp"
#include "tune/profile/counters.hpp"
#include "worker/protocol/compilation.hpp"
#include "worker/protocol/messages.hpp"

namespace fatune::fuzz {

void message(std::string_view text) {
  const auto parsed = parse_json(text, "x");
  if (!parsed) return;
  static_cast<void>(message_type(*parsed));
  check_record<BeginOrder>(text);
  check_record<RunOrder>(text);
  check_record<RunReply>(text);
  check_record<RoundsOrder>(text);
  check_record<RoundsReply>(text);
  check_record<ErrorReply>(text);
  check_record<DeviceReply>(text);
  check_record<ProfileJob>(text);
  check_record<CompileRequest>(text);
  check_record<Compiled>(text);
}

void compile_log(std::string_view text) { static_cast<void>(parse_compile_log(text)); }

void ncu(std::string_view text) {
  static_cast<void>(csv_fields(text));
  static_cast<void>(parse_ncu_csv(text, {"gpu__time_duration.sum", "x"}));
}

void sass(std::string_view text) {
  static_cast<void>(parse_sass(text));
  static_cast<void>(sass_lines(text));
}

}  // namespace fatune::fuzz
