// bare_launch.cpp: Binds a kernel's arguments and its launch configuration once.
#include "bare_launch.hpp"

#include <algorithm>

#include "gpu/driver.hpp"
#include "model/problem/tensor.hpp"

namespace fatune {
namespace {

constexpr std::array<const char*, 5> kNames = {"q", "k", "v", "out", "lse"};

template <typename Items>
std::size_t named(const Items& items, const std::string& name) {
  return static_cast<std::size_t>(
      std::find_if(items.begin(), items.end(),
                   [&](const auto& item) { return item.name == name; }) -
      items.begin());
}

std::size_t tensor_named(const std::string& name) {
  return static_cast<std::size_t>(std::find(kNames.begin(), kNames.end(), name) - kNames.begin());
}

}  // namespace

Result<TensorBuffers> make_tensors(const gpu::Context& context, const Attention& problem) {
  const OperationPlan plan = attention_plan(problem);
  TensorBuffers tensors;
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    const TensorPlan& tensor = plan.tensors[i];
    FATUNE_TRY(tensors[i],
               gpu::make_buffer(context, static_cast<std::size_t>(tensor.span()) * tensor.width()));
  }
  return tensors;
}

Result<std::unique_ptr<BareLaunch>> BareLaunch::make(const gpu::Context& context,
                                                     const KernelFacts& facts,
                                                     const std::string& cubin,
                                                     const TensorBuffers& tensors,
                                                     CUstream stream) {
  auto bare = std::make_unique<BareLaunch>();
  FATUNE_TRY(bare->module_, gpu::load_module(context, cubin));
  for (std::size_t i = 0; i < tensors.size(); ++i) bare->addresses_[i] = tensors[i].address();
  for (const ScratchFacts& scratch : facts.scratch) {
    FATUNE_TRY(gpu::Buffer buffer,
               gpu::make_buffer(context, static_cast<std::size_t>(scratch.bytes)));
    bare->scratch_addresses_.push_back(buffer.address());
    bare->scratch_.push_back(std::move(buffer));
  }
  for (const TensorMapFacts& map : facts.tensor_maps) {
    FATUNE_TRY(gpu::TensorMap encoded,
               gpu::make_tensor_map(bare->addresses_[tensor_named(map.tensor)], map));
    bare->maps_.push_back(std::move(encoded));
  }
  for (const StageFacts& stage : facts.stages) {
    FATUNE_TRY_STATUS(bare->add_stage(facts, stage, stream));
  }
  return bare;
}

Status BareLaunch::add_stage(const KernelFacts& facts, const StageFacts& plan, CUstream stream) {
  auto stage = std::make_unique<Stage>();
  FATUNE_TRY(stage->function, gpu::find_function(module_, plan.entry));
  const gpu::LaunchShape shape = gpu::shape_of(plan);
  FATUNE_TRY_STATUS(gpu::prepare(stage->function, shape));
  stage->made = gpu::LaunchConfig(shape);
  stage->config = stage->made.on(stream);
  for (const std::string& name : plan.arguments) {
    const std::size_t scratch = named(facts.scratch, name);
    void* value = nullptr;
    if (tensor_named(name) < addresses_.size()) {
      value = &addresses_[tensor_named(name)];
    } else if (scratch < facts.scratch.size()) {
      value = &scratch_addresses_[scratch];
    } else {
      value = maps_[named(facts.tensor_maps, name)].get();
    }
    stage->arguments.push_back(value);
  }
  stages_.push_back(std::move(stage));
  return {};
}

bool BareLaunch::launch() {
  return std::all_of(stages_.begin(), stages_.end(), [](const std::unique_ptr<Stage>& stage) {
    return gpu::driver().launch(&stage->config, stage->function, stage->arguments.data(),
                                nullptr) == CUDA_SUCCESS;
  });
}

}  // namespace fatune
