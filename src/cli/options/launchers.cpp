// launchers.cpp: Reads the variables of Slurm, Kubernetes and MPI's launchers, and assigns a host's
// devices to its ranks.
#include "cli/options/launchers.hpp"

#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include "core/file.hpp"
#include "core/text.hpp"
#include "tune/evaluate/device_evaluator.hpp"
#include "tune/sweep/finals.hpp"

namespace fatune::cli {
namespace {

constexpr std::int64_t kMostShards = 100'000;  // chosen
constexpr const char* kArrayTask = "SLURM_ARRAY_TASK_ID";

/// Reads a number from a scheduler's variable. Returns nothing if the variable is not set.
Result<std::optional<std::int64_t>> number_in(const char* name, const ReadVariable& variable) {
  const std::string text = variable(name);
  if (text.empty()) return std::optional<std::int64_t>();
  FATUNE_TRY(const std::int64_t number, whole_number(name, text, 0, 1'000'000'000));
  return std::optional(number);
}

/// Index of a process in its job, from 0, and the number of processes where a variable gives it.
struct RankInJob {
  std::string variable;
  std::int64_t index = 0;
  std::optional<std::int64_t> count;
};

/// Refuses an array with gaps: an array that lists its tasks may leave some out.
Status check_no_gaps(std::int64_t first, std::int64_t stride, std::optional<std::int64_t> count,
                     const ReadVariable& variable) {
  FATUNE_TRY(const auto last, number_in("SLURM_ARRAY_TASK_MAX", variable));
  if (!last || !count || *last < first || (*last - first) / stride + 1 == *count) return {};
  return usage_error(fmt::format(
      "--shard auto: an array from {} to {} by {} has {}, but SLURM_ARRAY_TASK_COUNT is {}; name "
      "the part with --shard I/N, or submit an array without gaps: --array=0-{}",
      first, *last, stride, counted(static_cast<std::size_t>((*last - first) / stride + 1), "task"),
      *count, std::max<std::int64_t>(1, *count) - 1));
}

Result<RankInJob> place_in_array(std::int64_t id, const ReadVariable& variable) {
  FATUNE_TRY(const auto count, number_in("SLURM_ARRAY_TASK_COUNT", variable));
  FATUNE_TRY(const auto least, number_in("SLURM_ARRAY_TASK_MIN", variable));
  FATUNE_TRY(const auto step, number_in("SLURM_ARRAY_TASK_STEP", variable));
  FATUNE_TRY(const auto processes, number_in("SLURM_NTASKS", variable));
  if (processes.value_or(1) > 1) {
    return usage_error(
        "--shard auto: this is an array of jobs with several tasks each (SLURM_NTASKS is " +
        std::to_string(*processes) + "); name the part with --shard I/N");
  }
  const std::int64_t first = least.value_or(0);
  if (first > 1) {
    return usage_error(
        fmt::format("--shard auto: the array begins at {}, so it is a part of another array; name "
                    "the part with --shard I/N",
                    first));
  }
  const std::int64_t stride = std::max<std::int64_t>(1, step.value_or(1));
  if (id < first || (id - first) % stride != 0)
    return usage_error(fmt::format(
        "--shard auto: {} is {}, in an array from {} by {}; name the part with --shard I/N",
        kArrayTask, id, first, stride));
  FATUNE_TRY_STATUS(check_no_gaps(first, stride, count, variable));
  return RankInJob{kArrayTask, (id - first) / stride, count};
}

Result<RankInJob> place_in_job(const ReadVariable& variable) {
  FATUNE_TRY(const auto task, number_in(kArrayTask, variable));
  if (task) return place_in_array(*task, variable);
  FATUNE_TRY(const auto process, number_in("SLURM_PROCID", variable));
  if (process) {
    FATUNE_TRY(const auto processes, number_in("SLURM_NTASKS", variable));
    return RankInJob{"SLURM_PROCID", *process, processes};
  }
  FATUNE_TRY(const auto pod, number_in("JOB_COMPLETION_INDEX", variable));
  if (pod) return RankInJob{"JOB_COMPLETION_INDEX", *pod, std::nullopt};
  return usage_error(
      "--shard auto: none of SLURM_ARRAY_TASK_ID, SLURM_PROCID and JOB_COMPLETION_INDEX is set; "
      "name the part with --shard I/N");
}

Result<ShardChoice> automatic(std::optional<std::int64_t> of, const ReadVariable& variable) {
  FATUNE_TRY(const RankInJob place, place_in_job(variable));
  if (of && place.count && *of != *place.count) {
    return usage_error(
        fmt::format("--shard auto/{}: {} is one of {}", *of, place.variable, *place.count));
  }
  if (!of && place.variable == kArrayTask && place.count == 1) {
    return usage_error(
        "--shard auto: SLURM_ARRAY_TASK_COUNT is 1, as after one task of an array was resubmitted "
        "alone; name the part with --shard I/N, or take all problems with auto/1");
  }
  if (!of) of = place.count;
  if (!of) {
    return usage_error(
        fmt::format("--shard auto: no variable beside {} gives the number of parts; give it with "
                    "--shard auto/N",
                    place.variable));
  }
  if (place.index >= *of) {
    return usage_error(fmt::format("--shard auto: {} is {} of {}, counted from 0", place.variable,
                                   place.index, *of));
  }
  return ShardChoice{static_cast<std::uint64_t>(place.index + 1), static_cast<std::uint64_t>(*of)};
}

constexpr double kSilence_s = 30;  // chosen: far above any pause of a file system or a scheduler

int ranks_in(const char* name, const ReadVariable& variable) {
  const auto number = parse_integer(variable(name));
  return number && *number > 1 && *number < 1'000'000 ? static_cast<int>(*number) : 1;
}

/// Cores of this process: mpirun binds each of two ranks to one core.
std::int64_t usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return std::thread::hardware_concurrency();
  return CPU_COUNT(&set);
}

Result<Environment> environment_of(const DeviceChoice& choice, const Settings& settings) {
  if (choice.kind == DeviceChoice::Kind::kRecorded) {
    FATUNE_TRY(const auto evaluator, open_evaluator({choice, nullptr, {}, 0, {}, {}}, settings));
    return evaluator->environment();
  }
  FATUNE_TRY(std::vector<ListedDevice> here, list_devices());
  const auto ordinal = static_cast<std::size_t>(choice.ordinal);
  if (ordinal >= here.size())
    return usage_error(fmt::format("--device: there is no cuda:{}, only {}", ordinal,
                                   counted(here.size(), "GPU")));
  if (!here[ordinal].unfit.empty())
    return environment_error(
        fmt::format("cuda:{} is not fit for final phases, {}", ordinal, here[ordinal].unfit));
  FATUNE_TRY(const CompilePool pool, open_pool(settings, 1));
  add_host(here[ordinal], pool.compiler_version());
  return here[ordinal];
}

Result<std::vector<RankDevice>> find_devices(const std::string& device, const LocalRank& local,
                                             const Settings& settings) {
  FATUNE_TRY(const auto names, devices_of_rank(device, local, environment, list_devices));
  std::vector<RankDevice> devices;
  for (const std::string& name : names) {
    FATUNE_TRY(const DeviceChoice choice, choose_device(name));
    FATUNE_TRY(Environment environment, environment_of(choice, settings));
    devices.push_back({name, std::move(environment)});
  }
  return devices;
}

}  // namespace

Result<std::optional<Shard>> resolve_shard(const std::string& text, const RunPlan& plan) {
  if (text.empty()) return std::optional<Shard>();
  if (plan.objective == Objective::kScore)
    return usage_error(
        "--shard does not work with --objective score: no journal keeps the hardware counters of "
        "scores");
  FATUNE_TRY(const ShardChoice choice, parse_shard(text, environment));
  FATUNE_TRY(Shard shard, deal(plan.problems, choice.number, choice.of));
  return std::optional(std::move(shard));
}

Result<ShardChoice> parse_shard(const std::string& text, const ReadVariable& variable) {
  if (text == "auto") return automatic(std::nullopt, variable);
  const Error wrong =
      usage_error("--shard: '" + text + "' is not I/N (2/4 is the second of four), auto or auto/N");
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) return wrong;
  const auto of = parse_integer(std::string_view(text).substr(slash + 1));
  if (!of || *of < 1 || *of > kMostShards) return wrong;
  if (text.starts_with("auto/")) return automatic(of, variable);
  const auto number = parse_integer(std::string_view(text).substr(0, slash));
  if (!number || *number < 1 || *number > *of) return wrong;
  return ShardChoice{static_cast<std::uint64_t>(*number), static_cast<std::uint64_t>(*of)};
}

int launched_ranks(const ReadVariable& variable) {
  int ranks = std::max(ranks_in("OMPI_COMM_WORLD_SIZE", variable), ranks_in("PMI_SIZE", variable));
  // Without PMIx the tasks of a step know nothing of each other.
  if (!variable("PMIX_RANK").empty())
    ranks = std::max(ranks, ranks_in("SLURM_STEP_NUM_TASKS", variable));
  return ranks;
}

Result<std::vector<std::string>> devices_of_rank(const std::string& device, const LocalRank& local,
                                                 const ReadVariable& variable,
                                                 const ListDevices& list) {
  if (device != "auto") return choose_devices(device, list);
  FATUNE_TRY(const auto here, list());
  if (here.size() == 1) return std::vector<std::string>{"cuda:0"};
  const auto of_task = parse_integer(variable("SLURM_GPUS_PER_TASK"));
  if (of_task && *of_task == static_cast<std::int64_t>(here.size()))
    return choose_devices("cuda:all", list);
  if (local.number < here.size()) return std::vector{fmt::format("cuda:{}", local.number)};
  return environment_error(
      fmt::format("{} of the host belong to its first ranks; start one rank a GPU",
                  counted(here.size(), "GPU")));
}

Result<double> rank_silence(const ReadVariable& variable) {
  const std::string text = variable("FATUNE_SILENCE");
  if (text.empty()) return kSilence_s;
  const auto seconds = parse_number(text);
  if (seconds && *seconds >= 2 && *seconds <= 86400) return *seconds;
  return usage_error("FATUNE_SILENCE is '" + text + "'; set it to seconds from 2 to 86400");
}

std::vector<std::filesystem::path> mpi_plugin_places() {
  const std::filesystem::path program = executable_path(), bin = program.parent_path();
  std::vector<std::filesystem::path> places;
  for (const auto& place : {bin, bin / ".." / FATUNE_LIBRARY_FOLDER / "fatune"}) {
    if (is_trusted(place, program)) places.push_back(place.lexically_normal());
  }
  return places;
}

LocalRank local_rank(const Transport& transport) {
  LocalRank local{0, 0};
  for (int rank = 0; rank < transport.size(); ++rank) {
    if (transport.host(rank) != transport.host(transport.rank())) continue;
    ++local.of;
    if (rank < transport.rank()) ++local.number;
  }
  return local;
}

HelloMessage make_hello(const std::string& device, const LocalRank& local,
                        const Settings& settings) {
  HelloMessage hello{.pid = ::getpid(),
                     .fatune = FATUNE_VERSION,
                     .cores = std::max<std::int64_t>(1, usable_cores()),
                     .host_cores = std::max(1U, std::thread::hardware_concurrency())};
  auto devices = find_devices(device, local, settings);
  if (devices) {
    hello.devices = *std::move(devices);
    return hello;
  }
  hello.problem = devices.error().message;
  return hello;
}

}  // namespace fatune::cli
