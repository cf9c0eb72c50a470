// cublas_lt.hpp - batched products through cuBLASLt, opened at run time.
#pragma once

#include <memory>
#include <string>

#include "core/result.hpp"
#include "worker/baselines/cublas_lt_api.hpp"
#include "worker/baselines/gemm.hpp"

namespace fatune {

struct CublasLt {
  CublasLtFunctions functions{};
  void* handle = nullptr;  ///< kept for the life of the process
};

/// Entries of the heuristic's list that are asked for.
inline constexpr int kGemmAlgorithms = 8;
/// The most scratch memory that an algorithm may ask for. Chosen: what the vendor recommends for
/// Hopper.
inline constexpr std::size_t kGemmWorkspaceLimit = std::size_t{32} << 20;

/// "13.0.2 (/usr/local/cuda/lib64/libcublasLt.so.13)", without a context; an environment error
/// names every place tried.
Result<std::string> find_cublas_lt();
/// Opened at the first call, in the context that is current then; the answer stays.
Result<const CublasLt*> cublas_lt();

/// `library` must outlive the product.
Result<std::unique_ptr<BatchedGemm>> make_cublas_gemm(const CublasLt& library,
                                                      const GemmPlan& plan);

}  // namespace fatune
