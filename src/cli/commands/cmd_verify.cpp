// cmd_verify.cpp: Runs every gate on configs, or on kernels that cheat; exit 1 if a gate fails. Or
// keeps the outputs of one launch.
#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/commands/documents.hpp"
#include "cli/commands/tools.hpp"
#include "cli/options/catalog.hpp"
#include "cli/options/problems.hpp"
#include "cli/options/session.hpp"
#include "core/fields.hpp"
#include "core/text.hpp"
#include "tune/evaluate/selftest.hpp"

namespace fatune::cli {
namespace {

struct VerifyArgs {
  CommonArgs common;
  ChoiceArgs choice;
  std::string device = "auto";
  bool selftest = false;
  bool sanitize = false;
  std::string outputs;
};

Result<std::vector<VerifiedConfig>> verify_all(const Session& session) {
  FinalPlan gates_only;
  gates_only.rounds = 0;
  std::vector<VerifiedConfig> results;
  for (const Implementation& entry : session.chosen) {
    FATUNE_TRY_STATUS(begin_candidate(entry.candidate, *session.evaluator));
    FATUNE_TRY(auto records, session.evaluator->finals({entry}, gates_only));
    for (FinalRecord& record : records) results.push_back({entry.problem(), std::move(record)});
  }
  return results;
}

/// Word for a result. A config may pass every gate and fail under compute-sanitizer.
std::string result_word(const VerifiedConfig& result) {
  const FinalRecord& record = result.record;
  if (result.passed()) return record.recorded ? "passed then" : "passed";
  return record.outcome == Outcome::kMeasured ? "failed" : std::string(name(record.outcome));
}

/// Adds the verdicts of compute-sanitizer to results that passed the gates.
Status sanitize_all(const Session& session, const VerifyArgs& args, const Settings& settings,
                    std::vector<VerifiedConfig>& results) {
  FATUNE_TRY(const DeviceChoice device, choose_device(args.device));
  const DeviceLimits& limits = session.evaluator->environment().limits;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i].passed()) continue;
    FinalRecord& record = results[i].record;
    FATUNE_TRY(auto verdicts, sanitize(session.chosen[i].candidate, limits, device, settings));
    take_verdicts(std::move(verdicts), *record.verification);
  }
  return {};
}

std::string sanitizer_text(const std::vector<VerifiedConfig>& results) {
  std::string text;
  for (const VerifiedConfig& result : results) {
    if (!result.record.verification) continue;
    for (const ToolVerdict& verdict : result.record.verification->sanitizer) {
      text += label(result.problem) + " " + result.record.kernel + ": " + verdict.tool + " " +
              verdict.result + (verdict.reason.empty() ? "" : ": " + verdict.reason) + "\n";
    }
  }
  return text;
}

/// Table of results, with columns for the log-sum-exp and for fp8 if any result has them.
std::string results_text(const std::vector<VerifiedConfig>& results, const Paint& paint) {
  const auto any_has = [&](auto Verification::*errors) {
    return std::any_of(results.begin(), results.end(), [&](const VerifiedConfig& result) {
      return result.record.verification && (*result.record.verification.*errors).has_value();
    });
  };
  const bool lse = any_has(&Verification::lse), method = any_has(&Verification::method_l2);
  const bool recorded =
      std::any_of(results.begin(), results.end(),
                  [](const VerifiedConfig& result) { return result.record.recorded; });
  std::vector<Column> columns = {"problem",    "kernel",        "result",       ">margin",
                                 "worst rule", {">max abs", 1}, {">rel L2", 2}, ">gates"};
  if (lse) columns.emplace_back(">lse margin");
  if (method) columns.emplace_back(">method L2");
  Table table(std::move(columns));
  std::string reasons;
  for (const VerifiedConfig& result : results) {
    const Verification v = result.record.verification.value_or(Verification{});
    const auto checked = [&](std::string cell) {
      return result.record.verification ? std::move(cell) : std::string("-");
    };
    std::vector<std::string> cells = {label(result.problem),
                                      result.record.kernel,
                                      result_word(result),
                                      checked(fixed(v.margin, 2)),
                                      v.worst_rule,
                                      checked(fixed(v.max_abs_diff, 6)),
                                      checked(fixed(v.relative_l2, 6)),
                                      checked(fmt::to_string(v.gates.size()))};
    if (lse) cells.push_back(v.lse ? fixed(v.lse->margin, 4) : "-");
    if (method) cells.push_back(v.method_l2 ? fixed(*v.method_l2, 4) : "-");
    table.add(std::move(cells));
    if (!result.passed() && !result.record.reason.empty())
      reasons +=
          label(result.problem) + " " + result.record.kernel + ": " + result.record.reason + "\n";
  }
  reasons += sanitizer_text(results);
  return table.text(paint.columns()) + (reasons.empty() ? "" : paint.fitted(reasons)) +
         "margin is the worst value over its limit: below 1 passes\n" +
         (recorded ? "no gate ran here: the verdicts come from the recording\n" : "");
}

