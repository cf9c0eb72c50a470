// cmd_judge.cpp - problems and a client on stdin and stdout to a judge that serves until the client
// goes.
#include <filesystem>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/commands.hpp"
#include "cli/options/problems.hpp"
#include "core/descriptor.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "judge/protocol/server.hpp"
#include "judge/tools.hpp"

namespace fatune::cli {
namespace {

struct JudgeArgs {
  CommonArgs common;
  ProblemArgs problem;
  bool jsonl = false;
};

/// Those of --shape or --suite; else of every suite that fatune has.
Result<std::vector<BookedProblem>> booked_problems(const ProblemArgs& args) {
  if (names_problem(args)) {
    FATUNE_TRY(const auto problems, resolve_problems(args));
    return book(std::filesystem::path(args.suite).stem(), problems);
  }
  FATUNE_TRY_STATUS(refuse_companions(args, "the suites that are judged without --shape"));
  std::vector<BookedProblem> all;
  for (const std::string& name : suite_names()) {
    FATUNE_TRY(const Suite suite, load_suite(name));
    for (BookedProblem& each : book(suite.name, suite.problems)) all.push_back(std::move(each));
  }
  return all;
}

Status write_line(std::string_view line) {
  Descriptor out(::dup(STDOUT_FILENO));
  const int reason = write_all(out, std::string(line) + "\n");
  return reason == 0 ? Status() : system_failure("stdout", "write an answer", reason);
}

Result<int> judge(const JudgeArgs& args, const Settings&) {
  if (args.common.json) return usage_error("judge: --json is for one document; try --jsonl");
  FATUNE_TRY(std::vector<BookedProblem> booked, booked_problems(args.problem));
  log::info(fmt::format("judging {}, {} on stdin and stdout", counted(booked.size(), "problem"),
                        args.jsonl ? "JSON lines" : "MCP"));
  const ProblemBook problems(std::move(booked));
  const Toolbox tools = judge_tools(problems);
  const auto dialect = args.jsonl ? make_json_lines(tools) : make_mcp(tools);
  Server server(*dialect, STDIN_FILENO, write_line);
  FATUNE_TRY_STATUS(server.run());
  return kDone;
}

OptionTable judge_table(JudgeArgs& a) {
  const OptionTable own = {{"Client",
                            {{"--jsonl", &a.jsonl, "",
                              "Plain JSON lines in place of MCP, the Model Context Protocol"}}}};
  return tables({own, problem_table(a.problem), common_table(a.common)});
}

}  // namespace

Runner setup_judge(CLI::App& command) {
  return make_runner(command, judge_table,
                     "echo '{\"tool\": \"list_problems\"}' | fatune judge --jsonl", judge);
}

}  // namespace fatune::cli
