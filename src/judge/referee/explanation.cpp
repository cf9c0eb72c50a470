// explanation.cpp - the gate in words, the compiler's line as it was written, errors by region.
#include "judge/referee/explanation.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/fields.hpp"
#include "core/text.hpp"

namespace fatune {
namespace {

struct UsualCause {
  const char* gate;
  const char* cause;
};
constexpr std::array kCauses = {
    UsualCause{"constraints", "choose other values, or widen the manifest's rules"},
    UsualCause{"compilation", "the line below is the first that the compiler refused"},
    UsualCause{"launch",
               "more shared memory than the manifest says, an address beyond a tensor, a barrier "
               "that not every thread reaches"},
    UsualCause{"poison",
               "rows or columns of the last tile that no thread stores, or scratch memory that is "
               "read before it is written"},
    UsualCause{"inputs", "a tile that is written back to where it was loaded from"},
    UsualCause{"guard_bands", "the last tile is stored, or loaded, beyond the tensor's end"},
    UsualCause{"accuracy",
               "look at the regions: one that is wrong alone names the tile, mask or head; all of "
               "them alike name the scale, the softmax or the order of the products"},
    UsualCause{"repeat",
               "threads read shared memory before others have written it, or atomics add "
               "in any order"},
    UsualCause{"early_start",
               "the kernel reads its inputs before it waits for the kernel in front of it"},
    UsualCause{"physics", "the timed launches skip work"},
    UsualCause{"timed_output", "a result is kept from launch to launch instead of computed"},
    UsualCause{"in_layer", "the kernel is right by itself, and wrong between other kernels"},
};

std::string usual_cause(const std::string& gate) {
  const auto found =
      std::ranges::find_if(kCauses, [&](const UsualCause& each) { return gate == each.gate; });
  return found == kCauses.end() ? "" : found->cause;
}

/// Of "k.cu(12): error: ...": line 12 of the source.
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
  for (const StatedRule& gate : gates_in_words()) {
    if (gate.name != judgement.gate) continue;
    explained.statement = gate.statement;
    explained.why = gate.why;
  }
  explained.usual = usual_cause(judgement.gate);
  if (record.outcome == Outcome::kCompileError) explained.line = line_of(record.reason, source);
  return explained;
}

void fields(AskExplanation& x, FieldList& f) {
  f("id", x.id).required().filled().about("Of a judgement");
  f.closed();
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

}  // namespace fatune
