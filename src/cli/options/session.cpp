// session.cpp: Opens the evaluator of a GPU or of a recording.
#include "cli/options/session.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "cli/options/catalog.hpp"
#include "core/embedded.hpp"
#include "core/gzip.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "model/results/journal.hpp"
#include "tune/evaluate/device_evaluator.hpp"

namespace fatune::cli {
namespace {

bool driver_present() {
  return static_cast<bool>(gpu::Library::open({"libcuda.so.1", "libcuda.so"}));
}

Result<Journal> load_recording(const std::string& file) {
  FATUNE_TRY(const std::filesystem::path journal, find_results(file));
  return load_journal(journal);
}

Result<Journal> load_shipped(const EmbeddedFile& file) {
  const std::string where(file.path);
  FATUNE_TRY(const std::string text, gunzip(file.text, where));
  return parse_journal(text, where);
}

/// A recording that answers, and what it knows of the requested problems.
struct Recorded {
  std::unique_ptr<Evaluator> evaluator;
  std::size_t held = 0;  ///< number of requested problems that it holds
  Status last;           ///< why it does not hold one of the others
};

Result<Recorded> make_recorded(Result<Journal> journal, const OpenRequest& request) {
  if (!journal) return std::move(journal).error();
  Recorded recorded;
  FATUNE_TRY(recorded.evaluator,
             make_recorded_evaluator(std::move(journal->header.environment),
                                     std::move(journal->records), request.catalog));
  for (const NamedProblem& named : request.problems) {
    const Status begun = recorded.evaluator->begin_problem(named.problem, {});
    if (begun) ++recorded.held;
    if (!begun) recorded.last = begun;
  }
  return recorded;
}

/// Opens the shipped recording that holds most of the problems; of equals the first, unless none
/// holds any.
Result<Recorded> choose_shipped(const OpenRequest& request) {
  std::optional<Recorded> best;
  for (const EmbeddedFile& file : embedded_recorded_files()) {
    FATUNE_TRY(Recorded next, make_recorded(load_shipped(file), request));
    if (!best || next.held > best->held || best->held == 0) best = std::move(next);
    if (best->held == request.problems.size()) return *std::move(best);
  }
  if (best) return *std::move(best);
  return environment_error("this build ships no recorded device; name one: --device recorded:FILE");
}

Result<std::unique_ptr<Evaluator>> open_recorded(const OpenRequest& request) {
  const std::string& file = request.device.recording;
  FATUNE_TRY(Recorded recorded,
             file.empty() ? choose_shipped(request) : make_recorded(load_recording(file), request));
  if (recorded.held > 0 || recorded.last) return std::move(recorded.evaluator);
  return request.device.fell_back ? no_driver(recorded.last.error())
                                  : environment_error(recorded.last.error().message);
}

bool is_uuid(const std::string& word) { return word.starts_with("GPU-"); }
bool names_gpu(const std::string& word) { return is_uuid(word) || word.starts_with("cuda:"); }

/// Splits "cuda:0,2" into cuda:0 and cuda:2. Commas in file names stay.
std::vector<std::string> words_of_list(const std::string& text) {
  std::vector<std::string> words;
  for (const std::string& piece : split(text, ',')) {
    const bool names_one = names_gpu(piece) || piece.starts_with("recorded");
    const bool number = parse_integer(piece).has_value();
    if (names_one || words.empty()) {
      words.push_back(piece);
    } else if (number && words.back().starts_with("cuda:")) {
      words.push_back("cuda:" + piece);
    } else {
      words.back() += "," + piece;
    }
  }
  return words;
}

/// Returns the canonical name of a GPU, "cuda:2", for a UUID or for "cuda:02".
Result<std::string> by_name(const std::string& word, const std::vector<ListedDevice>& here) {
  if (!is_uuid(word)) {
    FATUNE_TRY(const DeviceChoice choice, choose_device(word));
    return names_gpu(word) ? fmt::format("cuda:{}", choice.ordinal) : word;
  }
  for (std::size_t i = 0; i < here.size(); ++i) {
    if (here[i].device_uuid == word) return fmt::format("cuda:{}", i);
  }
  return usage_error("--device: no GPU of this machine has the UUID " + word +
                     "; `fatune devices --json` lists UUIDs");
}

/// Refuses GPUs beside recordings: one table cannot hold times of both.
Status check_unmixed(const std::vector<std::string>& words) {
  const auto gpu = std::ranges::find_if(words, names_gpu);
  const auto other = std::ranges::find_if_not(words, names_gpu);
  if (gpu == words.end() || other == words.end()) return {};
  return usage_error("--device names " + *gpu + " beside " + *other +
                     ": name GPUs alone, or recordings alone");
}

/// Returns the GPUs fit for final phases. Warns about each GPU that it leaves out.
Result<std::vector<std::string>> fit_gpus(const std::vector<ListedDevice>& here) {
  std::vector<std::string> fit, unfit;
  for (std::size_t i = 0; i < here.size(); ++i) {
    const std::string device = fmt::format("cuda:{}", i);
    if (here[i].unfit.empty()) {
      fit.push_back(device);
    } else {
      unfit.push_back(device + ", " + here[i].unfit);
    }
  }
  if (fit.empty() && !unfit.empty())
    return environment_error("--device cuda:all: no GPU is fit for final phases: " +
                             join(unfit, "; "));
  for (const std::string& each : unfit) log::warn("not fit for final phases, left out: " + each);
  return fit;
}

/// Refuses a named GPU that is not fit for final phases.
Status check_fit(const std::vector<std::string>& devices, const std::vector<ListedDevice>& here) {
  for (std::size_t i = 0; i < here.size(); ++i) {
    const std::string device = fmt::format("cuda:{}", i);
    if (here[i].unfit.empty() || std::ranges::count(devices, device) == 0) continue;
    return environment_error("--device: " + device + " is not fit for final phases, " +
                             here[i].unfit + "; leave it out, or wait");
  }
  return {};
}

/// Requires each GPU once and GPUs of one kind, because one table holds their times.
Status check_alike(const std::vector<std::string>& devices, const std::vector<ListedDevice>& here) {
  const Environment* first = nullptr;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (!devices[i].starts_with("cuda:")) continue;
    if (std::count(devices.begin(), devices.end(), devices[i]) > 1)
      return usage_error("--device names " + devices[i] + " twice; name each GPU once");
    FATUNE_TRY(const DeviceChoice choice, choose_device(devices[i]));
    const auto ordinal = static_cast<std::size_t>(choice.ordinal);
    if (ordinal >= here.size()) {
      return usage_error(fmt::format("--device: there is no {}, only {}", devices[i],
                                     counted(here.size(), "GPU")));
    }
    if (first == nullptr) first = &here[ordinal];
    if (first->device_name == here[ordinal].device_name) continue;
    return usage_error(fmt::format("--device: {} is {}, and {} is {}: name GPUs of one kind",
                                   devices.front(), first->device_name, devices[i],
                                   here[ordinal].device_name));
  }
  return {};
}

}  // namespace

