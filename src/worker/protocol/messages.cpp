// messages.cpp: Lists the fields of orders and answers.
#include "worker/protocol/messages.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace fatune {

static Result<ErrorKind> parse_error_kind(std::string_view text) {
  const auto* found = std::ranges::find(kErrorKinds, text);
  if (found != std::end(kErrorKinds)) return static_cast<ErrorKind>(found - kErrorKinds);
  return usage_error(fmt::format("an error of kind '{}' is unknown", text));
}

static FieldWord<ErrorKind> word_of(const ErrorKind*) { return {.parse = parse_error_kind}; }

void fields(Program& x, FieldList& f) {
  if (f.chooses("impl", x.outside)) {
    fields(*x.outside, f);
    return;
  }
  f("cubin", x.cubin).required();
  f("plan", x.plan).required();
}

void fields(BeginOrder& x, FieldList& f) {
  f.tag("t", "begin");
  f("problem", x.problem).required();
  f("checks_cubin", x.checks_cubin).required();
  f("reference", x.reference).required();
  f("low_precision", x.low_precision);
  f("unquantized", x.unquantized);
  f("cases", x.cases);
  f("kernel_deadline_s", x.kernel_deadline_s).required();
  f("custom", x.custom);
}

void fields(ReadyReply& x, FieldList& f) {
  f.tag("t", "ready");
  f("reference_us", x.reference_us).required();
}

void fields(ExpectOrder& x, FieldList& f) {
  f.tag("t", "expect");
  f("problem", x.problem).required();
  f("programs", x.programs).required();
}

void fields(ExpectedReply&, FieldList& f) { f.tag("t", "expected"); }

void fields(RunOrder& x, FieldList& f) {
  f.tag("t", "run");
  f("id", x.id).required();
  f("program", x.program).required();
  f("verify", x.verify);
  f("locate_errors", x.locate_errors).omitted();
  f("hot", x.hot);
  f("cold", x.cold);
  f("in_layer", x.in_layer);
  f("best_hot_us", x.best_hot_us);
  f("best_cold_us", x.best_cold_us);
}

void fields(RunReply& x, FieldList& f) {
  f.tag("t", "ran");
  outcome_fields(x, f);
  measured_fields(x, f);
  f("verify_s", x.verify_s);
  f("timing_s", x.timing_s);
  f("detail", x.detail).omitted();
  f("regions", x.regions).omitted();
  f("fatal", x.fatal);
}

void fields(RoundsOrder& x, FieldList& f) {
  f.tag("t", "rounds");
  f("contestants", x.contestants);
  f("rounds", x.rounds).required();
  f("launches_per_round", x.launches_per_round).required();
  f("verify", x.verify);
  f("in_layer", x.in_layer);
  f("seed", x.seed).required();
}

void fields(RoundsRow& x, FieldList& f) {
  f("hot_us", x.hot_us);
  f("plain_us", x.plain_us);
  f("cold_us", x.cold_us);
  f("in_layer_us", x.in_layer_us);
  f("hot_launches", x.hot_launches).required();
  outcome_fields(x, f);
  measured_fields(x, f);
  f("detail", x.detail).omitted();
  f("gates", x.gates);
  f("not_run", x.not_run);
}

void fields(RoundsReply& x, FieldList& f) {
  f.tag("t", "rounded");
  f("rows", x.rows);
  f("layer_note", x.layer_note).omitted();
}

void fields(ProgressNote& x, FieldList& f) {
  f.tag("t", "progress");
  f("phase", x.phase).required();
}

void fields(ErrorReply& x, FieldList& f) {
  f.tag("t", "error");
  f("kind", x.error.kind).required();
  f("message", x.error.message).required();
}

void fields(HelloOrder&, FieldList& f) { f.tag("t", "hello"); }
void fields(ListOrder&, FieldList& f) { f.tag("t", "list"); }

void fields(DeviceReply& x, FieldList& f) {
  f.tag("t", "device");
  f("environment", x.environment).required();
}

void fields(DevicesReply& x, FieldList& f) {
  f.tag("t", "devices");
  f("devices", x.devices);
}

std::string message_type(const Json& message) {
  const auto found = message.is_object() ? message.find("t") : message.end();
  return found == message.end() || !found->is_string() ? "" : found->get<std::string>();
}

void fields(ProfileJob& x, FieldList& f) {
  f.document("fatune.profile-job");
  f("device", x.device).required();
  f("problem", x.problem).required();
  f("warm_ups", x.warm_ups).required();
  f("seed", x.seed).required();
  f("custom", x.custom);
  f("program", x.program).required();
  f("outputs", x.outputs).omitted();
}

}  // namespace fatune
