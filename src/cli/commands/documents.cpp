// documents.cpp: Lists the fields of the documents that commands print.
#include "cli/commands/documents.hpp"

#include <nlohmann/json.hpp>

#include "core/fields.hpp"

namespace fatune::cli {
namespace {

void begin(FieldList& f, const char* format, DocumentHead& head) {
  f.document(format);
  document::head_fields(head, f);
}

void config_fields(NamedProblem& problem, std::string& kernel, Json& config, FieldList& f) {
  document::problem_fields(problem.name, problem.problem, f);
  f("kernel", kernel);
  f("config", config).object().schema(kConfigSchema);
}

void cheat_fields(SelftestRow& x, FieldList& f) {
  f("kernel", x.kernel);
  f("problem", x.problem);
  f("gate", x.gate);
  f("expected_outcome", x.expected_outcome);
  f("outcome", x.outcome);
  f("caught", x.caught);
  f("reason", x.reason).omitted();
}

void honest_fields(SelftestRow& x, FieldList& f) {
  f("kernel", x.kernel);
  f("problem", x.problem);
  f("outcome", x.outcome);
  f("passed", x.caught);
  f("reason", x.reason).omitted();
}

void term_fields(Term& x, FieldList& f) {
  f("name", x.name);
  f("value", x.value);
  f("meaning", x.meaning);
}

void rule_fields(RuledOut& x, FieldList& f) {
  f("require", x.rule);
  f("why", x.why);
  f("points", x.points).about("That no rule before it excluded");
}

void effect_fields(ParameterEffect& x, FieldList& f) {
  f("parameter", x.parameter);
  f("neighbours", x.neighbours).at_least(0);
  f("changed", x.changed).at_least(0);
  f.derived("inert", x.inert());
  f("same", x.same);
}

void census_fields(CubinCensus& x, FieldList& f) {
  f.derived("status", std::string(x.entries.empty() ? "not_run" : "counted"))
      .one_of("not_run, counted");
  f("reason", x.reason).omitted();
  f("remedy", x.remedy).omitted();
  f("entries", x.entries).omitted();
}

void recording_fields(ExplainedRecording& x, FieldList& f) {
  f("name", x.name);
  f("problem", x.problem);
  f("label", x.label).omitted();
  f.group("device", [&x](FieldList& device) { device("name", x.device); });
  f("objective", x.objective);
  f("importance", x.importance);
}

void finding_fields(LintFinding& x, FieldList& f) {
  f.derived("severity", std::string(name(x.severity))).one_of("warning, error");
  f("where", x.where);
  f("message", x.message);
}

}  // namespace

bool VerifiedConfig::passed() const {
  return record.outcome == Outcome::kMeasured && record.verification && record.verification->passed;
}

void fields(VerifiedConfig& x, FieldList& f) {
  config_fields(x.problem, x.record.kernel, x.record.config, f);
  f.derived("passed", x.passed());
  outcome_fields(x.record, f);
  f("verify", x.record.verification);
}

void fields(VerifyDocument& x, FieldList& f) {
  begin(f, "fatune.verify", x.head);
  f.as<&device_fields>("device", x.environment);
  f("configs", x.configs).about("Of a recorded device, verdicts that were recorded");
}

void fields(SelftestDocument& x, FieldList& f) {
  begin(f, "fatune.selftest", x.head);
  f.as<&device_fields>("device", x.environment);
  f.derived("passed", x.result.passed());
  f.as<&cheat_fields>("rows", x.result.cheats);
  f.as<&honest_fields>("honest", x.result.honest);
}

void fields(CompiledConfig& x, FieldList& f) {
  config_fields(x.problem, x.kernel, x.config, f);
  f("ok", x.compiled.ok);
  f("reason", x.compiled.problem).omitted();
  f("cubin", x.compiled.cubin_hash).omitted().about("SHA-256 of the machine code");
  f("resources", x.resources);
}

static void runtime_field(std::vector<std::string>& names, FieldList& f) {
  f("runtime_sizes", names).omitted().about("Sizes that machine code does not depend on");
}

void fields(CompileDocument& x, FieldList& f) {
  begin(f, "fatune.compile", x.head);
  f("arch", x.arch);
  f("nvrtc", x.nvrtc);
  runtime_field(x.runtime_sizes, f);
  f("configs", x.configs);
}

void fields(SpaceSummary& x, FieldList& f) {
  f("raw_points", x.raw_points);
  f("valid_points", x.valid_points);
  f.as<&term_fields>("terms", x.terms);
  f.as<&rule_fields>("ruled_out", x.ruled_out);
  f("default", x.standard);
}

void fields(EntryResources& x, FieldList& f) { fields(x.resources, f); }

void fields(InspectDocument& x, FieldList& f) {
  begin(f, "fatune.inspect", x.head);
  f("kernel", x.kernel).omitted();
  f("arch", x.arch).omitted();
  f("problem", x.problem);
  runtime_field(x.runtime_sizes, f);
  f("supported", x.supported).about("The kernel can do the problem");
  f("space", x.space);
  f.as<&effect_fields>("parameters", x.parameters).omitted();
  f("config", x.config);
  f("feasible", x.feasible).about("The config can run");
  f("reason", x.reason).omitted();
  f("launch", x.launch);
  f("forecast", x.forecast);
  f("compiled", x.compiled);
  f("compile_problem", x.compile_problem).omitted();
  f("cubin", x.cubin).omitted().about("SHA-256 of the machine code");
  f.keyed<&EntryResources::entry>("entries", x.entries).omitted();
  f.as<&census_fields>("census", x.census);
  f.as<&recording_fields>("recordings", x.recordings).omitted();
}

void fields(ListedParameter& x, FieldList& f) {
  f("name", x.name);
  f("values", x.values);
  f("default", x.standard);
  f("meaning", x.meaning).omitted();
}

void fields(ListedKernel& x, FieldList& f) {
  f("name", x.name);
  f("summary", x.summary);
  f("role", x.role);
  f("arch", x.arch);
  f("dtypes", x.dtypes);
  f("tuned_by_default", x.tuned_by_default);
  f("parameters", x.parameters);
}

void fields(KernelsDocument& x, FieldList& f) {
  begin(f, "fatune.kernels", x.head);
  f("kernels", x.kernels);
}

void fields(LintDocument& x, FieldList& f) {
  begin(f, "fatune.lint", x.head);
  f("kernels", x.kernels);
  f("errors", x.errors);
  f.as<&finding_fields>("findings", x.findings);
  runtime_field(x.runtime_sizes, f);
}

void fields(SpaceDocument& x, FieldList& f) {
  begin(f, "fatune.space", x.head);
  f("name", x.name);
  f("raw_points", x.raw_points);
  f("valid_points", x.valid_points);
  f("parameters", x.parameters);
  f.as<&rule_fields>("ruled_out", x.ruled_out);
}

void listed_device_fields(ListedDevice& x, FieldList& f) {
  device_fields(x, f);
  f.record("listed_device");
  f("unfit", x.unfit).omitted().about("Why final phases there would not be its own");
}

void fields(DevicesDocument& x, FieldList& f) {
  begin(f, "fatune.devices", x.head);
  f.as<&listed_device_fields>("devices", x.devices);
}

void fields(ListedExport& x, FieldList& f) {
  f("name", x.name);
  f("launch", x.launch);
}

void fields(OutputsDocument& x, FieldList& f) {
  begin(f, "fatune.outputs", x.head);
  f("environment", x.environment);
  f("files", x.files);
}

void fields(ExportDocument& x, FieldList& f) {
  begin(f, "fatune.export", x.head);
  f("files", x.files);
  f("kernels", x.kernels);
}

}  // namespace fatune::cli
