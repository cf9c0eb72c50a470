// runtime_bench.cpp: Times libfatune_rt: opening a folder of wisdom, choosing, launching.
//
//   bench_runtime FOLDER [INDEX]     INDEX: of the kernel that is launched [0]
//
// Launching needs a GPU; without one only opening is timed. Prints one JSON object.
#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <stdlib.h>

#include "bare_launch.hpp"
#include "core/file.hpp"
#include "core/text.hpp"
#include "gpu/telemetry.hpp"
#include "model/wisdom/kernel_facts.hpp"
#include "runtime/fatune_rt.h"

namespace fatune {
namespace {

constexpr std::size_t kManyKernels = 100;
constexpr int kOpens = 20;
constexpr int kBatches = 60;
constexpr int kLaunches = 200;     ///< of a batch: the driver queues about 1000 before it waits
constexpr std::size_t kSets = 16;  ///< of tensors: more than the library keeps maps for

using Clock = std::chrono::steady_clock;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double since(Clock::time_point begin, double per_second) {
  return std::chrono::duration<double>(Clock::now() - begin).count() * per_second;
}

/// Median and slowest, in milliseconds.
Result<std::string> time_open(const std::filesystem::path& folder) {
  std::vector<double> times;
  std::size_t count = 0;
  for (int i = 0; i < kOpens; ++i) {
    fatune_rt* wisdom = nullptr;
    fatune_rt_error error;
    const auto begin = Clock::now();
    if (fatune_rt_open(folder.c_str(), &wisdom, &error) != FATUNE_RT_OK) {
      return file_error(error.message);
    }
    times.push_back(since(begin, 1e3));
    count = fatune_rt_count(wisdom);
    fatune_rt_close(wisdom);
  }
  return fmt::format(R"({{"kernels": {}, "median_ms": {:.2f}, "slowest_ms": {:.2f}}})", count,
                     median(times), *std::max_element(times.begin(), times.end()));
}

struct Loaded {
  std::vector<KernelFacts> kernels;
  std::vector<std::string> cubins;
};

Result<Loaded> load(const std::filesystem::path& folder) {
  const auto path = wisdom_index_path(folder);
  FATUNE_TRY(const std::string text, read_file(path));
  FATUNE_TRY(WisdomIndex index, read_wisdom_index(text, path.string()));
  Loaded loaded;
  for (const KernelFacts& facts : index.kernels) {
    FATUNE_TRY(std::string cubin, read_file(wisdom_cubin_path(folder, facts)));
    loaded.cubins.push_back(std::move(cubin));
  }
  loaded.kernels = std::move(index.kernels);
  return loaded;
}

/// The folder's kernels again and again, until there are 100, each with a file of its own.
Status write_many(const Loaded& loaded, const std::filesystem::path& folder) {
  FATUNE_TRY_STATUS(make_directories(folder / "cubins"));
  std::vector<KernelFacts> kernels;
  for (std::size_t i = 0; i < kManyKernels; ++i) {
    KernelFacts facts = loaded.kernels[i % loaded.kernels.size()];
    facts.cubin.file = fmt::format("{}.cubin", i);
    FATUNE_TRY_STATUS(
        replace_file(wisdom_cubin_path(folder, facts), loaded.cubins[i % loaded.kernels.size()]));
    kernels.push_back(std::move(facts));
  }
  return replace_file(wisdom_index_path(folder), write_wisdom_index(kernels, "0.1.0"));
}

Result<std::string> time_open_many(const Loaded& loaded) {
  std::string pattern = (std::filesystem::temp_directory_path() / "fatune-bench-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) return file_error("no folder for temporary files");
  const std::filesystem::path folder = pattern;
  const Status written = write_many(loaded, folder);
  auto timed = written ? time_open(folder) : Result<std::string>(written.error());
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return timed;
}

/// A way to launch, and the nanoseconds that each batch took for one.
struct Way {
  std::string name;
  std::function<bool(std::size_t set)> launch;
  std::size_t sets = 1;
  std::vector<double> times;
};

/// All ways in turn, again and again, so that no drift of the clocks favours one. The stream is
/// empty when a batch begins: the processor's time alone is measured.
Status time_ways(std::vector<Way>& ways, CUstream stream) {
  for (int batch = -5; batch < kBatches; ++batch) {  // the first few warm up
    for (Way& way : ways) {
      bool good = true;
      const auto begin = Clock::now();
      for (std::size_t i = 0; i < kLaunches; ++i) good = way.launch(i % way.sets) && good;
      const double ns = since(begin, 1e9) / kLaunches;
      if (!good) return device_error(way.name + ": a launch failed");
      if (batch >= 0) way.times.push_back(ns);
      FATUNE_TRY_STATUS(gpu::synchronize(stream));
    }
  }
  return {};
}

fatune_rt_tensors tensors_of(const TensorBuffers& buffers) {
  const auto at = [&](std::size_t i) { return reinterpret_cast<void*>(buffers[i].address()); };
  fatune_rt_tensors tensors{};
  tensors.q = at(0);
  tensors.k = at(1);
  tensors.v = at(2);
  tensors.out = at(3);
  tensors.lse = static_cast<float*>(at(4));
  return tensors;
}

Result<std::string> time_launches(const std::filesystem::path& folder, const Loaded& loaded,
                                  std::size_t index) {
  const KernelFacts& facts = loaded.kernels[index];
  FATUNE_TRY(const gpu::Context context, gpu::make_context(0));
  FATUNE_TRY(const gpu::Stream stream, gpu::make_stream(context));
  std::vector<TensorBuffers> buffers(kSets);
  std::vector<fatune_rt_tensors> tensors;
  for (TensorBuffers& set : buffers) {
    FATUNE_TRY(set, make_tensors(context, facts.problem.as_attention()));
    tensors.push_back(tensors_of(set));
  }
  FATUNE_TRY(const auto bare,
             BareLaunch::make(context, facts, loaded.cubins[index], buffers[0], stream.raw()));
  fatune_rt* wisdom = nullptr;
  fatune_rt_error error;
  fatune_rt_kernel_info info;
  const fatune_rt_plan* plan = nullptr;
  const fatune_rt_options options = {1, 1};
  if (fatune_rt_open(folder.c_str(), &wisdom, &error) != FATUNE_RT_OK ||
      fatune_rt_kernel(wisdom, index, &info, &error) != FATUNE_RT_OK ||
      fatune_rt_find(wisdom, &info.tuned, &options, &plan, &error) != FATUNE_RT_OK) {
    return device_error(error.message);
  }
  fatune_rt_plan_info plan_info;
  fatune_rt_describe(plan, &plan_info);
  FATUNE_TRY(const gpu::Buffer scratch, gpu::make_buffer(context, plan_info.scratch_bytes));
  for (fatune_rt_tensors& set : tensors) {
    set.scratch = reinterpret_cast<void*>(scratch.address());
    set.scratch_bytes = scratch.bytes();
  }
  const auto run = [&](std::size_t set) {
    const fatune_rt_plan* found = nullptr;
    return fatune_rt_find(wisdom, &info.tuned, &options, &found, nullptr) == FATUNE_RT_OK &&
           fatune_rt_launch(found, &tensors[set], stream.raw(), nullptr) == FATUNE_RT_OK;
  };
  std::vector<Way> ways = {{"bare", [&](std::size_t) { return bare->launch(); }, 1, {}},
                           {"launch",
                            [&](std::size_t set) {
                              return fatune_rt_launch(plan, &tensors[set], stream.raw(), nullptr) ==
                                     FATUNE_RT_OK;
                            },
                            1,
                            {}},
                           {"find_and_launch", run, 1, {}},
                           {"find_and_launch_new_maps", run, kSets, {}}};
  FATUNE_TRY_STATUS(time_ways(ways, stream.raw()));
  std::string text = fmt::format(R"({{"kernel": "{}", "problem": "{}", "tensor_maps": {})",
                                 facts.kernel, describe(facts.problem), facts.tensor_maps.size());
  for (const Way& way : ways) {
    const double ns = median(way.times);
    text += fmt::format(R"(, "{}_ns": {:.0f}, "{}_added_ns": {:.0f})", way.name, ns, way.name,
                        ns - median(ways[0].times));
  }
  fatune_rt_close(wisdom);
  return text + "}";
}

Result<std::string> measure(const std::filesystem::path& folder, std::size_t index) {
  FATUNE_TRY(const Loaded loaded, load(folder));
  if (index >= loaded.kernels.size()) {
    return usage_error(
        fmt::format("the folder has {} kernels; INDEX counts from 0", loaded.kernels.size()));
  }
  FATUNE_TRY(const std::string few, time_open(folder));
  FATUNE_TRY(const std::string many, time_open_many(loaded));
  std::string text = fmt::format("{{\"open\": {},\n \"open_many\": {}", few, many);
  const auto devices = gpu::device_count();
  if (!devices || *devices == 0) return text + ",\n \"launch\": null}\n";
  FATUNE_TRY(const gpu::DeviceFacts device, gpu::device_facts(0));
  FATUNE_TRY(const std::string launch, time_launches(folder, loaded, index));
  return text + fmt::format(",\n \"device\": \"{}\",\n \"launch\": {}}}\n", device.name, launch);
}

}  // namespace
}  // namespace fatune

int main(int argc, char** argv) {
  const auto index = fatune::parse_integer(argc == 3 ? argv[2] : "0");
  if (argc < 2 || argc > 3 || !index || *index < 0) {
    fmt::print(stderr, "usage: bench_runtime FOLDER [INDEX]\n");
    return 2;
  }
  const auto text = fatune::measure(argv[1], static_cast<std::size_t>(*index));
  if (!text) {
    fmt::print(stderr, "bench_runtime: {}\n", text.error().message);
    return 1;
  }
  fmt::print("{}", *text);
  return 0;
}
