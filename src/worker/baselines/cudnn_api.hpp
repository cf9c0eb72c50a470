// cudnn_api.hpp - the functions and numbers of cuDNN's backend interface that fatune uses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/result.hpp"
#include "gpu/driver.hpp"

namespace fatune {

/// cuDNN's C functions as far as they are needed; enums and statuses travel as int.
struct CudnnFunctions {
  std::size_t (*version)() = nullptr;
  const char* (*status_text)(int) = nullptr;
  void (*last_error)(char*, std::size_t) = nullptr;
  int (*create)(void** handle) = nullptr;
  int (*destroy)(void* handle) = nullptr;
  int (*set_stream)(void* handle, CUstream) = nullptr;
  int (*create_descriptor)(int kind, void** descriptor) = nullptr;
  int (*destroy_descriptor)(void* descriptor) = nullptr;
  int (*set_attribute)(void* descriptor, int attribute, int type, std::int64_t count,
                       const void* values) = nullptr;
  int (*get_attribute)(void* descriptor, int attribute, int type, std::int64_t room,
                       std::int64_t* count, void* values) = nullptr;
  int (*finalize)(void* descriptor) = nullptr;
  int (*execute)(void* handle, void* plan, void* variant_pack) = nullptr;
};

/// "9.19.0" of 91900, the number that cudnnGetVersion gives since cuDNN 9.
std::string cudnn_version_text(std::size_t version);

/// What cuDNN says about its last error, or about engines that it passed over, on one line; may be
/// empty.
std::string cudnn_last_error(const CudnnFunctions& functions);
/// "cannot ...: CUDNN_STATUS_BAD_PARAM (2000): " and what cuDNN says about its last error. A device
/// error; also goes to the debug log, as many of these are met on the way to a plan that works.
Error cudnn_error(const CudnnFunctions& functions, int status, const std::string& doing);
/// Nothing for CUDNN_STATUS_SUCCESS, else cudnn_error().
Status cudnn_check(const CudnnFunctions& functions, int status, const std::string& doing);

/// A number of cuDNN's with its name there, for messages.
struct CudnnName {
  int value = 0;
  const char* text = "";
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
inline constexpr CudnnName kPointwiseMode{0, "POINTWISE_MODE"};
inline constexpr CudnnName kPointwisePrecision{1, "POINTWISE_MATH_PREC"};
inline constexpr CudnnName kPointwiseAxis{9, "POINTWISE_AXIS"};
inline constexpr CudnnName kHeuristicMode{200, "ENGINEHEUR_MODE"};
inline constexpr CudnnName kHeuristicGraph{201, "ENGINEHEUR_OPERATION_GRAPH"};
inline constexpr CudnnName kHeuristicResults{202, "ENGINEHEUR_RESULTS"};
inline constexpr CudnnName kConfigEngine{300, "ENGINECFG_ENGINE"};
inline constexpr CudnnName kConfigKnobs{302, "ENGINECFG_KNOB_CHOICES"};
inline constexpr CudnnName kPlanHandle{400, "EXECUTION_PLAN_HANDLE"};
inline constexpr CudnnName kPlanConfig{401, "EXECUTION_PLAN_ENGINE_CONFIG"};
inline constexpr CudnnName kPlanWorkspace{402, "EXECUTION_PLAN_WORKSPACE_SIZE"};
inline constexpr CudnnName kKnobType{600, "KNOB_CHOICE_KNOB_TYPE"};
inline constexpr CudnnName kKnobValue{601, "KNOB_CHOICE_KNOB_VALUE"};
inline constexpr CudnnName kPointwiseDescriptor{750, "OPERATION_POINTWISE_PW_DESCRIPTOR"};
inline constexpr CudnnName kPointwiseX{751, "OPERATION_POINTWISE_XDESC"};
inline constexpr CudnnName kPointwiseB{752, "OPERATION_POINTWISE_BDESC"};
inline constexpr CudnnName kPointwiseY{753, "OPERATION_POINTWISE_YDESC"};
inline constexpr CudnnName kPointwiseT{758, "OPERATION_POINTWISE_TDESC"};
inline constexpr CudnnName kGraphHandle{800, "OPERATIONGRAPH_HANDLE"};
inline constexpr CudnnName kGraphOperations{801, "OPERATIONGRAPH_OPS"};
inline constexpr CudnnName kTensorAlignment{900, "TENSOR_BYTE_ALIGNMENT"};
inline constexpr CudnnName kTensorDataType{901, "TENSOR_DATA_TYPE"};
inline constexpr CudnnName kTensorDimensions{902, "TENSOR_DIMENSIONS"};
inline constexpr CudnnName kTensorStrides{903, "TENSOR_STRIDES"};
inline constexpr CudnnName kTensorId{906, "TENSOR_UNIQUE_ID"};
inline constexpr CudnnName kTensorIsVirtual{907, "TENSOR_IS_VIRTUAL"};
inline constexpr CudnnName kTensorIsByValue{908, "TENSOR_IS_BY_VALUE"};
inline constexpr CudnnName kPackIds{1000, "VARIANT_PACK_UNIQUE_IDS"};
inline constexpr CudnnName kPackPointers{1001, "VARIANT_PACK_DATA_POINTERS"};
inline constexpr CudnnName kPackWorkspace{1003, "VARIANT_PACK_WORKSPACE"};
inline constexpr CudnnName kEngineIndex{1301, "ENGINE_GLOBAL_INDEX"};
inline constexpr CudnnName kMatmulPrecision{1500, "MATMUL_COMP_TYPE"};
inline constexpr CudnnName kMatmulA{1520, "OPERATION_MATMUL_ADESC"};
inline constexpr CudnnName kMatmulB{1521, "OPERATION_MATMUL_BDESC"};
inline constexpr CudnnName kMatmulC{1522, "OPERATION_MATMUL_CDESC"};
inline constexpr CudnnName kMatmulDescriptor{1523, "OPERATION_MATMUL_DESC"};
inline constexpr CudnnName kReductionOperator{1600, "REDUCTION_OPERATOR"};
inline constexpr CudnnName kReductionPrecision{1601, "REDUCTION_COMP_TYPE"};
inline constexpr CudnnName kReductionX{1610, "OPERATION_REDUCTION_XDESC"};
inline constexpr CudnnName kReductionY{1611, "OPERATION_REDUCTION_YDESC"};
inline constexpr CudnnName kReductionDescriptor{1612, "OPERATION_REDUCTION_DESC"};
}  // namespace cudnn_attribute

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

enum class CudnnData : int { kFloat = 0, kHalf = 2, kInt32 = 4, kBfloat16 = 9, kBoolean = 11 };

enum class CudnnPointwise : int {
  kAdd = 0,
  kMul = 1,
  kDiv = 6,
  kSub = 9,
  kExp = 13,
  kLog = 15,
  kGreaterOrEqual = 303,
  kIndex = 501,  ///< of each element along an axis
  kSelect = 601  ///< t ? x : b
};

enum class CudnnReduction : int { kAdd = 0, kMax = 3 };

enum class CudnnHeuristic : int { kB = 1, kFallback = 2, kA = 3 };

}  // namespace fatune
