// tools.cpp: Defines the table of tools: argument record, result record and function.
#include "judge/tools.hpp"

#include <algorithm>
#include <iterator>

#include <nlohmann/json.hpp>

#include "core/fields.hpp"

namespace fatune {
namespace {

/// `run` takes an In and returns a Result of an Out. Fields that In lacks are refused by name.
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
    auto asked = from_json<In>(arguments, "arguments");
    if (!asked) return usage_error(asked.error().message);
    FATUNE_TRY(const Out answer, run(*asked, beat));
    return to_json(answer);
  };
  return tool;
}

Toolbox problem_tools(Referee& referee) {
  return {
      make_tool<ListProblems, ProblemList>(
          "list_problems", "List the problems",
          "Problems that kernels are judged at: id, sizes, element type, mask, least work; floors "
          "of "
          "physics on this device, and times of fatune's kernels, baselines and your best.",
          [&referee](const ListProblems& asked, const Heartbeat&) -> Result<ProblemList> {
            return referee.list(asked);
          }),
      make_tool<GetProblem, ProblemStatement>(
          "get_problem", "Read a problem",
          "What one problem asks: the formula, tensors with layouts, macros, the reference, the "
          "rules of accuracy with their reasons, the gates, and a plain kernel that shows how "
          "source and manifest are written. No inputs, seeds or expected values.",
          [&referee](const GetProblem& asked, const Heartbeat&) {
            return referee.problems().state(asked);
          }),
  };
}

/// Tools that use a compiler or a device take long and report progress.
Toolbox kernel_tools(Referee& referee) {
  return {
      make_tool<Submission, JudgedKernel>(
          "submit_kernel", "Submit a kernel",
          "Compiles a template with its manifest and runs it through the gates; modes rank and "
          "final time it, too, beside baselines. Says which gate refused it, where and by how "
          "much. Without a GPU it is compiled only, and says so.",
          [&referee](const Submission& asked, const Heartbeat& beat) {
            return referee.judge(asked, beat);
          }),
      make_tool<TuneKernel, TunedKernel>(
          "tune_kernel", "Tune a template",
          "Searches the values of a template's parameters within a budget, with every gate, and "
          "judges the best config as mode final does. Says what each parameter explains.",
          [&referee](const TuneKernel& asked, const Heartbeat& beat) {
            return referee.tune(asked, beat);
          }),
      make_tool<AskComparison, KernelComparison>(
          "compare", "Compare judged kernels",
          "Times kernels of one problem again, turn by turn in the same rounds: ratios to the "
          "first with their intervals.",
          [&referee](const AskComparison& asked, const Heartbeat& beat) {
            return referee.compare(asked, beat);
          }),
      make_tool<AskProfile, KernelProfile>(
          "profile_kernel", "Profile a judged kernel",
          "Hardware counters of one launch through ncu, the bottleneck, and what each figure "
          "means. Without ncu or a GPU it says so.",
          [&referee](const AskProfile& asked, const Heartbeat& beat) {
            return referee.profile(asked, beat);
          }),
      make_tool<AskExplanation, Explanation>(
          "explain_failure", "Explain a refusal",
          "Which gate refused a kernel, what it demands and why, where the output is wrong and by "
          "how much, region by region. No expected values, no inputs.",
          [&referee](const AskExplanation& asked, const Heartbeat&) {
            return referee.explain(asked);
          }),
  };
}

Toolbox record_tools(Referee& referee) {
  return {
      make_tool<AskHistory, History>(
          "history", "Read earlier judgements",
          "Judgements so far, the newest last: outcomes, gates, reasons, thoughts.",
          [&referee](const AskHistory& asked, const Heartbeat&) { return referee.history(asked); }),
      make_tool<AskLeaderboard, Leaderboard>(
          "leaderboard", "Read the leaderboard",
          "The fastest kernels of a problem that passed every gate, with times, ties and parents.",
          [&referee](const AskLeaderboard& asked, const Heartbeat&) {
            return referee.places(asked);
          }),
  };
}

}  // namespace

Toolbox judge_tools(Referee& referee) {
  Toolbox tools = problem_tools(referee);
  std::ranges::move(kernel_tools(referee), std::back_inserter(tools));
  std::ranges::move(record_tools(referee), std::back_inserter(tools));
  return tools;
}

}  // namespace fatune
