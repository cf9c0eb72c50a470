// session.hpp - a choice of configs and a device, opened: what bench and verify start from.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/options/chosen.hpp"
#include "cli/options/settings.hpp"
#include "core/result.hpp"
#include "tune/evaluate/evaluator.hpp"

namespace fatune::cli {

struct Session {
  std::vector<KernelRef> catalog;
  std::vector<Implementation> chosen;
  KernelRef reference;
  std::unique_ptr<Evaluator> evaluator;
  bool fell_back = false;  ///< to the recording, as there is no driver
  std::string notice;      ///< of a recorded device: the first and last line; empty on a GPU
};
/// Without configs: for commands that choose otherwise. `operation`: what will be computed.
Result<Session> open_session(std::vector<KernelRef> catalog, const OperationRef& operation,
                             const std::string& device, const Settings& settings);
Result<Session> open_session(const ChoiceArgs& choice, const std::string& device,
                             const Settings& settings);
/// A kernel that cannot do the candidate's problem is a usage error with the reason.
Status check_supported(const Candidate& candidate, const Evaluator& evaluator);
/// Without a driver: an error unless the recording holds one of the problems.
Status need_recording(const Session& session, const std::vector<Problem>& problems);
/// Makes the device ready for the candidate's problem, which its kernel must support.
Status begin_candidate(const Candidate& candidate, Evaluator& evaluator);
/// Prints the text between the notices.
void print_with_notice(const Session& session, const std::string& text);

}  // namespace fatune::cli
