// ncu_run.cpp: Builds the command line of ncu, drops unknown metrics, and explains failures.
#include "tune/profile/ncu_run.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "core/file.hpp"
#include "core/lines.hpp"
#include "core/run_program.hpp"
#include "core/scratch_folder.hpp"
#include "core/text.hpp"

namespace fatune {
namespace {

constexpr int kAttempts = 4;  // chosen: ncu names one unknown metric per run, or all of them
constexpr const char* kParams = "/proc/driver/nvidia/params";

const std::vector<std::string> kPermissionRemedies = {
    "run fatune as root (sudo)", "in a container: start it with --cap-add=SYS_ADMIN",
    "for all users: `options nvidia NVreg_RestrictProfilingToAdminUsers=0` in /etc/modprobe.d, "
    "rebuild the initramfs, reboot",
    "see https://developer.nvidia.com/ERR_NVGPUCTRPERM; rented machines often cannot change it"};
const std::vector<std::string> kFailureRemedies = {
    "use the Nsight Compute of a CUDA toolkit at least as new as the GPU and its driver",
    "run with -v to see what ncu was asked"};

struct NcuText {
  ProgramRun output;
  std::string csv;  ///< the log file with table and messages; empty if there is none
  std::string messages() const { return output.text + "\n" + csv; }
};

Result<NcuText> run_once(const NcuRequest& request, const std::vector<std::string>& metrics) {
  FATUNE_TRY(const ScratchFolder folder, ScratchFolder::make());
  const auto csv = folder.path() / "ncu.csv";
  FATUNE_TRY(ProgramRun output, run_program({.program = request.ncu,
                                             .arguments = ncu_arguments(request, metrics, csv),
                                             .extra_environment = {"LC_ALL=C"}},
                                            request.patience));
  const auto text = read_file(csv, kLargeFile);
  return NcuText{std::move(output), text ? *text : std::string()};
}

/// The driver's access setting for counters; empty if unknown.
std::string driver_setting() {
  const auto params = read_file(kParams);
  const bool restricted = params && params->find("RmProfilingAdminOnly: 1") != std::string::npos;
  return restricted ? " (RmProfilingAdminOnly is 1)" : "";
}

/// Returns the first error, preferring the profiled program's to ncu's remark on the failure.
std::string first_error(const NcuText& text) {
  for (const std::string_view mark : {"fatune: error:", "==ERROR=="}) {
    for (const std::string& line : split(text.messages(), '\n')) {
      const std::size_t at = line.find(mark);
      if (at != std::string::npos) return std::string(trim(line.substr(at + mark.size())));
    }
  }
  return "";
}

NcuOutcome failed(const NcuText& text, std::string otherwise) {
  std::string reason = first_error(text);
  if (!text.output.end) {
    reason = "ncu did not come to an end";
  } else if (reason.empty() && !text.output.succeeded()) {
    const auto lines = split(std::string(trim(text.output.text)), '\n');
    reason = "ncu ended with " + describe(*text.output.end) + ": " + lines.back();
  } else if (reason.empty()) {
    reason = std::move(otherwise);
  }
  return {ProfileStatus::kFailed, std::move(reason), kFailureRemedies};
}

NcuOutcome denied() {
  return {
      ProfileStatus::kDenied,
      "ERR_NVGPUCTRPERM: the driver gives its counters to administrators only" + driver_setting(),
      kPermissionRemedies};
}

}  // namespace

std::string_view name(ProfileStatus status) {
  constexpr std::string_view kNames[] = {"profiled", "denied", "failed", "not_run"};
  return kNames[static_cast<std::size_t>(status)];
}

std::vector<std::string> ncu_arguments(const NcuRequest& request,
                                       const std::vector<std::string>& metrics,
                                       const std::filesystem::path& csv) {
  auto arguments = split("--csv --page raw --print-units base --log-file", ' ');
  arguments.push_back(csv.string());
  for (std::string& word : split("--kernel-name-base function --profile-from-start off "
                                 "--replay-mode kernel --cache-control all --clock-control none",
                                 ' '))
    arguments.push_back(std::move(word));
  if (!request.report.empty()) {
    // ncu appends the suffix and expands per cent signs.
    const std::filesystem::path stem = request.report.parent_path() / request.report.stem();
    arguments.insert(arguments.end(), {"--export", replaced(stem.string(), "%", "%%"),
                                       "--force-overwrite", "--set", "full"});
  }
  arguments.insert(arguments.end(), {"--metrics", join(metrics, ","), request.program.string()});
  arguments.insert(arguments.end(), request.arguments.begin(), request.arguments.end());
  return arguments;
}

std::vector<std::string> unknown_metrics(std::string_view messages) {
  constexpr std::string_view kComplaint = "Failed to find metric ";
  std::vector<std::string> names;
  for (const std::string_view line : Lines(messages)) {
    const std::size_t at = line.find(kComplaint);
    if (at == std::string::npos) continue;
    const std::string_view rest = line.substr(at + kComplaint.size());
    const std::string_view name = rest.substr(0, rest.find_first_of(" ,;\r"));
    if (!name.empty()) names.emplace_back(name);
  }
  return names;
}

Result<NcuOutcome> run_ncu(const NcuRequest& request) {
  std::vector<std::string> metrics = metric_names(request.arch);
  std::vector<std::string> dropped;
  NcuText text;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    FATUNE_TRY(text, run_once(request, metrics));
    if (text.messages().find("ERR_NVGPUCTRPERM") != std::string::npos) return denied();
    const auto table = parse_ncu_csv(text.csv, metrics);
    if (table) {
      NcuOutcome outcome{ProfileStatus::kProfiled, "", {}, dropped, table->launches};
      std::error_code none;
      if (std::filesystem::exists(request.report, none))
        outcome.report = request.report.filename().string();
      outcome.dropped.insert(outcome.dropped.end(), table->absent.begin(), table->absent.end());
      return outcome;
    }
    const std::size_t before = metrics.size();
    for (const std::string& unknown : unknown_metrics(text.messages())) {
      if (std::erase(metrics, unknown) > 0) dropped.push_back(unknown);
    }
    if (metrics.size() == before || metrics.empty()) return failed(text, table.error().message);
  }
  return failed(text, "ncu knows too few of the metrics");
}

NcuOutcome no_ncu() {
  return {ProfileStatus::kNotRun,
          "ncu is neither on PATH nor in a CUDA folder",
          {"install Nsight Compute: it is part of the CUDA toolkit (package cuda-nsight-compute), "
           "or comes by itself from developer.nvidia.com/nsight-compute"}};
}

}  // namespace fatune
