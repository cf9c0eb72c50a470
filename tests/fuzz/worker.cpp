// worker.cpp - what processes and tools say: messages of workers, external programs, compilers,
// ncu, disassemblers.
#include "fuzz.hpp"
#include "tune/profile/census.hpp"
#include "tune/profile/counters.hpp"
#include "worker/protocol/compilation.hpp"
#include "worker/protocol/external_description.hpp"
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

void external(std::string_view text) {
  const auto parsed = parse_external(text, "x");
  if (!parsed) return;
  check_round_trip(*parsed);
  static_cast<void>(refusal(*parsed, Problem()));
  static_cast<void>(
      read_external_output("fa3 4,8,512,64 full: 11.2 us, 301 TFLOP/s", parsed->output));
}

/// The first line is the pattern.
void external_output(std::string_view text) {
  const std::size_t line = std::min(text.find('\n'), text.size());
  Json how = {{"pattern", text.substr(0, line)}, {"unit", "us"}, {"hot_us", 1}};
  const auto output = from_json<ExternalOutput>(how, "x");
  if (output) static_cast<void>(read_external_output(text.substr(line), *output));
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
