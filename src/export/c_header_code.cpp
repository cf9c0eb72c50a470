// c_header_code.cpp: Writes the C functions that load and launch one kernel.
#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "core/text.hpp"
#include "export/c_sizes.hpp"
#include "export/formats.hpp"
#include "model/wisdom/scalar.hpp"

namespace fatune {
namespace {

constexpr int kRowAlignment = 16;    ///< bytes; required by vector loads and tensor maps
constexpr int kFactorAlignment = 4;  ///< kernels read fp8 factors one by one

constexpr const char* kPrepare =
    R"(static CUresult @name@_prepare(
    CUmodule module, const char *entry, int shared_bytes, int cluster_blocks,
    CUfunction *function) {
  CUresult code = cuModuleGetFunction(function, module, entry);
  if (code == CUDA_SUCCESS) {
    code = cuFuncSetAttribute(*function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                              shared_bytes);
  }
  if (code == CUDA_SUCCESS && shared_bytes > 0) {
    code = cuFuncSetAttribute(*function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                              CU_SHAREDMEM_CARVEOUT_MAX_SHARED);
  }
  if (code == CUDA_SUCCESS && cluster_blocks > 8) {
    code = cuFuncSetAttribute(*function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
  }
  return code;
}

)";

/// `extents` has x, y and z of grid, block and cluster.
constexpr const char* kLaunchStage =
    R"(static CUresult @name@_launch_stage(
    CUfunction function, const unsigned extents[9], unsigned shared_bytes, int dependent,
    void **arguments, CUstream stream) {
  CUlaunchAttribute attributes[2];
  CUlaunchConfig config;
  memset(attributes, 0, sizeof(attributes));
  memset(&config, 0, sizeof(config));
  config.gridDimX = extents[0];
  config.gridDimY = extents[1];
  config.gridDimZ = extents[2];
  config.blockDimX = extents[3];
  config.blockDimY = extents[4];
  config.blockDimZ = extents[5];
  config.sharedMemBytes = shared_bytes;
  config.hStream = stream;
  config.attrs = attributes;
  if (extents[6] * extents[7] * extents[8] > 1) {
    CUlaunchAttribute *attribute = &attributes[config.numAttrs++];
    attribute->id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute->value.clusterDim.x = extents[6];
    attribute->value.clusterDim.y = extents[7];
    attribute->value.clusterDim.z = extents[8];
  }
  if (dependent) { /* may begin while the work in front of it ends, for which it waits itself */
    CUlaunchAttribute *attribute = &attributes[config.numAttrs++];
    attribute->id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute->value.programmaticStreamSerializationAllowed = 1;
  }
  return cuLaunchKernelEx(&config, function, arguments, NULL);
}

)";

constexpr const char* kDescribeTensor =
    R"(/* sizes and strides in bytes of a tensor, head_dim first */
static CUresult @name@_describe_tensor(
    void *map, CUdeviceptr tensor, const cuuint64_t sizes[4], const cuuint64_t strides[3],
    const cuuint32_t box[4], CUtensorMapSwizzle swizzle) {
  static const cuuint32_t steps[4] = {1, 1, 1, 1};
  return cuTensorMapEncodeTiled(
      (CUtensorMap *)map, @element@, 4, (void *)(uintptr_t)tensor, sizes, strides, box, steps,
      CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

)";

constexpr const char* kUnload = R"(CUresult @name@_unload(@name@_kernel *kernel) {
  const CUresult code = cuModuleUnload(kernel->module);
  memset(kernel, 0, sizeof(*kernel));
  return code;
}

)";

std::string element_constant(MapElement element) {
  constexpr std::string_view kWords[] = {"FLOAT16", "BFLOAT16", "UINT8"};
  return fmt::format("CU_TENSOR_MAP_DATA_TYPE_{}", kWords[static_cast<std::size_t>(element)]);
}

std::string swizzle_constant(int bytes) {
  return bytes == 0 ? "CU_TENSOR_MAP_SWIZZLE_NONE"
                    : fmt::format("CU_TENSOR_MAP_SWIZZLE_{}B", bytes);
}

template <std::size_t kCount>
std::string numbers(const std::array<std::int64_t, kCount>& values) {
  return fmt::format("{}", fmt::join(values, ", "));
}