/// Subject of a self-test, which checks that each gate catches its kernel.
struct SelftestSubject {
  OperationRef operation = attention();
  std::optional<Problem> problem = {};  ///< problem of a declared operation
};

/// Attention, whose fixtures have their own problems; or the operation of --kernel, at --size or
/// its first typical problem.
Result<SelftestSubject> subject_of(const ChoiceArgs& choice, const Catalog& catalog) {
  if (!choice.config.empty())
    return usage_error("--selftest takes default configs; leave out --config");
  SelftestSubject subject;
  if (!choice.kernel.empty()) {
    FATUNE_TRY(const KernelRef kernel, find_kernel(catalog, choice.kernel));
    subject.operation = kernel->manifest.operation;
  }
  const DeclaredOperation* declared = subject.operation->declared();
  if (declared == nullptr) {
    if (choice.kernel.empty() && !names_problem(choice.problem)) return subject;
    return usage_error(
        "--selftest chooses attention's kernels and problems itself; leave out --kernel, --shape, "
        "--size and --suite, or name a kernel of an operation of your own (docs/own_kernel.md)");
  }
  ProblemArgs args = choice.problem;
  if (args.sizes.empty()) args.sizes = {describe(declared->typical.front())};
  FATUNE_TRY(const auto problems, resolve_problems(args, subject.operation));
  if (problems.size() > 1) return usage_error("--selftest takes one --size");
  subject.problem = problems.front().problem;
  return subject;
}

Status need_gpu(const std::string& option, const std::string& device) {
  FATUNE_TRY(const DeviceChoice choice, choose_device(device));
  if (choice.kind == DeviceChoice::Kind::kGpu) return {};
  const std::string what = option + " runs kernels, which needs a GPU";
  if (choice.fell_back) return environment_error(what + ", and there is no NVIDIA driver here");
  return usage_error(what + "; leave out --device " + device);
}

std::string yes_or_no(const SelftestRow& row) {
  if (row.outcome == "not_run") return "not run";
  return row.caught ? "yes" : "NO";
}

std::string selftest_text(const SelftestResult& result, const Paint& paint) {
  Table cheats({"kernel", "gate", "outcome", "caught", "reason"});
  for (const SelftestRow& row : result.cheats)
    cheats.add({row.kernel, row.gate, row.outcome, yes_or_no(row), row.reason});
  Table honest({"honest kernel", "problem", "outcome", "passed", "reason"});
  for (const SelftestRow& row : result.honest)
    honest.add({row.kernel, describe(row.problem), row.outcome, yes_or_no(row), row.reason});
  return cheats.text(paint.columns()) + "\n" + honest.text(paint.columns()) +
         (result.passed() ? "every cheat was caught by its gate, every honest kernel passed\n"
                          : "the gates do not hold on this machine: trust none of its results\n");
}

