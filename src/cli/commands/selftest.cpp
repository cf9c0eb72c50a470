// selftest.cpp - what is to be tested, attention or a declared operation, to the rows of a
// self-test on a GPU.
#include "tune/evaluate/selftest.hpp"

#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/commands/documents.hpp"
#include "cli/options/catalog.hpp"
#include "cli/options/problems.hpp"
#include "cli/options/session.hpp"
#include "core/fields.hpp"
#include "out/text/table.hpp"

namespace fatune::cli {
namespace {

struct Subject {
  OperationRef operation = attention();
  std::optional<Problem> problem = {};  ///< of a declared operation
};

/// Attention, whose fixtures have problems of their own; or the operation of --kernel, at --size or
/// the first typical problem.
Result<Subject> subject_of(const ChoiceArgs& choice, const std::vector<KernelRef>& catalog) {
  if (!choice.config.empty())
    return usage_error("--selftest takes default configs; leave out --config");
  Subject subject;
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

Status need_gpu(const std::string& device) {
  FATUNE_TRY(const DeviceChoice choice, choose_device(device));
  if (choice.kind == DeviceChoice::Kind::kGpu) return {};
  if (choice.fell_back) {
    return environment_error(
        "--selftest runs kernels that cheat, which needs a GPU, and there is no NVIDIA driver "
        "here");
  }
  return usage_error("--selftest runs kernels that cheat, which needs a GPU; leave out --device " +
                     device);
}

std::string yes_or_no(const SelftestRow& row) {
  if (row.outcome == "not_run") return "not run";
  return row.caught ? "yes" : "NO";
}

std::string result_text(const SelftestResult& result, const Paint& paint) {
  Table cheats({{"kernel"}, {"gate"}, {"outcome"}, {"caught"}, {"reason"}});
  for (const SelftestRow& row : result.cheats)
    cheats.add({row.kernel, row.gate, row.outcome, yes_or_no(row), row.reason});
  Table honest({{"honest kernel"}, {"problem"}, {"outcome"}, {"passed"}, {"reason"}});
  for (const SelftestRow& row : result.honest)
    honest.add({row.kernel, describe(row.problem), row.outcome, yes_or_no(row), row.reason});
  return cheats.text(paint.columns()) + "\n" + honest.text(paint.columns()) +
         (result.passed() ? "every cheat was caught by its gate, every honest kernel passed\n"
                          : "the gates do not hold on this machine: trust none of its results\n");
}

}  // namespace

Result<int> selftest(const ChoiceArgs& choice, const std::string& device,
                     const Settings& settings) {
  FATUNE_TRY(auto catalog, load_catalog(settings));
  FATUNE_TRY(const Subject subject, subject_of(choice, catalog));
  FATUNE_TRY_STATUS(need_gpu(device));
  FATUNE_TRY(const Session session,
             open_session(std::move(catalog), subject.operation, device, settings));
  FATUNE_TRY(const SelftestResult result, subject.problem
                                              ? run_selftest(session.catalog, *subject.problem,
                                                             session.reference, *session.evaluator)
                                              : run_selftest(session.catalog, *session.evaluator));
  if (settings.json) {
    print_json(
        to_json(SelftestDocument{document_head(), session.evaluator->environment(), result}));
  } else {
    print(result_text(result, settings.paint));
  }
  return result.passed() ? kDone : kAnswerIsNo;
}

}  // namespace fatune::cli
