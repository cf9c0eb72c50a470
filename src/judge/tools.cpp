// tools.cpp - the one table of tools: two records and a function are a verb.
#include "judge/tools.hpp"

#include <nlohmann/json.hpp>

#include "core/fields.hpp"

namespace fatune {
namespace {

/// `run` takes an In and gives a Result of an Out; what a client sends beside In's fields is
/// refused by name.
template <typename In, typename Out, typename Run>
Tool make_tool(const char* name, const char* title, const char* description, Run run) {
  Tool tool{name, title, description, {}, {}, {}};
  const auto schema = [](auto schema_of_record) {
    return [schema_of_record] {
      Json made = schema_of_record("tool", nullptr);
      for (const char* of_file : {"$schema", "$id", "title"}) made.erase(of_file);
      return made;
    };
  };
  tool.input_schema = schema(schema_of<In, Json>);
  tool.output_schema = schema(schema_of<Out, Json>);
  tool.run = [run](const Json& arguments, const Heartbeat& beat) -> Result<Json> {
    FATUNE_TRY(const In asked, from_json<In>(arguments, "arguments"));
    FATUNE_TRY(const Out answer, run(asked, beat));
    return to_json(answer);
  };
  return tool;
}

}  // namespace

Toolbox judge_tools(Referee& referee) {
  return {
      make_tool<ListProblems, ProblemList>(
          "list_problems", "List the problems",
          "Problems that kernels are judged at: id, sizes, element type, mask, least work.",
          [&referee](const ListProblems& asked, const Heartbeat&) -> Result<ProblemList> {
            return referee.problems().list(asked);
          }),
      make_tool<GetProblem, ProblemStatement>(
          "get_problem", "Read a problem",
          "What one problem asks: the formula, tensors with layouts, macros, the reference, the "
          "rules of accuracy with their reasons, the gates, and a plain kernel that shows how "
          "source and manifest are written. No inputs, seeds or expected values.",
          [&referee](const GetProblem& asked, const Heartbeat&) {
            return referee.problems().state(asked);
          }),
      make_tool<Submission, JudgedKernel>(
          "submit_kernel", "Submit a kernel",
          "Compiles a template with its manifest and runs it through the gates. Says which gate "
          "refused it, where and by how much. Without a GPU it is compiled only, and says so.",
          [&referee](const Submission& asked, const Heartbeat& beat) {
            return referee.judge(asked, beat);
          }),
      make_tool<AskHistory, History>(
          "history", "Read earlier judgements",
          "Judgements so far, the newest last: outcomes, gates, reasons, thoughts.",
          [&referee](const AskHistory& asked, const Heartbeat&) { return referee.history(asked); }),
  };
}

}  // namespace fatune
