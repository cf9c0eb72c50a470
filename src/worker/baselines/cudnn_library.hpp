// cudnn_library.hpp: Opens libcudnn.so.9 and makes the operation graph of an attention problem.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "core/result.hpp"
#include "gpu/driver.hpp"
#include "model/problem/problem.hpp"

namespace fatune {

/// The needed C functions of cuDNN: member, result, arguments, symbol. Enums and statuses are int.
#define FATUNE_CUDNN_FUNCTIONS(X)                                                          \
  X(version, std::size_t, (), "cudnnGetVersion")                                           \
  X(status_text, const char*, (int), "cudnnGetErrorString")                                \
  X(last_error, void, (char*, std::size_t), "cudnnGetLastErrorString")                     \
  X(create, int, (void** handle), "cudnnCreate")                                           \
  X(destroy, int, (void* handle), "cudnnDestroy")                                          \
  X(set_stream, int, (void* handle, CUstream), "cudnnSetStream")                           \
  X(create_descriptor, int, (int kind, void** descriptor), "cudnnBackendCreateDescriptor") \
  X(destroy_descriptor, int, (void* descriptor), "cudnnBackendDestroyDescriptor")          \
  X(set_attribute, int,                                                                    \
    (void* descriptor, int attribute, int type, std::int64_t count, const void* values),   \
    "cudnnBackendSetAttribute")                                                            \
  X(get_attribute, int,                                                                    \
    (void* descriptor, int attribute, int type, std::int64_t room, std::int64_t* count,    \
     void* values),                                                                        \
    "cudnnBackendGetAttribute")                                                            \
  X(finalize, int, (void* descriptor), "cudnnBackendFinalize")                             \
  X(execute, int, (void* handle, void* plan, void* variant_pack), "cudnnBackendExecute")

struct CudnnFunctions {
#define FATUNE_DECLARE(member, result, arguments, symbol) result(*member) arguments = nullptr;
  FATUNE_CUDNN_FUNCTIONS(FATUNE_DECLARE)
#undef FATUNE_DECLARE
};

/// A descriptor or handle, and the function that destroys it.
using CudnnOwned = std::unique_ptr<void, int (*)(void*)>;

/// Looks in the given folders, in the wheels of the python3 on PATH, then on the loader's own path.
/// A given folder may hold the library itself, be a site-packages folder, or have lib below it.
std::vector<std::filesystem::path> cudnn_files(
    const std::vector<std::filesystem::path>& folders,
    const std::vector<std::filesystem::path>& site_packages);
/// An environment error names every place tried and the remedy.
Result<CudnnFunctions> open_cudnn_library(const std::vector<std::filesystem::path>& folders);

/// "9.19.0" of 91900, the number that cudnnGetVersion gives since cuDNN 9.
std::string cudnn_version_text(std::size_t version);

/// cuDNN's message about its last error or about skipped engines, on one line; may be empty.
std::string cudnn_last_error(const CudnnFunctions& functions);
/// Success for CUDNN_STATUS_SUCCESS, else a device error "cannot ...: CUDNN_STATUS_BAD_PARAM
/// (2000): " with cuDNN's message. The error is logged at debug level too, as many plans may fail
/// before one works.
Status cudnn_check(const CudnnFunctions& functions, int status, const std::string& doing);

/// cudnnBackendAttributeType_t.
enum class CudnnType : int {
  kHandle = 0,
  kDataType = 1,
  kBoolean = 2,
  kInt64 = 3,
  kPointer = 6,
  kHeuristicMode = 8,
  kKnobType = 9,
  kPointwiseMode = 14,
  kDescriptor = 15,
  kReduction = 18
};

/// A kind of descriptor or an attribute: cuDNN's number and name for it, and an attribute's type.
struct CudnnName {
  int value = 0;
  const char* text = "";
  CudnnType type = CudnnType::kDescriptor;
};

// Names and values below are those of cuDNN 9.0 and newer (its cudnn_graph.h).

namespace cudnn_descriptor {
inline constexpr CudnnName kPointwise{0, "POINTWISE_DESCRIPTOR"};
inline constexpr CudnnName kEngine{2, "ENGINE_DESCRIPTOR"};
inline constexpr CudnnName kEngineConfig{3, "ENGINECFG_DESCRIPTOR"};
inline constexpr CudnnName kHeuristic{4, "ENGINEHEUR_DESCRIPTOR"};
inline constexpr CudnnName kPlan{5, "EXECUTION_PLAN_DESCRIPTOR"};
inline constexpr CudnnName kKnobChoice{7, "KNOB_CHOICE_DESCRIPTOR"};
inline constexpr CudnnName kPointwiseOperation{13, "OPERATION_POINTWISE_DESCRIPTOR"};
inline constexpr CudnnName kGraph{15, "OPERATIONGRAPH_DESCRIPTOR"};
inline constexpr CudnnName kVariantPack{16, "VARIANT_PACK_DESCRIPTOR"};
inline constexpr CudnnName kTensor{17, "TENSOR_DESCRIPTOR"};
inline constexpr CudnnName kMatmul{18, "MATMUL_DESCRIPTOR"};
inline constexpr CudnnName kMatmulOperation{19, "OPERATION_MATMUL_DESCRIPTOR"};
inline constexpr CudnnName kReduction{21, "REDUCTION_DESCRIPTOR"};
inline constexpr CudnnName kReductionOperation{22, "OPERATION_REDUCTION_DESCRIPTOR"};
}  // namespace cudnn_descriptor

namespace cudnn_attribute {
inline constexpr CudnnName kPointwiseMode{0, "POINTWISE_MODE", CudnnType::kPointwiseMode};
inline constexpr CudnnName kPointwisePrecision{1, "POINTWISE_MATH_PREC", CudnnType::kDataType};
inline constexpr CudnnName kPointwiseAxis{9, "POINTWISE_AXIS", CudnnType::kInt64};
inline constexpr CudnnName kHeuristicMode{200, "ENGINEHEUR_MODE", CudnnType::kHeuristicMode};
inline constexpr CudnnName kHeuristicGraph{201, "ENGINEHEUR_OPERATION_GRAPH"};
inline constexpr CudnnName kHeuristicResults{202, "ENGINEHEUR_RESULTS"};
inline constexpr CudnnName kConfigEngine{300, "ENGINECFG_ENGINE"};
inline constexpr CudnnName kConfigKnobs{302, "ENGINECFG_KNOB_CHOICES"};
inline constexpr CudnnName kPlanHandle{400, "EXECUTION_PLAN_HANDLE", CudnnType::kHandle};
inline constexpr CudnnName kPlanConfig{401, "EXECUTION_PLAN_ENGINE_CONFIG"};
inline constexpr CudnnName kPlanWorkspace{402, "EXECUTION_PLAN_WORKSPACE_SIZE", CudnnType::kInt64};
inline constexpr CudnnName kKnobType{600, "KNOB_CHOICE_KNOB_TYPE", CudnnType::kKnobType};
inline constexpr CudnnName kKnobValue{601, "KNOB_CHOICE_KNOB_VALUE", CudnnType::kInt64};
inline constexpr CudnnName kPointwiseDescriptor{750, "OPERATION_POINTWISE_PW_DESCRIPTOR"};
inline constexpr CudnnName kPointwiseX{751, "OPERATION_POINTWISE_XDESC"};
inline constexpr CudnnName kPointwiseB{752, "OPERATION_POINTWISE_BDESC"};
inline constexpr CudnnName kPointwiseY{753, "OPERATION_POINTWISE_YDESC"};
inline constexpr CudnnName kPointwiseT{758, "OPERATION_POINTWISE_TDESC"};
inline constexpr CudnnName kGraphHandle{800, "OPERATIONGRAPH_HANDLE", CudnnType::kHandle};
inline constexpr CudnnName kGraphOperations{801, "OPERATIONGRAPH_OPS"};
inline constexpr CudnnName kTensorAlignment{900, "TENSOR_BYTE_ALIGNMENT", CudnnType::kInt64};
inline constexpr CudnnName kTensorDataType{901, "TENSOR_DATA_TYPE", CudnnType::kDataType};
inline constexpr CudnnName kTensorDimensions{902, "TENSOR_DIMENSIONS", CudnnType::kInt64};
inline constexpr CudnnName kTensorStrides{903, "TENSOR_STRIDES", CudnnType::kInt64};
inline constexpr CudnnName kTensorId{906, "TENSOR_UNIQUE_ID", CudnnType::kInt64};
inline constexpr CudnnName kTensorIsVirtual{907, "TENSOR_IS_VIRTUAL", CudnnType::kBoolean};
inline constexpr CudnnName kTensorIsByValue{908, "TENSOR_IS_BY_VALUE", CudnnType::kBoolean};
inline constexpr CudnnName kPackIds{1000, "VARIANT_PACK_UNIQUE_IDS", CudnnType::kInt64};
inline constexpr CudnnName kPackPointers{1001, "VARIANT_PACK_DATA_POINTERS", CudnnType::kPointer};
inline constexpr CudnnName kPackWorkspace{1003, "VARIANT_PACK_WORKSPACE", CudnnType::kPointer};
inline constexpr CudnnName kEngineIndex{1301, "ENGINE_GLOBAL_INDEX", CudnnType::kInt64};
inline constexpr CudnnName kMatmulPrecision{1500, "MATMUL_COMP_TYPE", CudnnType::kDataType};
inline constexpr CudnnName kMatmulA{1520, "OPERATION_MATMUL_ADESC"};
inline constexpr CudnnName kMatmulB{1521, "OPERATION_MATMUL_BDESC"};
inline constexpr CudnnName kMatmulC{1522, "OPERATION_MATMUL_CDESC"};
inline constexpr CudnnName kMatmulDescriptor{1523, "OPERATION_MATMUL_DESC"};
inline constexpr CudnnName kReductionOperator{1600, "REDUCTION_OPERATOR", CudnnType::kReduction};
inline constexpr CudnnName kReductionPrecision{1601, "REDUCTION_COMP_TYPE", CudnnType::kDataType};
inline constexpr CudnnName kReductionX{1610, "OPERATION_REDUCTION_XDESC"};
inline constexpr CudnnName kReductionY{1611, "OPERATION_REDUCTION_YDESC"};
inline constexpr CudnnName kReductionDescriptor{1612, "OPERATION_REDUCTION_DESC"};
}  // namespace cudnn_attribute

enum class CudnnData : int {
  kFloat = 0,
  kHalf = 2,
  kInt32 = 4,
  kBfloat16 = 9,
  kBoolean = 11,
  kE4m3 = 12,
  kE5m2 = 13
};

enum class CudnnPointwise : int {
  kAdd = 0,
  kMul = 1,
  kDiv = 6,
  kSub = 9,
  kExp = 13,
  kLog = 15,
  kGreaterOrEqual = 303,
  kIndex = 501,  ///< index of each element along an axis
  kSelect = 601  ///< t ? x : b
};

enum class CudnnReduction : int { kAdd = 0, kMax = 3, kLargestMagnitude = 4 };

enum class CudnnHeuristic : int { kB = 1, kFallback = 2, kA = 3 };

/// An attribute and its value or a view of its values. An empty optional or a null descriptor sets
/// nothing.
struct CudnnSetting {
  template <typename Value>
  requires std::is_scalar_v<Value> CudnnSetting(CudnnName name, Value value)
      : attribute(name), count(1) {
    std::memcpy(&single, &value, sizeof(value));
    if constexpr (std::is_pointer_v<Value>) count = value == nullptr ? 0 : 1;
  }
  template <typename Value>
  CudnnSetting(CudnnName name, std::optional<Value> value)
      : CudnnSetting(name, value.value_or(Value{})) {
    if (!value) count = 0;
  }
  template <typename Value, std::size_t kExtent>
  CudnnSetting(CudnnName name, std::span<Value, kExtent> values)
      : attribute(name), count(static_cast<std::int64_t>(values.size())), several(values.data()) {}

