// cublas_lt.hpp: Runs batched products through cuBLASLt, opened at run time.
#pragma once

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

// Values of cublasLt.h and cublas_api.h, equal in versions 12 and 13.
inline constexpr int kCublasSuccess = 0;
inline constexpr int kCublasNotSupported = 15;
inline constexpr int kCublasCompute32F = 68;
inline constexpr int kCublasTranspose = 1;
inline constexpr int kMatmulTransposeA = 3;        // CUBLASLT_MATMUL_DESC_TRANSA, int32
inline constexpr int kMatmulTransposeB = 4;        // CUBLASLT_MATMUL_DESC_TRANSB, int32
inline constexpr int kLayoutBatchCount = 5;        // CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, int32
inline constexpr int kLayoutBatchStride = 6;       // ..._STRIDED_BATCH_OFFSET, int64
inline constexpr int kPreferenceMaxWorkspace = 1;  // ..._PREF_MAX_WORKSPACE_BYTES, uint64

struct CublasLtAlgorithm {
  std::uint64_t data[8];
};
struct CublasLtHeuristic {
  CublasLtAlgorithm algorithm;
  std::size_t workspace_bytes;
  int state;  ///< the other members are set only for kCublasSuccess
  float waves;
  int reserved[4];
};

/// Member, result, arguments, symbol. Objects are pointers to the library's own types.
#define FATUNE_CUBLAS_LT_FUNCTIONS(X)                                                              \
  X(version, std::size_t, (), "cublasLtGetVersion")                                                \
  X(status_text, const char*, (int status), "cublasLtGetStatusString")                             \
  X(create, int, (void** handle), "cublasLtCreate")                                                \
  X(create_matmul, int, (void** matmul, int compute_type, int scale_type),                         \
    "cublasLtMatmulDescCreate")                                                                    \
  X(destroy_matmul, int, (void* matmul), "cublasLtMatmulDescDestroy")                              \
  X(set_matmul, int, (void* matmul, int attribute, const void* value, std::size_t bytes),          \
    "cublasLtMatmulDescSetAttribute")                                                              \
  X(create_layout, int,                                                                            \
    (void** layout, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t pitch),      \
    "cublasLtMatrixLayoutCreate")                                                                  \
  X(destroy_layout, int, (void* layout), "cublasLtMatrixLayoutDestroy")                            \
  X(set_layout, int, (void* layout, int attribute, const void* value, std::size_t bytes),          \
    "cublasLtMatrixLayoutSetAttribute")                                                            \
  X(create_preference, int, (void** preference), "cublasLtMatmulPreferenceCreate")                 \
  X(destroy_preference, int, (void* preference), "cublasLtMatmulPreferenceDestroy")                \
  X(set_preference, int, (void* preference, int attribute, const void* value, std::size_t bytes),  \
    "cublasLtMatmulPreferenceSetAttribute")                                                        \
  X(heuristic, int,                                                                                \
    (void* handle, void* matmul, void* a, void* b, void* c, void* d, void* preference, int wanted, \
     CublasLtHeuristic* results, int* found),                                                      \
    "cublasLtMatmulAlgoGetHeuristic")                                                              \
  X(matmul, int,                                                                                   \
    (void* handle, void* matmul, const void* alpha, const void* a, void* a_layout, const void* b,  \
     void* b_layout, const void* beta, const void* c, void* c_layout, void* d, void* d_layout,     \
     const CublasLtAlgorithm* algorithm, void* workspace, std::size_t workspace_bytes,             \
     CUstream stream),                                                                             \
    "cublasLtMatmul")

struct CublasLtFunctions {
#define FATUNE_DECLARE(member, result, arguments, symbol) result(*member) arguments = nullptr;
  FATUNE_CUBLAS_LT_FUNCTIONS(FATUNE_DECLARE)
#undef FATUNE_DECLARE
};

struct CublasLt {
  CublasLtFunctions functions{};
  void* handle = nullptr;  ///< kept for the life of the process
};

/// Entries requested of the heuristic's list.
inline constexpr int kGemmAlgorithms = 8;

/// "13.0.2 (/usr/local/cuda/lib64/libcublasLt.so.13)"; needs no context. An environment error
/// names every place tried.
Result<std::string> find_cublas_lt();

/// Opens cuBLASLt once for the life of the process; needs a current context. An error names the
/// missing file and the remedy.
const Result<CublasLt>& cublas_lt();

/// A product by cuBLASLt. Its batch has one stride from matrix to matrix.
class CublasLtGemm : public BatchedGemm {
 public:
  /// The library must outlive the product. An algorithm that the library does not offer is a
  /// device error that says how many there are.
  static Result<std::unique_ptr<BatchedGemm>> make(const CublasLt& library, const GemmPlan& plan);
  std::size_t workspace_bytes() const override { return chosen_.workspace_bytes; }
  Status queue(const GemmAddresses& addresses, CUdeviceptr workspace,
               CUstream stream) const override;
  /// "cuBLASLt 13.1.0, algorithm 0 of 8".
  std::string detail() const override;

 private:
  /// A descriptor and the function that destroys it.
  using Owned = std::unique_ptr<void, int (*)(void*)>;
  CublasLtGemm(const CublasLt& library, const GemmPlan& plan);
  Status check(int status, const char* doing) const;
  Status describe_product();
  Status add_layout(const GemmOperand& operand);
  Status choose();

  const CublasLt& library_;
  GemmPlan plan_;
  Owned matmul_{nullptr, nullptr};
  std::vector<Owned> layouts_;  ///< of a, b, c
  CublasLtHeuristic chosen_{};
  int offered_ = 0;
};

}  // namespace fatune
