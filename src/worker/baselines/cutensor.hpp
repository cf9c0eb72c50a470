// cutensor.hpp: Runs batched products as contractions of cuTENSOR 2, opened at run time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "gpu/driver.hpp"
#include "model/kernel/gemm.hpp"
#include "worker/baselines/batched_gemm.hpp"

namespace fatune {

// Values of cutensor.h, version 2. Enums are int.
inline constexpr int kCutensorSuccess = 0;
inline constexpr int kCutensorNotSupported = 15;
inline constexpr int kCutensorIdentity = 1;
inline constexpr int kCutensorAlgorithmDefault = -1;  // its performance model chooses
inline constexpr int kCutensorNoJit = 0;
inline constexpr int kCutensorKernelRank = 4;         // of a plan's preference, int32
inline constexpr int kCutensorRequiredWorkspace = 0;  // of a plan, uint64

/// Member, result, arguments, symbol. Objects are pointers to the library's own types.
#define FATUNE_CUTENSOR_FUNCTIONS(X)                                                              \
  X(version, std::size_t, (), "cutensorGetVersion")                                               \
  X(status_text, const char*, (int status), "cutensorGetErrorString")                             \
  X(create, int, (void** handle), "cutensorCreate")                                               \
  X(create_tensor, int,                                                                           \
    (void* handle, void** tensor, std::uint32_t modes, const std::int64_t* extents,               \
     const std::int64_t* strides, int type, std::uint32_t alignment),                             \
    "cutensorCreateTensorDescriptor")                                                             \
  X(destroy_tensor, int, (void* tensor), "cutensorDestroyTensorDescriptor")                       \
  X(create_contraction, int,                                                                      \
    (void* handle, void** contraction, void* a, const std::int32_t* a_modes, int a_operator,      \
     void* b, const std::int32_t* b_modes, int b_operator, void* c, const std::int32_t* c_modes,  \
     int c_operator, void* d, const std::int32_t* d_modes, void* compute_type),                   \
    "cutensorCreateContraction")                                                                  \
  X(destroy_contraction, int, (void* contraction), "cutensorDestroyOperationDescriptor")          \
  X(create_preference, int, (void* handle, void** preference, int algorithm, int jit),            \
    "cutensorCreatePlanPreference")                                                               \
  X(destroy_preference, int, (void* preference), "cutensorDestroyPlanPreference")                 \
  X(set_preference, int,                                                                          \
    (void* handle, void* preference, int attribute, const void* value, std::size_t bytes),        \
    "cutensorPlanPreferenceSetAttribute")                                                         \
  X(create_plan, int,                                                                             \
    (void* handle, void** plan, void* contraction, void* preference,                              \
     std::uint64_t workspace_limit),                                                              \
    "cutensorCreatePlan")                                                                         \
  X(destroy_plan, int, (void* plan), "cutensorDestroyPlan")                                       \
  X(plan_attribute, int,                                                                          \
    (void* handle, void* plan, int attribute, void* value, std::size_t bytes),                    \
    "cutensorPlanGetAttribute")                                                                   \
  X(contract, int,                                                                                \
    (void* handle, void* plan, const void* alpha, const void* a, const void* b, const void* beta, \
     const void* c, void* d, void* workspace, std::uint64_t workspace_bytes, CUstream stream),    \
    "cutensorContract")

struct CutensorFunctions {
#define FATUNE_DECLARE(member, result, arguments, symbol) result(*member) arguments = nullptr;
  FATUNE_CUTENSOR_FUNCTIONS(FATUNE_DECLARE)
#undef FATUNE_DECLARE
};

struct Cutensor {
  CutensorFunctions functions{};
  void* sum_in_f32 = nullptr;  ///< CUTENSOR_COMPUTE_DESC_32F
  void* handle = nullptr;      ///< kept for the life of the process
};

/// "2.8.1 (.../cutensor/lib/libcutensor.so.2)"; needs no context. An environment error names every
/// place tried.
Result<std::string> find_cutensor();

/// Opens cuTENSOR once for the life of the process; needs a current context. An error names the
/// missing file and the remedy.
const Result<Cutensor>& cutensor();

/// A tensor of a contraction, fastest mode first. Modes of one name are one index. Modes that only
/// a and b have are summed over.
struct CutensorTensor {
  std::vector<std::int32_t> modes;
  std::vector<std::int64_t> extents, strides;  ///< strides in elements
};
/// Modes of the plan's operand 0 (a), 1 (b) or 2 (c): its rows, columns and batches. Batches of one
/// matrix and batches that repeat the operand are left out.
CutensorTensor cutensor_tensor(const GemmPlan& plan, std::size_t operand);

/// A product as one contraction, planned once.
class CutensorGemm : public BatchedGemm {
 public:
  /// The library must outlive the product. A rank past the last kernel is a device error, and so
  /// are operands of several types, which cuTENSOR does not contract.
  static Result<std::unique_ptr<BatchedGemm>> make(const Cutensor& library, const GemmPlan& plan);
  std::size_t workspace_bytes() const override { return workspace_bytes_; }
  Status queue(const GemmAddresses& addresses, CUdeviceptr workspace,
               CUstream stream) const override;
  /// "cuTENSOR 2.8.1, kernel of rank 0".
  std::string detail() const override;

 private:
  /// A descriptor or plan, and the function that destroys it.
  using Owned = std::unique_ptr<void, int (*)(void*)>;
  CutensorGemm(const Cutensor& library, const GemmPlan& plan);
  Status check(int status, const char* doing) const;
  Status describe_product();
  Status choose();
  Result<int> make_plan(std::int64_t rank);

  const Cutensor& library_;
  GemmPlan plan_;
  std::array<CutensorTensor, 3> shapes_;
  std::vector<Owned> tensors_;  ///< of a, b, c
  Owned contraction_{nullptr, nullptr};
  Owned made_{nullptr, nullptr};  ///< the library's plan
  std::uint64_t workspace_bytes_ = 0;
};

}  // namespace fatune
