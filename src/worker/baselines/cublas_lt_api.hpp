// cublas_lt_api.hpp - the part of cuBLASLt's interface that products need; the library brings no
// header along.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/driver.hpp"

namespace fatune {

// Values of cublasLt.h, cublas_api.h and library_types.h; the same in versions 12 and 13.
inline constexpr int kCublasSuccess = 0;
inline constexpr int kCublasNotSupported = 15;
inline constexpr int kCublasCompute32F = 68;
inline constexpr int kCublasTranspose = 1;
inline constexpr int kCudaReal32F = 0;
inline constexpr int kCudaReal16F = 2;
inline constexpr int kCudaReal16Bf = 14;
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
  int state;  ///< the others count only when it is kCublasSuccess
  float waves;
  int reserved[4];
};

/// Objects are pointers to what only the library knows.
struct CublasLtFunctions {
  std::size_t (*version)();
  const char* (*status_text)(int status);
  int (*create)(void** handle);
  int (*create_matmul)(void** matmul, int compute_type, int scale_type);
  int (*destroy_matmul)(void* matmul);
  int (*set_matmul)(void* matmul, int attribute, const void* value, std::size_t bytes);
  int (*create_layout)(void** layout, int type, std::uint64_t rows, std::uint64_t columns,
                       std::int64_t pitch);
  int (*destroy_layout)(void* layout);
  int (*set_layout)(void* layout, int attribute, const void* value, std::size_t bytes);
  int (*create_preference)(void** preference);
  int (*destroy_preference)(void* preference);
  int (*set_preference)(void* preference, int attribute, const void* value, std::size_t bytes);
  int (*heuristic)(void* handle, void* matmul, void* a, void* b, void* c, void* d, void* preference,
                   int wanted, CublasLtHeuristic* results, int* found);
  int (*matmul)(void* handle, void* matmul, const void* alpha, const void* a, void* a_layout,
                const void* b, void* b_layout, const void* beta, const void* c, void* c_layout,
                void* d, void* d_layout, const CublasLtAlgorithm* algorithm, void* workspace,
                std::size_t workspace_bytes, CUstream stream);
};

}  // namespace fatune
