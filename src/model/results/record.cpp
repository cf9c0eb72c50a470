// record.cpp: Lists the fields of journal records.
#include "model/results/record.hpp"

#include <array>

#include "core/fields.hpp"
#include "core/words.hpp"
#include "model/kernel/config.hpp"

namespace fatune {
namespace {

constexpr const char* kKernelPattern = "[a-z][a-z0-9_]*";  // pattern of manifests
constexpr std::array kRowRoles = {RowRole::kFinalist, RowRole::kDefault, RowRole::kBaseline};
/// In the order of Time.
constexpr std::array kRounds = {&FinalRecord::in_layer_rounds_us, &FinalRecord::plain_rounds_us,
                                &FinalRecord::hot_rounds_us, &FinalRecord::cold_rounds_us};

}  // namespace

void fields(Spent& x, FieldList& f) {
  f("compile_s", x.compile_s);
  f("verify_s", x.verify_s);
  f("timing_s", x.timing_s);
  f("gpu_wait_s", x.gpu_wait_s);
  f("ready_s", x.ready_s).omitted().about("From the end of its compilation to its result");
  f("compiler", x.compiler).about("The compile process, from 0; none on a cache hit");
}

void fields(MeasuredOn& x, FieldList& f) {
  f("device", x.device).required();
  f("gpu", x.gpu).omitted().about("Its UUID");
}

StartedRecord started(const CandidateRecord& candidate) {
  return {candidate.id, candidate.key, candidate.kernel, candidate.config, candidate.problem};
}

void fields(BeginRecord& x, FieldList& f) {
  f.record("begin",
           "A device begins a problem or goes on with it, where a run has several devices");
  f.tag("t", "begin");
  f("problem", x.problem).required();
  f("device", x.device).required();
  f("gpu", x.gpu).omitted().about("UUID");
  f("at_s", x.at_s).required().finite();
}

void fields(StartedRecord& x, FieldList& f) {
  f.record("started");
  f.tag("t", "started");
  f("id", x.id).required().looks_like(kIdPattern);
  f("key", x.key).required();
  f("kernel", x.kernel).omitted();
  f("config", x.config).object().omitted().schema(kConfigSchema);
  f("problem", x.problem);
  f("again", x.again).omitted().about("The run had ended while it was on the device");
}

void fields(CandidateRecord& x, FieldList& f) {
  f.record("candidate");
  f.tag("t", "candidate");
  f("id", x.id).required().looks_like(kIdPattern);
  f("key", x.key).required();
  f("kernel", x.kernel).required().matching(kKernelPattern, "a kernel's name");
  f("config", x.config).required().object().schema(kConfigSchema);
  f("problem", x.problem).required();
  outcome_fields(x, f);
  f("cubin", x.cubin).omitted().about("SHA-256 of the machine code");
  f("duplicate_of", x.duplicate_of).omitted().looks_like(kIdPattern);
  measured_fields(x, f);
  f("measured_on", x.measured_on).about("Of several GPUs, another than the run's");
  f("spent", x.spent);
  f("at_s", x.at_s).about("Since the run began");
  f("recorded", x.recorded).omitted();
}

std::string_view name(RowRole role) {
  constexpr std::array<std::string_view, kRowRoles.size()> kNames = {"finalist", "default",
                                                                     "baseline"};
  return kNames.at(static_cast<std::size_t>(role));
}

FieldWord<RowRole> word_of(const RowRole*) {
  return {[](std::string_view text) { return parse_word<RowRole>(text, kRowRoles); }, kRowRoles};
}

std::vector<double>& rounds_of(FinalRecord& record, Time time) {
  return record.*kRounds.at(static_cast<std::size_t>(time));
}

const std::vector<double>& rounds_of(const FinalRecord& record, Time time) {
  return record.*kRounds.at(static_cast<std::size_t>(time));
}

void rounds_fields(FinalRecord& x, FieldList& f) {
  f("in_layer_rounds_us", x.in_layer_rounds_us).omitted().about("One value a steady round");
  f("plain_rounds_us", x.plain_rounds_us).omitted();
  f("hot_rounds_us", x.hot_rounds_us).omitted().about("One value a round");
  f("cold_rounds_us", x.cold_rounds_us).omitted();
}

void fields(FinalRecord& x, FieldList& f) {
  f.record("final", "A contestant of the final phase");
  f.tag("t", "final");
  f("impl", x.impl).required();
  f("role", x.role).required();
  f("id", x.id).omitted().looks_like(kIdPattern);
  f("kernel", x.kernel).omitted().matching(kKernelPattern, "a kernel's name");
  f("config", x.config).object().omitted().schema(kConfigSchema);
  f("problem", x.problem).required();
  outcome_fields(x, f);
  measured_fields(x, f);
  rounds_fields(x, f);
  f("detail", x.detail).omitted();
  f("gpu", x.gpu).omitted().about("UUID of the one that measured it");
  f("at_s", x.at_s).omitted().about("Since the run began, when its final phase had ended");
  f("recorded", x.recorded).omitted();
  f("timed_again", x.timed_again).omitted().about("In rounds after the best was chosen");
}

void fields(EndRecord& x, FieldList& f) {
  f.record("end");
  f.tag("t", "end");
  f("status", x.status).required().one_of("complete, interrupted");
  f("seconds", x.seconds);
}

double moment_of(const Record& record) {
  if (const auto* end = std::get_if<EndRecord>(&record)) return end->seconds;
  if (const auto* begin = std::get_if<BeginRecord>(&record)) return begin->at_s;
  if (const auto* candidate = std::get_if<CandidateRecord>(&record)) return candidate->at_s;
  const auto* final = std::get_if<FinalRecord>(&record);
  return final != nullptr ? final->at_s : 0;
}

double* time_of(Record& record) {
  if (auto* begin = std::get_if<BeginRecord>(&record)) return &begin->at_s;
  if (auto* candidate = std::get_if<CandidateRecord>(&record)) return &candidate->at_s;
  auto* final = std::get_if<FinalRecord>(&record);
  return final != nullptr ? &final->at_s : nullptr;
}

const Problem* problem_of(const Record& record) {
  if (const auto* begin = std::get_if<BeginRecord>(&record)) return &begin->problem;
  if (const auto* candidate = std::get_if<CandidateRecord>(&record)) return &candidate->problem;
  if (const auto* final = std::get_if<FinalRecord>(&record)) return &final->problem;
  const auto* started = std::get_if<StartedRecord>(&record);
  return started != nullptr && started->problem ? &*started->problem : nullptr;
}

void fields(SavedConfig& x, FieldList& f) {
  f.record("known_config", "A config that was best for a problem");
  f("problem", x.problem).required();
  f("arch", x.arch).required();
  f("kernel", x.kernel).required().matching(kKernelPattern, "a kernel's name");
  f("config", x.config).required().object().schema(kConfigSchema);
  f("source", x.source).required();
}

}  // namespace fatune