Result<int> selftest(const VerifyArgs& args, const Settings& settings) {
  if (args.sanitize)
    return usage_error("--selftest and --sanitize exclude each other; leave one out");
  FATUNE_TRY(auto catalog, load_catalog(settings));
  FATUNE_TRY(const SelftestSubject subject, subject_of(args.choice, catalog));
  FATUNE_TRY_STATUS(need_gpu("--selftest", args.device));
  FATUNE_TRY(const Session session,
             open_session(std::move(catalog), subject.operation, args.device, settings));
  FATUNE_TRY(const SelftestResult result, subject.problem
                                              ? run_selftest(session.catalog, *subject.problem,
                                                             session.reference, *session.evaluator)
                                              : run_selftest(session.catalog, *session.evaluator));
  const SelftestDocument document{settings.head, session.evaluator->environment(), result};
  print(settings.json ? dump_pretty(to_json(document)) : selftest_text(result, settings.paint));
  return result.passed() ? kDone : kAnswerIsNo;
}

/// Launches one config once, and keeps its outputs.
Result<int> launch_once(const VerifyArgs& args, const Settings& settings) {
  if (args.sanitize)
    return usage_error("--outputs and --sanitize exclude each other; leave one out");
  FATUNE_TRY_STATUS(need_gpu("--outputs", args.device));
  FATUNE_TRY(const DeviceChoice device, choose_device(args.device));
  FATUNE_TRY(Session session, open_session(args.choice, args.device, settings));
  if (session.chosen.size() != 1)
    return usage_error(
        fmt::format("--outputs takes one config at one problem, not {}", session.chosen.size()));
  const Candidate& candidate = session.chosen.front().candidate;
  FATUNE_TRY_STATUS(check_supported(candidate, *session.evaluator));
  OutputsDocument document{settings.head, session.evaluator->environment(), {}};
  session.evaluator.reset();  // frees the worker's memory
  FATUNE_TRY(document.files, keep_outputs(candidate, document.environment.limits, device.ordinal,
                                          args.outputs, settings));
  print(settings.json ? dump_pretty(to_json(document))
                      : "wrote " + join(document.files, "\nwrote ") + "\n");
  return kDone;
}

/// Exit code 1 if a config failed, 3 if a config was only unavailable.
int exit_code(const std::vector<VerifiedConfig>& results) {
  int code = kDone;
  for (const VerifiedConfig& result : results) {
    if (result.passed()) continue;
    if (result.record.outcome != Outcome::kUnavailable) return kAnswerIsNo;
    code = kEnvironment;
  }
  return code;
}

Result<int> verify(const VerifyArgs& args, const Settings& settings) {
  if (args.selftest && !args.outputs.empty())
    return usage_error("--selftest and --outputs exclude each other; leave one out");
  if (args.selftest) return selftest(args, settings);
  if (!args.outputs.empty()) return launch_once(args, settings);
  if (args.sanitize) FATUNE_TRY_STATUS(need_gpu("--sanitize", args.device));
  FATUNE_TRY(const Session session, open_session(args.choice, args.device, settings));
  FATUNE_TRY(auto results, verify_all(session));
  if (args.sanitize) FATUNE_TRY_STATUS(sanitize_all(session, args, settings, results));
  VerifyDocument document{settings.head, session.evaluator->environment(), results};
  document.head.recorded = document.environment.recorded;
  print(settings.json ? dump_pretty(to_json(document))
                      : session.with_notice(results_text(results, settings.paint)));
  return exit_code(results);
}

OptionTable verify_table(VerifyArgs& a) {
  const OptionTable gates = {{"Gates",
                              {{"--sanitize", &a.sanitize, "",
                                "Also run the config under compute-sanitizer, on a small problem"},
                               {"--selftest", &a.selftest, "",
                                "Check that the gates catch kernels that cheat or fail; with "
                                "--kernel, cheats at the custom operation of that kernel"}}}};
  const OptionTable launch = {{"Launch",
                               {{"--outputs", &a.outputs, "DIR",
                                 "Run no gate: launch one config once, and write each output to "
                                 "NAME.bin in this folder"}}}};
  return tables(
      {choice_table(a.choice), gates, launch, device_table(a.device), common_table(a.common)});
}

}  // namespace

Runner setup_verify(CLI::App& command) {
  return make_runner(command, verify_table, "fatune verify --config results/h200/mission/best.json",
                     verify);
}

}  // namespace fatune::cli
