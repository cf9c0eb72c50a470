// loaded_program.cpp: Loads machine code, prepares its launches, binds tensors to arguments.
#include "worker/device/loaded_program.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/file.hpp"
#include "core/text.hpp"
#include "model/kernel/entry.hpp"
#include "model/wisdom/scalar.hpp"
#include "worker/device/device_problem.hpp"
#include "worker/protocol/machine_code.hpp"

namespace fatune {
namespace {

/// Scratch memory that products share, because they run one after the other. No scratch memory of a
/// manifest has this name, because it has a space.
constexpr const char* kWorkspace = "library workspace";

}  // namespace

Result<LoadedProgram> LoadedProgram::load(const gpu::Context& context, CUstream stream,
                                          const Program& program, const Problem& problem) {
  LoadedProgram loaded;
  loaded.stream_ = stream;
  loaded.problem_ = problem;
  loaded.map_plans_ = program.plan.tensor_maps;
  loaded.persisting_window_ = program.plan.persisting_window;
  loaded.pointers_["lse"] = 0;  // without lse the kernel gets null
  FATUNE_TRY(const std::string cubin, read_file(program.cubin));
  FATUNE_TRY(loaded.module_, gpu::load_module(context, cubin));
  const std::vector<std::string> symbols = entry_symbols(cubin);
  FATUNE_TRY_STATUS(loaded.add_constants(program.plan, cubin));
  std::size_t workspace = 0;
  for (const StagePlan& plan : program.plan.stages) {
    FATUNE_TRY_STATUS(plan.gemm ? loaded.add_gemm(*plan.gemm) : loaded.add_kernel(plan, symbols));
    const auto& gemm = loaded.stages_.back().gemm;
    if (gemm) workspace = std::max(workspace, gemm->workspace_bytes());
  }
  for (const ScratchFacts& plan : program.plan.scratch) {
    FATUNE_TRY_STATUS(loaded.add_scratch(context, plan.name, static_cast<std::size_t>(plan.bytes)));
  }
  if (workspace > 0) FATUNE_TRY_STATUS(loaded.add_scratch(context, kWorkspace, workspace));
  return loaded;
}

Status LoadedProgram::add_kernel(const StagePlan& plan, std::span<const std::string> symbols) {
  Stage stage{nullptr, gpu::shape_of(plan), plan.arguments, nullptr};
  FATUNE_TRY(stage.function,
             gpu::find_function(module_, symbol_of(plan.entry, symbols).value_or(plan.entry)));
  FATUNE_TRY_STATUS(gpu::prepare(stage.function, stage.shape));
  for (const std::string& argument : plan.arguments) {
    if (const auto scalar = read_scalar(argument)) scalars_[argument] = scalar->bits;
  }
  stages_.push_back(std::move(stage));
  return {};
}

Status LoadedProgram::add_constants(const LaunchPlan& plan, std::string_view cubin) {
  if (plan.constants.empty()) return {};
  std::vector<std::string> symbols;
  for (const auto& [symbol, bytes] : constant_symbols(cubin)) symbols.push_back(symbol);
  for (const ConstantFacts& each : plan.constants) {
    FATUNE_TRY(gpu::ModuleConstant constant,
               gpu::find_constant(module_, symbol_of(each.symbol, symbols).value_or(each.symbol)));
    const auto bytes = static_cast<std::size_t>(each.bytes);
    if (constant.bytes < bytes)
      return device_error(fmt::format("the __constant__ {} has {} bytes, not {}", each.symbol,
                                      constant.bytes, bytes));
    constant.bytes = bytes;
    constants_.emplace_back(each.tensor, constant);
  }
  return {};
}

Status LoadedProgram::add_gemm(const GemmPlan& plan) {
  Stage stage;
  for (const GemmOperand& operand : plan.operands) stage.arguments.push_back(operand.buffer);
  FATUNE_TRY(stage.gemm, BatchedGemm::open(plan));
  stages_.push_back(std::move(stage));
  return {};
}

Status LoadedProgram::add_scratch(const gpu::Context& context, const std::string& name,
                                  std::size_t bytes) {
  FATUNE_TRY(GuardedBuffer buffer, GuardedBuffer::make(context, name, bytes, kGuardByte, stream_));
  pointers_[name] = buffer.address();
  scratch_.push_back(std::move(buffer));
  return {};
}

Status LoadedProgram::bind(const TensorAddresses& tensors) {
  for (const auto& [name, address] : tensors) pointers_[name] = address;
  for (const TensorMapPlan& plan : map_plans_) {
    auto map = gpu::make_tensor_map(pointers_[plan.tensor], facts_of(plan, problem_));
    if (!map) return with_context(std::move(map).error(), "describing tensor map " + plan.name);
    maps_[plan.name] = **map;
  }
  FATUNE_TRY_STATUS(fill_constants(tensors));
  if (persisting_window_.empty()) return {};
  const auto bytes = (persisting_window_ == "q" ? query_bytes : key_bytes)(problem_.as_attention());
  return gpu::keep_window(stream_, pointers_[persisting_window_], bytes.value);
}

Status LoadedProgram::fill_constants(const TensorAddresses& tensors) {
  for (const auto& [tensor, constant] : constants_) {
    FATUNE_TRY_STATUS(
        gpu::copy_on_device(constant.address, tensors.at(tensor), constant.bytes, stream_));
  }
  return {};
}

void* LoadedProgram::value_of(const std::string& argument) {
  if (const auto map = maps_.find(argument); map != maps_.end()) return &map->second;
  if (const auto scalar = scalars_.find(argument); scalar != scalars_.end()) return &scalar->second;
  const auto pointer = pointers_.find(argument);
  FATUNE_CHECK(pointer != pointers_.end(), "the manifest's reader resolved every argument");
  return &pointer->second;
}

Status LoadedProgram::queue_stages(bool plainly) {
  std::vector<void*> values;
  for (const Stage& stage : stages_) {
    if (stage.gemm) {
      GemmAddresses addresses{};
      for (std::size_t i = 0; i < addresses.size(); ++i)
        addresses[i] = pointers_[stage.arguments[i]];
      FATUNE_TRY_STATUS(stage.gemm->queue(addresses, pointers_[kWorkspace], stream_));
      continue;
    }
    values.clear();
    for (const std::string& argument : stage.arguments) values.push_back(value_of(argument));
    gpu::LaunchShape shape = stage.shape;
    if (plainly) shape.dependent = false;
    FATUNE_TRY_STATUS(gpu::launch(stage.function, shape, values, stream_));
  }
  return {};
}

Result<Resources> LoadedProgram::resources() const {
  Resources most;
  for (const Stage& stage : stages_) {
    if (stage.gemm) continue;
    FATUNE_TRY(const gpu::FunctionFacts facts, gpu::function_facts(stage.function));
    if (facts.registers < most.registers) continue;
    most.registers = facts.registers;
    most.static_shared_bytes = facts.static_shared_bytes;
    most.dynamic_shared_bytes = stage.shape.shared_bytes;
    most.stack_bytes = facts.local_bytes;
    most.threads = static_cast<int>(product(stage.shape.block));
    most.blocks = product(stage.shape.grid);
    FATUNE_TRY(most.blocks_per_sm, gpu::blocks_per_sm(stage.function, stage.shape));
  }
  return most;
}

std::string LoadedProgram::detail() const {
  std::vector<std::string> parts;
  for (const Stage& stage : stages_) {
    if (stage.gemm) parts.push_back(stage.gemm->detail());
  }
  return join(parts, "; ");
}

Result<OpenProgram> OpenProgram::open(DeviceSession& session, DeviceProblem& problem,
                                      const Program& program) {
  OpenProgram opened;
  const CUstream stream = session.stream.raw();
  const TensorAddresses tensors = problem.addresses(problem.sets().front());
  if (!program.outside) {
    FATUNE_TRY(LoadedProgram loaded,
               LoadedProgram::load(session.context, stream, program, problem.problem()));
    opened.owned_ = std::make_unique<LoadedProgram>(std::move(loaded));
    opened.executable_ = opened.owned_.get();
    FATUNE_TRY_STATUS(opened.executable_->bind(tensors));
    return opened;
  }
  const bool fresh = !session.outside.holds(program.outside->impl);
  FATUNE_TRY(opened.executable_, session.outside.open(*program.outside, problem.outside_setting()));
  FATUNE_TRY_STATUS(opened.executable_->bind(tensors));
  if (fresh) {
    // Plans are compared before any of them is verified.
    const TimeWork time = [&](const std::function<Status()>& work) -> Result<double> {
      session.sampler->set_limit(problem.kernel_limit());
      FATUNE_TRY(const Sampled sampled, session.sampler->hot(work, std::nullopt));
      if (sampled.hung) return device_error("a plan does not come to an end");
      return sampled.timing.median_us;
    };
    FATUNE_TRY_STATUS(opened.executable_->settle(time));
  }
  return opened;
}

}  // namespace fatune
