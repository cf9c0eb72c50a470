// device_evaluator.cpp: Evaluates candidates on a GPU: shares pool and workers among search and
// finals.
#include "tune/evaluate/device_evaluator.hpp"

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/utsname.h>

#include "core/fields.hpp"
#include "core/file.hpp"
#include "core/log.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "tune/evaluate/device_team.hpp"
#include "tune/evaluate/final_phase.hpp"
#include "tune/evaluate/pipeline.hpp"

namespace fatune {
namespace {

constexpr std::chrono::seconds kListPatience{60};
// Compile processes per likely candidate that a search names; chosen
// (docs/decisions/0016-compiling-ahead.md).
constexpr std::size_t kJobsForOneAhead = 2;

/// Describes the host without its name, such as "Linux 6.1.0, Intel(R) Xeon(R) ...".
std::string host_description() {
  utsname system{};
  std::string text =
      ::uname(&system) == 0 ? std::string(system.sysname) + " " + system.release : "unknown system";
  const auto cpuinfo = read_file("/proc/cpuinfo");
  const std::string model = cpuinfo ? cpu_model(*cpuinfo) : "";
  return model.empty() ? text : text + ", " + model;
}

class DeviceEvaluator : public Evaluator {
 public:
  DeviceEvaluator(const DeviceOptions& options, CompilePool pool, std::vector<TeamDevice> devices)
      : options_(options),
        pool_(std::move(pool)),
        team_(std::move(devices)),
        finals_worker_(make_process_link(options.ordinal, options.log_folder)) {}

  /// Waits for the hello of each worker.
  Status meet_devices() {
    FATUNE_TRY(helpers_, team_.hello(noter()));
    for (Environment& each : helpers_) add_host(each, pool_.compiler_version());
    environment_ = std::move(helpers_.front());
    helpers_.erase(helpers_.begin());
    FATUNE_TRY_STATUS(pool_.check_arch(environment_.limits.arch));
    const PipelineEvents events{
        [this](const StartedRecord& record) { return on_start ? on_start(record) : Status(); },
        noter(),
        [this](const CandidateRecord& record) {
          return on_early_result ? on_early_result(record) : Status();
        }};
    pipeline_.emplace(pool_, team_, environment_.limits, id_of(), events);
    return {};
  }

  const Environment& environment() const override { return environment_; }
  std::vector<Environment> helpers() const override { return helpers_; }

  Status begin_problem(const Problem& problem, const RunPlan& plan) override {
    drop_pending();
    problem_ = problem;
    plan_ = plan;
    FATUNE_TRY(pending_,
               request_problem(pool_, preparation(), problem, search_cases(problem, plan.seed)));
    team_.expect({problem, {}});
    pipeline_->begin(plan);
    return {};
  }

  Status expect(const std::vector<Implementation>& baselines) override {
    expected_ = {problem_, outside_programs(baselines)};
    for (const Implementation& each : baselines) {
      if (each.outside) continue;
      ahead_.push_back(pool_.submit(compile_request(each.candidate, environment_.limits)));
    }
    return {};
  }

  std::size_t capacity() const override {
    return options_.look_ahead > 0 ? options_.look_ahead : 2 * pool_.jobs();
  }

  Status submit(const Candidate& candidate) override { return pipeline_->submit(candidate); }
  void prepare(std::vector<Candidate> likely) override { pipeline_->prepare(std::move(likely)); }
  std::size_t worth_preparing() const override { return pool_.jobs() / kJobsForOneAhead; }
  Result<CandidateRecord> collect() override {
    if (Status begun = begin_devices(); !begun) {
      pipeline_->abandon();
      return std::move(begun).error();
    }
    return pipeline_->collect();
  }
  void remember(const Candidate& candidate, const CandidateRecord& record) override {
    pipeline_->remember(candidate, record);
  }

  Result<std::vector<FinalRecord>> finals(const std::vector<Implementation>& contestants,
                                          const FinalPlan& plan) override {
    end_search();  // nothing else runs beside the rounds
    if (const std::string summary = team_.summary(); !summary.empty()) log::info(summary);
    const FinalSetting setting{pool_, finals_worker_, preparation(), plan_, id_of(), noter()};
    auto records = run_final_phase(setting, problem_, plan, contestants);
    finals_worker_.dismiss();
    return records;
  }

  /// Also starts the next worker process, while the submitter prepares the next kernel.
  Result<std::vector<FinalRecord>> examine(const std::vector<Implementation>& contestants,
                                           const FinalPlan& plan) override {
    FATUNE_CHECK(!contestants.empty(), "something has to be examined");
    end_search();
    const Problem& problem = contestants.front().candidate.problem;
    const RunPlan run;
    const FinalSetting setting{pool_,   finals_worker_, preparation(), run,
                               id_of(), noter(),        on_errors};
    auto records = run_final_phase(setting, problem, plan, contestants);
    finals_worker_.end();
    // A process that does not start is started again when needed, and then reports why.
    static_cast<void>(finals_worker_.prepare({problem, {}}));
    return records;
  }

