// record.cpp - records to JSON objects, one a line of the journal, and back.
#include "model/results/record.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/results/exact.hpp"

namespace fatune {
namespace {

/// Adds what CandidateRecord and FinalRecord both observed.
template <typename Observed>
void add_observations(Json& json, const Observed& x) {
  if (x.hot) json["hot"] = to_json(*x.hot);
  if (x.cold) json["cold"] = to_json(*x.cold);
  if (x.verification) json["verify"] = to_json(*x.verification);
  if (x.resources) json["resources"] = to_json(*x.resources);
  if (x.conditions) json["conditions"] = to_json(*x.conditions);
}

template <typename T>
Status read_optional(const Fields& fields, std::string_view key, std::optional<T>& target,
                     Result<T> (*from_json)(const Json&, const std::string&)) {
  if (!fields.has(key)) return {};
  FATUNE_TRY(const Fields object, fields.object(key));
  FATUNE_TRY(target, from_json(object.json(), object.where()));
  return {};
}

template <typename Observed>
Status read_observations(const Fields& fields, Observed& x) {
  FATUNE_TRY_STATUS(read_optional(fields, "hot", x.hot, timing_from_json));
  FATUNE_TRY_STATUS(read_optional(fields, "cold", x.cold, timing_from_json));
  FATUNE_TRY_STATUS(read_optional(fields, "verify", x.verification, verification_from_json));
  FATUNE_TRY_STATUS(read_optional(fields, "resources", x.resources, resources_from_json));
  FATUNE_TRY_STATUS(read_optional(fields, "conditions", x.conditions, conditions_from_json));
  return {};
}

/// Reads what both say about themselves: kernel, config, problem, outcome, reason.
template <typename Described>
Status read_description(const Fields& fields, Described& x) {
  FATUNE_TRY(x.kernel, fields.text_or("kernel", ""));
  x.config = Json::object();
  if (fields.has("config")) {
    FATUNE_TRY(const Fields config, fields.object("config"));
    x.config = config.json();
  }
  FATUNE_TRY(const Fields problem, fields.object("problem"));
  FATUNE_TRY(x.problem, problem_from_json(problem.json(), problem.where()));
  FATUNE_TRY(const std::string outcome_text, fields.text("outcome"));
  const Result<Outcome> outcome = parse_outcome(outcome_text);
  if (!outcome) return fields.error("outcome", "is wrong: " + outcome.error().message);
  x.outcome = *outcome;
  FATUNE_TRY(x.reason, fields.text_or("reason", ""));
  FATUNE_TRY(x.recorded, fields.boolean_or("recorded", false));
  return {};
}

void add_text(Json& json, const char* key, const std::string& text) {
  if (!text.empty()) json[key] = text;
}

Json to_json(const Spent& x) {
  return Json{{"compile_s", exact(x.compile_s)},
              {"verify_s", exact(x.verify_s)},
              {"timing_s", exact(x.timing_s)},
              {"gpu_wait_s", exact(x.gpu_wait_s)}};
}

Result<Spent> spent_from_json(const Fields& fields) {
  Spent x;
  FATUNE_TRY(x.compile_s, exact_number_or(fields, "compile_s", 0));
  FATUNE_TRY(x.verify_s, exact_number_or(fields, "verify_s", 0));
  FATUNE_TRY(x.timing_s, exact_number_or(fields, "timing_s", 0));
  FATUNE_TRY(x.gpu_wait_s, exact_number_or(fields, "gpu_wait_s", 0));
  return x;
}

Json write(const StartedRecord& x) { return Json{{"t", "started"}, {"id", x.id}, {"key", x.key}}; }

Json write(const CandidateRecord& x) {
  Json json{{"t", "candidate"},          {"id", x.id},         {"key", x.key},
            {"kernel", x.kernel},        {"config", x.config}, {"problem", to_json(x.problem)},
            {"outcome", name(x.outcome)}};
  add_text(json, "reason", x.reason);
  add_text(json, "cubin", x.cubin);
  add_text(json, "duplicate_of", x.duplicate_of);
  add_observations(json, x);
  json["spent"] = to_json(x.spent);
  json["at_s"] = exact(x.at_s);
  if (x.recorded) json["recorded"] = true;
  return json;
}

Json write(const FinalRecord& x) {
  Json json{{"t", "final"}, {"impl", x.impl}, {"role", x.role}};
  add_text(json, "id", x.id);
  add_text(json, "kernel", x.kernel);
  if (!x.config.empty()) json["config"] = x.config;
  json["problem"] = to_json(x.problem);
  json["outcome"] = name(x.outcome);
  add_text(json, "reason", x.reason);
  add_observations(json, x);
  if (!x.hot_rounds_us.empty()) json["hot_rounds_us"] = exact(x.hot_rounds_us);
  if (!x.cold_rounds_us.empty()) json["cold_rounds_us"] = exact(x.cold_rounds_us);
  add_text(json, "detail", x.detail);
  if (x.external) json["external"] = true;
  if (x.recorded) json["recorded"] = true;
  return json;
}

Json write(const EndRecord& x) {
  return Json{{"t", "end"}, {"status", x.status}, {"seconds", exact(x.seconds)}};
}

Result<Record> read_started(const Fields& fields) {
  StartedRecord x;
  FATUNE_TRY(x.id, fields.text("id"));
  FATUNE_TRY(x.key, fields.text("key"));
  return Record(std::move(x));
}

Result<Record> read_candidate(const Fields& fields) {
  CandidateRecord x;
  FATUNE_TRY_STATUS(fields.require({"id", "key", "kernel", "config"}));
  FATUNE_TRY(x.id, fields.text("id"));
  FATUNE_TRY(x.key, fields.text("key"));
  FATUNE_TRY_STATUS(read_description(fields, x));
  FATUNE_TRY(x.cubin, fields.text_or("cubin", ""));
  FATUNE_TRY(x.duplicate_of, fields.text_or("duplicate_of", ""));
  FATUNE_TRY_STATUS(read_observations(fields, x));
  if (fields.has("spent")) {
    FATUNE_TRY(const Fields spent, fields.object("spent"));
    FATUNE_TRY(x.spent, spent_from_json(spent));
  }
  FATUNE_TRY(x.at_s, exact_number_or(fields, "at_s", 0));
  return Record(std::move(x));
}

Result<Record> read_final(const Fields& fields) {
  FinalRecord x;
  FATUNE_TRY(x.impl, fields.text("impl"));
  FATUNE_TRY(x.role, fields.text("role"));
  FATUNE_TRY(x.id, fields.text_or("id", ""));
  FATUNE_TRY_STATUS(read_description(fields, x));
  FATUNE_TRY_STATUS(read_observations(fields, x));
  FATUNE_TRY(x.hot_rounds_us, exact_numbers_or_empty(fields, "hot_rounds_us"));
  FATUNE_TRY(x.cold_rounds_us, exact_numbers_or_empty(fields, "cold_rounds_us"));
  FATUNE_TRY(x.detail, fields.text_or("detail", ""));
  FATUNE_TRY(x.external, fields.boolean_or("external", false));
  return Record(std::move(x));
}

Result<Record> read_end(const Fields& fields) {
  EndRecord x;
  FATUNE_TRY(x.status, fields.text("status"));
  FATUNE_TRY(x.seconds, exact_number_or(fields, "seconds", 0));
  return Record(std::move(x));
}

}  // namespace

Json to_json(const Record& record) {
  return std::visit([](const auto& x) { return write(x); }, record);
}

Result<Record> record_from_json(const Json& object, const std::string& where) {
  const Fields fields(object, where);
  FATUNE_TRY(const std::string type, fields.text("t"));
  if (type == "started") return read_started(fields);
  if (type == "candidate") return read_candidate(fields);
  if (type == "final") return read_final(fields);
  if (type == "end") return read_end(fields);
  return fields.error("t",
                      fmt::format("is '{}', a kind of record this version does not know", type));
}

}  // namespace fatune