Result<DeviceChoice> choose_device(const std::string& text) {
  DeviceChoice choice;
  if (text == "auto") {
    if (driver_present()) return choice;
    choice.kind = DeviceChoice::Kind::kRecorded;
    choice.fell_back = true;
    return choice;
  }
  if (text == "recorded" || text.starts_with("recorded:")) {
    choice.kind = DeviceChoice::Kind::kRecorded;
    choice.recording = text == "recorded" ? "" : text.substr(9);
    return choice;
  }
  const auto ordinal = text.starts_with("cuda:") ? parse_integer(text.substr(5)) : std::nullopt;
  if (!ordinal || *ordinal < 0 || *ordinal > 1023) {
    return usage_error("--device: '" + text + "' is not auto, cuda:N, recorded or recorded:FILE");
  }
  choice.ordinal = static_cast<int>(*ordinal);
  return choice;
}

std::string name_of(const DeviceChoice& choice) {
  if (choice.kind == DeviceChoice::Kind::kGpu) return fmt::format("cuda:{}", choice.ordinal);
  return choice.recording.empty() ? "recorded" : "recorded:" + choice.recording;
}

Result<std::vector<std::string>> choose_devices(const std::string& text) {
  return choose_devices(text, list_devices);
}

Result<std::vector<std::string>> choose_devices(const std::string& text, const ListDevices& list) {
  const bool all = text == "cuda:all";
  const std::vector<std::string> words = words_of_list(text);
  if (words.size() < 2 && !all && !is_uuid(text)) {
    if (choose_device(text)) return std::vector{text};
    return usage_error(
        "--device: '" + text +
        "' is not auto, cuda:N, GPU-UUID, recorded or recorded:FILE, several of these "
        "with commas, or cuda:all");
  }
  FATUNE_TRY_STATUS(check_unmixed(words));
  std::vector<ListedDevice> here;
  if (names_gpu(words.front())) {
    FATUNE_TRY(here, list());
  }
  std::vector<std::string> devices;
  if (all) {
    FATUNE_TRY(devices, fit_gpus(here));
  }
  for (std::size_t i = 0; !all && i < words.size(); ++i) {
    FATUNE_TRY(std::string device, by_name(words[i], here));
    devices.push_back(std::move(device));
  }
  FATUNE_TRY_STATUS(check_alike(devices, here));
  if (devices.size() > 1) FATUNE_TRY_STATUS(check_fit(devices, here));
  return devices;
}