 private:
  /// Begins the pending problem on the devices. Preparation may run beside compilation and the
  /// opening of final-phase libraries, whereas a search has the device alone.
  Status begin_devices() {
    if (!pending_) return {};
    finals_worker_.end();
    if (expected_) FATUNE_TRY_STATUS(finals_worker_.prepare(*std::exchange(expected_, {})));
    FATUNE_TRY(const BeginOrder order, finish_pending());
    FATUNE_TRY_STATUS(team_.begin(order, noter()));
    if (!finals_worker_.settle(noter())) finals_worker_.end();  // it restarts when needed
    return {};
  }

  Result<BeginOrder> finish_pending() {
    return finish_problem(pool_, *std::exchange(pending_, std::nullopt));
  }

  /// Abandons a problem that no candidate needed. Compiled code stays in the cache, and failures
  /// show when the code is needed.
  void drop_pending() {
    if (pending_) static_cast<void>(finish_pending().operator bool());
    expected_.reset();
    for (const Ticket ticket : std::exchange(ahead_, {})) pool_.cancel(ticket);
  }

  void end_search() {
    drop_pending();
    pipeline_->end_preparations();
    team_.end();
  }

  PreparationSetting preparation() const {
    return {options_.reference, environment_.limits, options_.kernel_deadline_s};
  }

  IdOf id_of() const {
    return [this](const Candidate& candidate) {
      return candidate_id(candidate, id_options(environment_.limits.arch,
                                                pool_.compiler_identity(*candidate.kernel)));
    };
  }

  /// An empty phase means that the previous phase continues.
  Note noter() {
    return [this](std::string_view phase) {
      if (!phase.empty()) phase_ = phase;
      if (on_progress) on_progress(phase_);
    };
  }

  DeviceOptions options_;
  CompilePool pool_;
  DeviceTeam team_;             ///< measures the search
  DeviceWorker finals_worker_;  ///< a fresh process, without state of the search
  Environment environment_;
  std::vector<Environment> helpers_;
  std::string phase_ = "starting";
  std::optional<Pipeline> pipeline_;
  std::optional<PendingProblem> pending_;  ///< the begun problem, until the devices have it
  /// Announcement of the final phase, until the devices have it.
  std::optional<ExpectOrder> expected_;
  std::vector<Ticket> ahead_;  ///< compilations of the baselines of the final phase
  Problem problem_;
  RunPlan plan_;
};

/// Opens the workers of the search, home's first.
Result<std::vector<TeamDevice>> start_workers(const DeviceOptions& options) {
  std::vector<int> ordinals = {options.ordinal};
  ordinals.insert(ordinals.end(), options.helpers.begin(), options.helpers.end());
  std::vector<TeamDevice> devices;
  for (const int ordinal : ordinals) {
    std::unique_ptr<WorkerLink> link = make_process_link(ordinal, options.log_folder);
    FATUNE_TRY_STATUS(link->start());
    devices.push_back(
        {fmt::format("cuda:{}", ordinal), std::make_unique<DeviceWorker>(std::move(link))});
  }
  return devices;
}

/// Asks a worker that opens no device, then ends the worker.
template <typename Reply>
Result<Reply> ask_once(const Json& order) {
  const std::unique_ptr<WorkerLink> link = make_process_link(std::nullopt, {});
  FATUNE_TRY_STATUS(link->start());
  return ask_for<Reply>(*link, order, kListPatience, nullptr);
}

}  // namespace

std::string cpu_model(const std::string& cpuinfo) {
  for (const std::string& line : split(cpuinfo, '\n')) {
    const std::size_t colon = line.find(':');
    if (line.starts_with("model name") && colon != std::string::npos)
      return std::string(trim(line.substr(colon + 1)));
  }
  return "";
}

void add_host(Environment& environment, const std::string& nvrtc) {
  environment.nvrtc = nvrtc;
  environment.fatune = FATUNE_VERSION;
  environment.host = host_description();
  environment.cpu_cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

Result<std::unique_ptr<Evaluator>> open_device_evaluator(const DeviceOptions& options) {
  if (!options.reference)
    return usage_error("no kernel of the role 'reference': nothing can be checked");
  if (!options.log_folder.empty()) FATUNE_TRY_STATUS(make_directories(options.log_folder));
  // The driver's start-up and the compiler's overlap.
  FATUNE_TRY(std::vector<TeamDevice> devices, start_workers(options));
  FATUNE_TRY(CompilePool pool, CompilePool::start(options.pool));
  auto evaluator = std::make_unique<DeviceEvaluator>(options, std::move(pool), std::move(devices));
  FATUNE_TRY_STATUS(evaluator->meet_devices());
  return std::unique_ptr<Evaluator>(std::move(evaluator));
}

Result<std::vector<ListedDevice>> list_devices() {
  FATUNE_TRY(DevicesReply reply, ask_once<DevicesReply>(to_json(ListOrder{})));
  for (ListedDevice& each : reply.devices) add_host(each, "");
  return std::move(reply.devices);
}

Result<std::vector<Availability>> list_implementations(const OutsideOptions& options) {
  FATUNE_TRY(AvailabilityReply reply,
             ask_once<AvailabilityReply>(to_json(AvailabilityOrder{options})));
  return std::move(reply.implementations);
}

}  // namespace fatune