std::string load_function(const KernelFacts& facts) {
  std::string text = R"(CUresult @name@_load(@name@_kernel *kernel) {
  CUresult code;
  memset(kernel, 0, sizeof(*kernel));
  code = cuModuleLoadData(&kernel->module, @name@_cubin.bytes);
  if (code != CUDA_SUCCESS) {
    kernel->module = NULL;
    return code;
  }
)";
  for (std::size_t i = 0; i < facts.stages.size(); ++i) {
    const StageFacts& stage = facts.stages[i];
    const std::int64_t blocks = product(stage.cluster);
    text += fmt::format(
        "  if (code == CUDA_SUCCESS) {{\n"
        "    code = @name@_prepare(\n"
        "        kernel->module, \"{}\", {}, {}, &kernel->stages[{}]);\n  }}\n",
        stage.entry, stage.shared_bytes, blocks, i);
  }
  for (std::size_t i = 0; i < facts.constants.size(); ++i) {
    text += fmt::format(
        "  if (code == CUDA_SUCCESS) {{\n"
        "    size_t bytes = 0;\n"
        "    code = cuModuleGetGlobal(&kernel->constants[{}], &bytes, kernel->module, \"{}\");\n"
        "    if (code == CUDA_SUCCESS && bytes < {}) code = CUDA_ERROR_INVALID_IMAGE;\n  }}\n",
        i, facts.constants[i].symbol, facts.constants[i].bytes);
  }
  return text + R"(  if (code != CUDA_SUCCESS) {
    cuModuleUnload(kernel->module);
    memset(kernel, 0, sizeof(*kernel));
  }
  return code;
}

)";
}

/// Returns a condition such as "(q | k) % 16 != 0": one of the pointers is no multiple.
std::string misaligned(const std::vector<std::string>& pointers, int bytes) {
  return fmt::format("({}) % {} != 0", join(pointers, " | "), bytes);
}

/// Checks that required pointers are not null and are aligned as declared.
std::string check_pointers(const KernelFacts& facts) {
  std::vector<std::string> tensors = tensor_parameters(facts);
  const bool no_lse = facts.problem.attention() && !facts.problem.as_attention().lse;
  if (no_lse) tensors.pop_back();
  std::vector<std::string> rows, factors;
  std::string text = "  if (";
  for (const std::string& tensor : tensors) {
    text += fmt::format("{} == 0 ||{}", tensor, tensor == tensors.back() ? "\n      " : " ");
    const bool factor = facts.problem.is(has_descales) && is_descale(tensor);
    (factor ? factors : rows).push_back(tensor);
  }
  text += misaligned(rows, kRowAlignment);
  if (!factors.empty()) text += " ||\n      " + misaligned(factors, kFactorAlignment);
  const bool uses_scratch = has_scratch(facts);
  if (uses_scratch) text += fmt::format(" || scratch == 0 || scratch % {} != 0", kScratchAlignment);
  text += ") {\n    return CUDA_ERROR_INVALID_VALUE;\n  }\n";
  if (!uses_scratch) text += "  (void)scratch;\n";
  if (no_lse) text += "  lse = 0; /* the kernel does not write it */\n";
  return text;
}

/// C99 has no keyword for the 64-byte alignment of a tensor map.
std::string map_storage(const KernelFacts& facts) {
  if (facts.tensor_maps.empty()) return "";
  std::string text = fmt::format(
      "  unsigned char storage[{} * sizeof(CUtensorMap) + 64]; /* maps lie on 64 bytes */\n"
      "  unsigned char *maps = storage + (64 - (uintptr_t)storage % 64) % 64;\n",
      facts.tensor_maps.size());
  for (std::size_t i = 0; i < facts.tensor_maps.size(); ++i) {
    text += fmt::format("  void *tensor_{} = maps + {} * sizeof(CUtensorMap);\n",
                        facts.tensor_maps[i].name, i);
  }
  return text;
}

std::string scratch_pointers(const KernelFacts& facts) {
  std::string text;
  for (std::size_t i = 0; i < facts.scratch.size(); ++i)
    text += fmt::format("  CUdeviceptr scratch_{} = scratch + {};\n", facts.scratch[i].name,
                        c_scratch_offset(facts, i));
  return text;
}

std::string describe_maps(const KernelFacts& facts) {
  std::string text;
  for (const TensorMapFacts& map : facts.tensor_maps) {
    const bool of_scratch = std::ranges::count(facts.scratch, map.tensor, &ScratchFacts::name) > 0;
    text += fmt::format(
        "  if (code == CUDA_SUCCESS) {{\n"
        "    static const cuuint64_t sizes[4] = {{{}}};\n"
        "    static const cuuint64_t strides[3] = {{{}}};\n"
        "    static const cuuint32_t box[4] = {{{}}};\n"
        "    code = @name@_describe_tensor(\n"
        "        tensor_{}, {}, sizes, strides, box,\n        {});\n  }}\n",
        numbers(map.sizes), numbers(map.strides_bytes), numbers(map.box), map.name,
        (of_scratch ? "scratch_" : "") + map.tensor, swizzle_constant(map.swizzle_bytes));
  }
  return text;
}