Status check_device(const DeviceChoice& choice) {
  if (choice.kind == DeviceChoice::Kind::kRecorded) {
    if (choice.recording.empty()) return {};
    const auto recording = load_recording(choice.recording);
    return recording ? Status() : Status(recording.error());
  }
  FATUNE_TRY(const std::vector<ListedDevice> here, list_devices());
  return check_alike({fmt::format("cuda:{}", choice.ordinal)}, here);
}

Result<std::unique_ptr<Evaluator>> open_evaluator(const OpenRequest& request,
                                                  const Settings& settings) {
  if (request.device.kind == DeviceChoice::Kind::kRecorded) return open_recorded(request);
  if (asks_for_blocking_launches())
    log::warn("CUDA_LAUNCH_BLOCKING is ignored: fatune times launches that do not wait");
  DeviceOptions options;
  options.ordinal = request.device.ordinal;
  for (const DeviceChoice& helper : request.helpers) options.helpers.push_back(helper.ordinal);
  options.pool = pool_options(settings, request.jobs);
  options.log_folder = request.log_folder;
  options.reference = request.reference;
  return open_device_evaluator(options);
}

Error no_driver(const Error& missing) {
  return environment_error(
      "no NVIDIA driver here, and " + missing.message +
      ". Without a GPU: `fatune compile` compiles any problem, `fatune inspect` shows "
      "its configs, and report, replay and export read results of other machines");
}

std::string recorded_notice(const DeviceChoice& choice, const Environment& environment) {
  if (choice.kind == DeviceChoice::Kind::kGpu) return "";
  return fmt::format(
      "recorded device: {}every number was measured earlier on one {} (driver {}, NVRTC {}), none "
      "on this machine",
      choice.fell_back ? "no NVIDIA driver here: " : "", environment.device_name,
      environment.driver, environment.nvrtc);
}

Result<Session> open_session(Catalog catalog, const OperationRef& operation,
                             const std::string& device, const Settings& settings,
                             const std::vector<NamedProblem>& problems) {
  Session session;
  FATUNE_TRY(const DeviceChoice chosen_device, choose_device(device));
  FATUNE_TRY(session.reference, reference_kernel(catalog, operation));
  const OpenRequest request{chosen_device, session.reference, {}, 0, problems, catalog};
  FATUNE_TRY(session.evaluator, open_evaluator(request, settings));
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
  std::vector<NamedProblem> named;
  for (const Implementation& each : chosen) named.push_back({"", each.candidate.problem});
  FATUNE_TRY(Session session, open_session(std::move(catalog), operation, device, settings, named));
  session.chosen = std::move(chosen);
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

Status begin_candidate(const Candidate& candidate, Evaluator& evaluator) {
  FATUNE_TRY_STATUS(check_supported(candidate, evaluator));
  return evaluator.begin_problem(candidate.problem, {});
}

OpenCompilers compiler_opener(const Settings& settings) {
  return [&settings]() -> Result<Compilers> {
    FATUNE_TRY(CompilePool started, open_pool(settings));
    auto pool = std::make_unique<CompilePool>(std::move(started));
    const CompilePool& asked = *pool;
    return Compilers{std::move(pool),
                     [&asked](const Kernel& kernel) { return asked.compiler_identity(kernel); }};
  };
}

std::string between_notices(const std::string& notice, const std::string& text) {
  return notice.empty() ? text : notice + "\n" + text + notice;
}

std::string Session::with_notice(const std::string& text) const {
  return between_notices(notice, text);
}

}  // namespace fatune::cli
