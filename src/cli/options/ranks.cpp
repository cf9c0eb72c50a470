// ranks.cpp: Reads the number of ranks from launchers' variables, and assigns a host's devices to
// its ranks.
#include "cli/options/ranks.hpp"

#include <thread>

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include "cli/options/program_folders.hpp"
#include "cli/options/session.hpp"
#include "core/file.hpp"
#include "core/text.hpp"
#include "tune/evaluate/device_evaluator.hpp"

namespace fatune::cli {
namespace {

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
