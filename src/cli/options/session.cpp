// session.cpp - resolves configs, opens the device, and prints around its notice.
#include "cli/options/session.hpp"

#include "cli/options/catalog.hpp"
#include "cli/options/device_choice.hpp"
#include "cli/output.hpp"
#include "core/text.hpp"

namespace fatune::cli {

Result<Session> open_session(std::vector<KernelRef> catalog, const OperationRef& operation,
                             const std::string& device, const Settings& settings) {
  Session session;
  FATUNE_TRY(const DeviceChoice chosen_device, choose_device(device));
  FATUNE_TRY(session.reference, reference_kernel(catalog, operation));
  FATUNE_TRY(session.evaluator,
             open_evaluator({chosen_device, session.reference, {}, 0, {}, catalog}, settings));
  session.fell_back = chosen_device.fell_back;
  const std::string notice = recorded_notice(chosen_device, session.evaluator->environment());
  session.notice = join(wrap(notice, settings.paint.columns()), "\n");
  session.catalog = std::move(catalog);
  return session;
}

Result<Session> open_session(const ChoiceArgs& choice, const std::string& device,
                             const Settings& settings) {
  FATUNE_TRY(auto catalog, load_catalog(settings));
  FATUNE_TRY(auto chosen, resolve_choice(choice, catalog));
  const OperationRef operation = chosen.front().candidate.kernel->manifest.operation;
  FATUNE_TRY(Session session, open_session(std::move(catalog), operation, device, settings));
  session.chosen = std::move(chosen);
  std::vector<Problem> problems;
  for (const Implementation& each : session.chosen) problems.push_back(each.candidate.problem);
  FATUNE_TRY_STATUS(need_recording(session, problems));
  return session;
}

Status check_supported(const Candidate& candidate, const Evaluator& evaluator) {
  const Manifest& manifest = candidate.kernel->manifest;
  FATUNE_TRY(const std::string reason,
             unsupported_reason(manifest, candidate.problem, evaluator.environment().limits));
  if (!reason.empty()) {
    return usage_error(manifest.name + " cannot do " + describe(candidate.problem) + ": " + reason);
  }
  return {};
}

Status need_recording(const Session& session, const std::vector<Problem>& problems) {
  if (!session.fell_back || problems.empty()) return {};
  Status missing;
  for (const Problem& problem : problems) {
    missing = session.evaluator->begin_problem(problem, {});
    if (missing) return {};
  }
  return no_driver(missing.error());
}

Status begin_candidate(const Candidate& candidate, Evaluator& evaluator) {
  FATUNE_TRY_STATUS(check_supported(candidate, evaluator));
  return evaluator.begin_problem(candidate.problem, {});
}

void print_with_notice(const Session& session, const std::string& text) {
  print(session.notice.empty() ? text : session.notice + "\n" + text + session.notice);
}

}  // namespace fatune::cli
