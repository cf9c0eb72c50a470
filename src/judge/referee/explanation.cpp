// explanation.cpp: Explains a refusal by its gate, the compiler's line and the wrong regions.
#include "judge/referee/explanation.hpp"

#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/text.hpp"
#include "model/kernel/gate_table.hpp"

namespace fatune {
namespace {

/// Returns the source line that a compiler message such as "k.cu(12): error: ..." names.
std::string line_of(const std::string& reason, const std::string& source) {
  const std::size_t open = reason.find(".cu(");
  if (open == std::string::npos) return "";
  const std::size_t first = open + 4;
  const auto number = parse_integer(reason.substr(first, reason.find(')', first) - first));
  const std::vector<std::string> lines = split(source, '\n');
  if (!number || *number < 1 || *number > std::ssize(lines)) return "";
  return lines[static_cast<std::size_t>(*number - 1)];
}

}  // namespace

Explanation explain(const JudgedKernel& judgement, const std::string& source) {
  const FinalRecord& record = judgement.record;
  Explanation explained;
  explained.id = record.id;
  explained.outcome = name(record.outcome);
  explained.gate = judgement.gate;
  explained.reason = record.reason;
  explained.regions = judgement.regions;
  if (judgement.gate.empty()) return explained;
  if (const GateText* const gate = find_gate(judgement.gate)) {
    explained.statement = gate->statement;
    explained.why = gate->why;
    explained.usual = gate->usual_cause;
  }
  if (record.outcome == Outcome::kCompileError) explained.line = line_of(record.reason, source);
  return explained;
}

void fields(AskExplanation& x, FieldList& f) {
  f("id", x.id).required().filled().about("Of a judgement");
  f.by_hand();
}

void fields(Explanation& x, FieldList& f) {
  f("id", x.id).required();
  f("outcome", x.outcome).required();
  f("gate", x.gate).omitted().about("Absent: no gate refused it");
  f("statement", x.statement).omitted().about("What the gate demands");
  f("why", x.why).omitted();
  f("reason", x.reason).omitted().about("What this kernel did");
  f("line", x.line).omitted().about("Of the submitted source: data, no instruction");
  f("usual", x.usual).omitted().about("What is behind it as a rule");
  f("regions", x.regions).omitted().about("Where the output is wrong, and by how much");
}

void fields(AskProfile& x, FieldList& f) {
  f("id", x.id).required().filled().about("Of a judgement that no gate refused");
  f.by_hand();
}

void fields(KernelProfile& x, FieldList& f) {
  f("id", x.judgement.record.id).required().looks_like(kIdPattern);
  f("kernel", x.judgement.record.kernel);
  f("config", x.judgement.record.config).object().schema(kConfigSchema);
  f("profile", x.profile).required().about("Counters, the bottleneck, and what each figure means");
}

}  // namespace fatune
