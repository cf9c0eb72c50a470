// messages.cpp - orders and answers to JSON objects and back.
#include "worker/protocol/messages.hpp"

#include <nlohmann/json.hpp>

#include "model/results/exact.hpp"

namespace fatune {
namespace {

const std::string kOrder = "order to the device worker";
const std::string kAnswer = "answer of the device worker";

Json to_json(const OutsideProgram& program) {
  return {{"impl", program.impl}, {"settings", program.settings}};
}

Json to_json(const Program& program) {
  if (program.outside) return to_json(*program.outside);
  return {{"cubin", program.cubin}, {"plan", to_json(program.plan)}};
}

Json to_json(const InputCase& which) {
  return {{"distribution", std::string(name(which.distribution))}, {"seed", which.seed}};
}

Result<OutsideProgram> outside_from_json(const Fields& fields) {
  OutsideProgram outside;
  FATUNE_TRY(outside.impl, fields.text("impl"));
  FATUNE_TRY(const Fields settings, fields.object("settings"));
  outside.settings = settings.json();
  return outside;
}

Result<Program> program_from_json(const Fields& fields) {
  Program program;
  if (fields.has("impl")) {
    FATUNE_TRY(program.outside, outside_from_json(fields));
    return program;
  }
  FATUNE_TRY(program.cubin, fields.text("cubin"));
  FATUNE_TRY(const Json* plan, fields.value("plan"));
  FATUNE_TRY(program.plan, launch_plan_from_json(*plan, fields.where()));
  return program;
}

Result<Program> program_at(const Fields& fields, std::string_view key) {
  FATUNE_TRY(const Fields object, fields.object(key));
  return program_from_json(object);
}

/// Seeds use all 64 bits; Fields::integer is signed, so the value's own conversion is taken.
Result<std::uint64_t> seed_of(const Fields& fields) {
  FATUNE_TRY(const Json* value, fields.value("seed"));
  if (!value->is_number_integer()) return fields.error("seed", "must be an integer");
  return value->get<std::uint64_t>();
}

Result<InputCase> case_from_json(const Fields& fields) {
  InputCase which;
  FATUNE_TRY(const std::string text, fields.text("distribution"));
  FATUNE_TRY(which.distribution, parse_distribution(text));
  FATUNE_TRY(which.seed, seed_of(fields));
  return which;
}

void put(Json& object, const char* key, const std::optional<double>& value) {
  if (value) object[key] = exact(*value);
}

template <typename T>
void put(Json& object, const char* key, const std::optional<T>& value) {
  if (value) object[key] = to_json(*value);
}

Result<std::optional<double>> optional_number(const Fields& fields, std::string_view key) {
  if (!fields.has(key)) return std::optional<double>();
  FATUNE_TRY(const double value, exact_number(fields, key));
  return std::optional<double>(value);
}

template <typename T>
Result<std::optional<T>> optional_object(const Fields& fields, std::string_view key,
                                         Result<T> (*read)(const Json&, const std::string&)) {
  if (!fields.has(key)) return std::optional<T>();
  FATUNE_TRY(const Json* value, fields.value(key));
  FATUNE_TRY(T object, read(*value, fields.where()));
  return std::optional<T>(std::move(object));
}

constexpr std::pair<ErrorKind, const char*> kErrorKinds[] = {
    {ErrorKind::kUsage, "usage"},
    {ErrorKind::kEnvironment, "environment"},
    {ErrorKind::kFile, "file"},
    {ErrorKind::kDevice, "device"},
    {ErrorKind::kInterrupted, "interrupted"}};

Result<RoundsRow> row_from_json(const Fields& fields) {
  RoundsRow row;
  FATUNE_TRY(row.hot_us, exact_numbers_or_empty(fields, "hot_us"));
  FATUNE_TRY(row.cold_us, exact_numbers_or_empty(fields, "cold_us"));
  FATUNE_TRY(row.hot_launches, fields.integer("hot_launches"));
  FATUNE_TRY(const Json* conditions, fields.value("conditions"));
  FATUNE_TRY(row.conditions, conditions_from_json(*conditions, fields.where()));
  FATUNE_TRY(const std::string outcome, fields.text("outcome"));
  FATUNE_TRY(row.outcome, parse_outcome(outcome));
  FATUNE_TRY(row.reason, fields.text_or("reason", ""));
  FATUNE_TRY(row.detail, fields.text_or("detail", ""));
  FATUNE_TRY(row.gates, fields.texts_or("gates", {}));
  FATUNE_TRY(row.not_run, fields.texts_or("not_run", {}));
  return row;
}

}  // namespace

Json to_json(const BeginOrder& order) {
  Json cases = Json::array();
  for (const InputCase& which : order.cases) cases.push_back(to_json(which));
  Json expected = Json::array();
  for (const OutsideProgram& program : order.expected) expected.push_back(to_json(program));
  Json object = {{"t", "begin"},
                 {"problem", to_json(order.problem)},
                 {"checks_cubin", order.checks_cubin},
                 {"reference", to_json(order.reference)},
                 {"twin", to_json(order.twin)},
                 {"cases", std::move(cases)},
                 {"kernel_deadline_s", order.kernel_deadline_s},
                 {"expected", std::move(expected)}};
  put(object, "own", order.own);
  return object;
}

Result<BeginOrder> begin_order_from_json(const Json& message) {
  const Fields fields(message, kOrder);
  BeginOrder order;
  FATUNE_TRY(const Json* problem, fields.value("problem"));
  FATUNE_TRY(order.problem, problem_from_json(*problem, kOrder));
  FATUNE_TRY(order.checks_cubin, fields.text("checks_cubin"));
  FATUNE_TRY(order.reference, program_at(fields, "reference"));
  FATUNE_TRY(order.twin, program_at(fields, "twin"));
  FATUNE_TRY(const auto cases, fields.objects_or_empty("cases"));
  for (const Fields& each : cases) {
    FATUNE_TRY(const InputCase which, case_from_json(each));
    order.cases.push_back(which);
  }
  FATUNE_TRY(order.kernel_deadline_s, fields.number("kernel_deadline_s"));
  FATUNE_TRY(const auto expected, fields.objects_or_empty("expected"));
  for (const Fields& each : expected) {
    FATUNE_TRY(OutsideProgram program, outside_from_json(each));
    order.expected.push_back(std::move(program));
  }
  FATUNE_TRY(order.own, optional_object(fields, "own", own_plan_from_json));
  return order;
}

Json to_json(const ReadyReply& reply) {
  return {{"t", "ready"}, {"reference_us", exact(reply.reference_us)}};
}

Result<ReadyReply> ready_reply_from_json(const Json& message) {
  ReadyReply reply;
  FATUNE_TRY(reply.reference_us, exact_number(Fields(message, kAnswer), "reference_us"));
  return reply;
}

Json to_json(const RunOrder& order) {
  Json object = {{"t", "run"},
                 {"id", order.id},
                 {"program", to_json(order.program)},
                 {"verify", order.verify},
                 {"hot", order.hot},
                 {"cold", order.cold}};
  put(object, "best_hot_us", order.best_hot_us);
  put(object, "best_cold_us", order.best_cold_us);
  return object;
}

Result<RunOrder> run_order_from_json(const Json& message) {
  const Fields fields(message, kOrder);
  RunOrder order;
  FATUNE_TRY(order.id, fields.text("id"));
  FATUNE_TRY(order.program, program_at(fields, "program"));
  FATUNE_TRY(order.verify, fields.boolean_or("verify", true));
  FATUNE_TRY(order.hot, fields.boolean_or("hot", true));
  FATUNE_TRY(order.cold, fields.boolean_or("cold", false));
  FATUNE_TRY(order.best_hot_us, optional_number(fields, "best_hot_us"));
  FATUNE_TRY(order.best_cold_us, optional_number(fields, "best_cold_us"));
  return order;
}

Json to_json(const RunReply& reply) {
  Json object = {
      {"t", "ran"}, {"outcome", std::string(name(reply.outcome))}, {"reason", reply.reason}};
  put(object, "hot", reply.hot);
  put(object, "cold", reply.cold);
  put(object, "verification", reply.verification);
  put(object, "resources", reply.resources);
  put(object, "conditions", reply.conditions);
  object["verify_s"] = exact(reply.verify_s);
  object["timing_s"] = exact(reply.timing_s);
  object["detail"] = reply.detail;
  object["fatal"] = reply.fatal;
  return object;
}

Result<RunReply> run_reply_from_json(const Json& message) {
  const Fields fields(message, kAnswer);
  RunReply reply;
  FATUNE_TRY(const std::string outcome, fields.text("outcome"));
  FATUNE_TRY(reply.outcome, parse_outcome(outcome));
  FATUNE_TRY(reply.reason, fields.text_or("reason", ""));
  FATUNE_TRY(reply.hot, optional_object(fields, "hot", timing_from_json));
  FATUNE_TRY(reply.cold, optional_object(fields, "cold", timing_from_json));
  FATUNE_TRY(reply.verification, optional_object(fields, "verification", verification_from_json));
  FATUNE_TRY(reply.resources, optional_object(fields, "resources", resources_from_json));
  FATUNE_TRY(reply.conditions, optional_object(fields, "conditions", conditions_from_json));
  FATUNE_TRY(reply.verify_s, exact_number_or(fields, "verify_s", 0));
  FATUNE_TRY(reply.timing_s, exact_number_or(fields, "timing_s", 0));
  FATUNE_TRY(reply.detail, fields.text_or("detail", ""));
  FATUNE_TRY(reply.fatal, fields.boolean_or("fatal", false));
  return reply;
}

Json to_json(const RoundsOrder& order) {
  Json contestants = Json::array();
  for (const Program& program : order.contestants) contestants.push_back(to_json(program));
  return {{"t", "rounds"},          {"contestants", std::move(contestants)},
          {"rounds", order.rounds}, {"launches_per_round", order.launches_per_round},
          {"verify", order.verify}, {"seed", order.seed}};
}

Result<RoundsOrder> rounds_order_from_json(const Json& message) {
  const Fields fields(message, kOrder);
  RoundsOrder order;
  FATUNE_TRY(const auto contestants, fields.objects_or_empty("contestants"));
  for (const Fields& each : contestants) {
    FATUNE_TRY(Program program, program_from_json(each));
    order.contestants.push_back(std::move(program));
  }
  FATUNE_TRY(const std::int64_t rounds, fields.integer("rounds"));
  FATUNE_TRY(const std::int64_t launches, fields.integer("launches_per_round"));
  order.rounds = static_cast<int>(rounds);
  order.launches_per_round = static_cast<int>(launches);
  FATUNE_TRY(order.verify, fields.boolean_or("verify", true));
  FATUNE_TRY(order.seed, seed_of(fields));
  return order;
}

Json to_json(const RoundsReply& reply) {
  Json rows = Json::array();
  for (const RoundsRow& row : reply.rows) {
    rows.push_back({{"hot_us", exact(row.hot_us)},
                    {"cold_us", exact(row.cold_us)},
                    {"hot_launches", row.hot_launches},
                    {"conditions", to_json(row.conditions)},
                    {"outcome", std::string(name(row.outcome))},
                    {"reason", row.reason},
                    {"detail", row.detail},
                    {"gates", row.gates},
                    {"not_run", row.not_run}});
  }
  return {{"t", "rounded"}, {"rows", std::move(rows)}};
}

Result<RoundsReply> rounds_reply_from_json(const Json& message) {
  const Fields fields(message, kAnswer);
  RoundsReply reply;
  FATUNE_TRY(const auto rows, fields.objects_or_empty("rows"));
  for (const Fields& each : rows) {
    FATUNE_TRY(RoundsRow row, row_from_json(each));
    reply.rows.push_back(std::move(row));
  }
  return reply;
}

Json to_json(const ProgressNote& note) { return {{"t", "progress"}, {"phase", note.phase}}; }

Result<ProgressNote> progress_note_from_json(const Json& message) {
  ProgressNote note;
  FATUNE_TRY(note.phase, Fields(message, kAnswer).text("phase"));
  return note;
}

Json to_json(const ErrorReply& reply) {
  Json object = {{"t", "error"}, {"kind", "device"}, {"message", reply.error.message}};
  for (const auto& [kind, text] : kErrorKinds) {
    if (kind == reply.error.kind) object["kind"] = text;
  }
  return object;
}

Result<ErrorReply> error_reply_from_json(const Json& message) {
  const Fields fields(message, kAnswer);
  FATUNE_TRY(const std::string kind_text, fields.text("kind"));
  FATUNE_TRY(std::string text, fields.text("message"));
  for (const auto& [kind, known] : kErrorKinds) {
    if (kind_text == known) return ErrorReply{{kind, std::move(text)}};
  }
  return fields.error("kind", "is unknown: '" + kind_text + "'");
}

Json hello_order() { return {{"t", "hello"}}; }
Json list_order() { return {{"t", "list"}}; }

Json device_reply(const Environment& environment) {
  return {{"t", "device"}, {"environment", to_json(environment)}};
}

Result<Environment> device_from_json(const Json& message) {
  FATUNE_TRY(const Json* environment, Fields(message, kAnswer).value("environment"));
  return environment_from_json(*environment, kAnswer);
}

Json devices_reply(const std::vector<Environment>& environments) {
  Json list = Json::array();
  for (const Environment& each : environments) list.push_back(to_json(each));
  return {{"t", "devices"}, {"environments", std::move(list)}};
}

Result<std::vector<Environment>> devices_from_json(const Json& message) {
  FATUNE_TRY(const auto list, Fields(message, kAnswer).objects_or_empty("environments"));
  std::vector<Environment> environments;
  for (const Fields& each : list) {
    FATUNE_TRY(Environment environment, environment_from_json(each.json(), kAnswer));
    environments.push_back(std::move(environment));
  }
  return environments;
}

std::string message_type(const Json& message) {
  const auto found = message.is_object() ? message.find("t") : message.end();
  return found == message.end() || !found->is_string() ? "" : found->get<std::string>();
}

}  // namespace fatune