  CudnnName attribute;
  std::int64_t count = 0;  ///< 0: not set
  std::int64_t single = 0;
  const void* several = nullptr;
};

/// A descriptor that is made from settings and then read. The functions must outlive it. Every
/// failure names descriptor and attribute.
class CudnnDescriptor {
 public:
  /// Sets the attributes and finalizes the descriptor.
  static Result<CudnnDescriptor> make(const CudnnFunctions& functions, CudnnName kind,
                                      std::initializer_list<CudnnSetting> settings);

  void* raw() const { return raw_.get(); }

  template <typename Value>
  Result<Value> value(CudnnName attribute) const {
    Value value{};
    FATUNE_TRY_STATUS(read(attribute, 1, &value));
    return value;
  }
  /// The number of descriptors that descriptors() would return.
  Result<std::int64_t> count(CudnnName attribute) const { return read(attribute, 0, nullptr); }
  /// Up to `room` descriptors of `kind`, filled by cuDNN.
  Result<std::vector<CudnnDescriptor>> descriptors(CudnnName attribute, CudnnName kind,
                                                   std::int64_t room) const;

 private:
  static Result<CudnnDescriptor> create(const CudnnFunctions& functions, CudnnName kind);
  Result<std::int64_t> read(CudnnName attribute, std::int64_t room, void* values) const;