/// Returns a tensor's name, a scratch pointer, or a tensor map, which is a pointer already.
std::string argument_value(const KernelFacts& facts, const std::string& argument) {
  const auto named = [&](const auto& item) { return item.name == argument; };
  if (std::any_of(facts.tensor_maps.begin(), facts.tensor_maps.end(), named))
    return "tensor_" + argument;
  if (std::any_of(facts.scratch.begin(), facts.scratch.end(), named)) return "&scratch_" + argument;
  return facts.problem.custom() ? "&d_" + argument : "&" + argument;
}

/// Defines the typed values among the arguments: "    int32_t value_3 = 1024;".
std::string values_of(const StageFacts& stage, std::size_t index) {
  std::string text;
  for (std::size_t i = 0; i < stage.arguments.size(); ++i) {
    const std::string& argument = stage.arguments[i];
    if (!is_scalar(argument)) continue;
    const std::string_view type = split_scalar(argument)->type->c_type;
    const std::string value = is_runtime_value(argument)
                                  ? fmt::format("({})value_{}_{}", type, index, i)
                                  : read_scalar(argument)->literal;
    text += fmt::format("    {} value_{} = {};\n", type, i, value);
  }
  return text;
}

/// Defines grid, block and cluster of a launch.
std::string extents_of(const StageFacts& stage, std::size_t index) {
  const std::string fixed = numbers(stage.block) + ", " + numbers(stage.cluster);
  if (stage.extents.empty())
    return fmt::format("    static const unsigned extents[9] = {{{}, {}}};\n", numbers(stage.grid),
                       fixed);
  return fmt::format(
      "    const unsigned extents[9] = {{(unsigned)grid_{0}[0], (unsigned)grid_{0}[1],\n"
      "                                 (unsigned)grid_{0}[2], {1}}};\n",
      index, fixed);
}

std::string launch_stages(const KernelFacts& facts) {
  std::string text;
  for (std::size_t i = 0; i < facts.stages.size(); ++i) {
    const StageFacts& stage = facts.stages[i];
    text += fmt::format(
        "  if (code == CUDA_SUCCESS) {{ /* {} */\n"
        "{}"
        "    void *arguments[{}];\n",
        stage.entry, extents_of(stage, i), std::max<std::size_t>(stage.arguments.size(), 1));
    text += values_of(stage, i);
    for (std::size_t a = 0; a < stage.arguments.size(); ++a) {
      const bool value = is_scalar(stage.arguments[a]);
      text += fmt::format(
          "    arguments[{}] = {};\n", a,
          value ? fmt::format("&value_{}", a) : argument_value(facts, stage.arguments[a]));
    }
    text += fmt::format(
        "    code = @name@_launch_stage(\n"
        "        kernel->stages[{}], extents, {}u, {}, arguments, stream);\n"
        "  }}\n",
        i, stage.shared_bytes, stage.dependent ? 1 : 0);
  }
  return text;
}

std::string copy_constants(const KernelFacts& facts) {
  std::string text;
  for (std::size_t i = 0; i < facts.constants.size(); ++i) {
    text += fmt::format(
        "  if (code == CUDA_SUCCESS)\n"
        "    code = cuMemcpyDtoDAsync(kernel->constants[{}], d_{}, {}, stream);\n",
        i, facts.constants[i].tensor, facts.constants[i].bytes);
  }
  return text;
}

std::string launch_function(const KernelFacts& facts) {
  return "CUresult @name@_launch(\n@parameters@) {\n  CUresult code = CUDA_SUCCESS;\n" +
         c_check_sizes(facts) + map_storage(facts) + scratch_pointers(facts) +
         check_pointers(facts) + describe_maps(facts) + copy_constants(facts) +
         launch_stages(facts) + "  return code;\n}\n";
}

}  // namespace

std::vector<std::string> tensor_parameters(const KernelFacts& facts) {
  if (const Attention* attention = facts.problem.attention()) return attention_tensors(*attention);
  std::vector<std::string> names;
  for (const TensorFacts& tensor : facts.tensors) names.push_back("d_" + tensor.name);
  return names;
}

std::string c_functions(const KernelFacts& facts) {
  std::string text = std::string(kPrepare) + kLaunchStage + c_size_helpers(facts);
  if (!facts.tensor_maps.empty()) {
    text +=
        replaced(kDescribeTensor, "@element@", element_constant(facts.tensor_maps.front().element));
  }
  return text + load_function(facts) + kUnload + c_scratch_function(facts) + launch_function(facts);
}

}  // namespace fatune
