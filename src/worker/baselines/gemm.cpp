// gemm.cpp - chooses the library that a plan names.
#include "worker/baselines/gemm.hpp"

#include "core/check.hpp"
#include "worker/baselines/cublas_lt.hpp"

namespace fatune {

Result<std::unique_ptr<BatchedGemm>> open_gemm(const GemmPlan& plan) {
  switch (plan.library) {
    case GemmLibrary::kCublas: {
      FATUNE_TRY(const CublasLt* library, cublas_lt());
      return make_cublas_gemm(*library, plan);
    }
  }
  fail_check("library", "every GemmLibrary has a case", __FILE__, __LINE__);
}

}  // namespace fatune