  const CudnnFunctions* functions_ = nullptr;
  CudnnName kind_;
  CudnnOwned raw_{nullptr, nullptr};
};

/// An error for a problem that this version of cuDNN is not given. Such a problem has rows that see
/// no key (cuDNN's result is undefined, ours is zero), or NVIDIA's own frontend refuses it.
Status check_cudnn_problem(const Attention& problem, std::size_t version);

/// Names of tensors in a graph and in the pointers bound to it.
namespace cudnn_id {
inline constexpr std::int64_t kQ = 1, kK = 2, kV = 3, kOut = 4;
inline constexpr std::int64_t kScale = 5, kMasked = 6, kSeqKv = 7, kSeqQ = 8;
// Scalars of fp8 problems.
inline constexpr std::int64_t kQDescale = 9, kKDescale = 10, kVDescale = 11;
inline constexpr std::int64_t kPScale = 12, kPDescale = 13, kOutScale = 14;
inline constexpr std::int64_t kPLargest = 15, kOutLargest = 16;  ///< outputs
inline constexpr std::int64_t kFirstVirtual = 100;  ///< first id of results inside the graph
}  // namespace cudnn_id

/// A scalar on the host that the graph reads at each execution.
struct CudnnScalar {
  std::int64_t id = 0;
  std::variant<float, std::int32_t> value;
};

/// A scalar in device memory that the graph reads or writes.
struct CudnnDeviceScalar {
  std::int64_t id = 0;
  float value = 0;
};

struct CudnnGraph {
  std::vector<CudnnScalar> scalars;
  std::vector<CudnnDeviceScalar> device_scalars;  ///< fp8 only, without the problem's factors
  std::vector<CudnnDescriptor> parts;             ///< descriptors that `graph` refers to
  CudnnDescriptor graph;
};

/// Matmul, scale, mask, softmax and matmul as separate operations. An fp8 graph also has one factor
/// a tensor, P's scale and the largest magnitudes of P and out, as cuDNN's pattern demands. Its
/// output is contiguous and of q's type. The problem must have passed check_cudnn_problem().
Result<CudnnGraph> build_cudnn_graph(const CudnnFunctions& functions, void* handle,
                                     const Attention& problem);

}  // namespace fatune
