// cublas_lt.cpp: Translates row-major batched products for a column-major library.
//
// A row-major matrix is its own transpose in column-major terms, with the same pitch. So our
// C = A B is the library's C^T = B^T A^T. The library's first operand is our b, its second our a.
// Rows and columns of every layout are swapped. The operands' transpose flags stay as they are.
#include "worker/baselines/cublas_lt.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "gpu/library.hpp"

namespace fatune {
namespace {

const GemmLibraryNames kCublasNames = {
    .title = "cuBLAS",
    .files = {"libcublasLt.so.13", "libcublasLt.so.12"},
    .wheels = {"nvidia/cu13/lib", "nvidia/cublas/lib"},
    .remedy =
        "install it with 'pip install nvidia-cublas' (PyTorch's CUDA wheels and the CUDA toolkit "
        "bring it), or name its folder in LD_LIBRARY_PATH"};

Result<CublasLtFunctions> load_cublas_lt(const gpu::Library& library) {
  CublasLtFunctions functions;
  gpu::SymbolLoader symbols(library);
#define FATUNE_LOAD(member, result, arguments, symbol) symbols.load(functions.member, symbol);
  FATUNE_CUBLAS_LT_FUNCTIONS(FATUNE_LOAD)
#undef FATUNE_LOAD
  if (symbols.missing().empty()) return functions;
  return environment_error(
      fmt::format("{} lacks {}; {}", library.path(), symbols.missing(), kCublasNames.remedy));
}

Result<CublasLt> open_cublas_lt() {
  FATUNE_TRY(const gpu::Library library, open_gemm_library(kCublasNames));
  CublasLt opened;
  FATUNE_TRY(opened.functions, load_cublas_lt(library));
  const int status = opened.functions.create(&opened.handle);
  if (status == kCublasSuccess) return opened;
  return environment_error(fmt::format(
      "{} does not start: {}; {}", library.path(),
      gemm_status_text(opened.functions.status_text(status), status), kCublasNames.remedy));
}

}  // namespace

Result<std::string> find_cublas_lt() {
  FATUNE_TRY(const gpu::Library library, open_gemm_library(kCublasNames));
  FATUNE_TRY(const CublasLtFunctions functions, load_cublas_lt(library));
  const auto file = gpu::file_of(reinterpret_cast<const void*>(functions.version));
  return fmt::format("{} ({})", gemm_version_text(functions.version()), file);
}

CublasLtGemm::CublasLtGemm(const CublasLt& library, const GemmPlan& plan)
    : library_(library), plan_(plan) {}

Status CublasLtGemm::check(int status, const char* doing) const {
  if (status == kCublasSuccess) return {};
  return device_error(
      fmt::format("cuBLASLt, {}: cannot {}: {}", describe(plan_), doing,
                  gemm_status_text(library_.functions.status_text(status), status)));
}

Status CublasLtGemm::describe_product() {
  const CublasLtFunctions& f = library_.functions;
  void* raw = nullptr;
  FATUNE_TRY_STATUS(
      check(f.create_matmul(&raw, kCublasCompute32F, kCudaReal32F), "describe the product"));
  matmul_ = Owned(raw, f.destroy_matmul);
  // The library's first operand is our b.
  for (const auto& [operand, which] : {std::pair(1, kMatmulTransposeA), {0, kMatmulTransposeB}}) {
    const std::int32_t yes = kCublasTranspose;
    if (!plan_.operands[static_cast<std::size_t>(operand)].transpose) continue;
    FATUNE_TRY_STATUS(check(f.set_matmul(raw, which, &yes, sizeof yes), "transpose an operand"));
  }
  for (const GemmOperand& operand : plan_.operands) FATUNE_TRY_STATUS(add_layout(operand));
  return {};
}

Status CublasLtGemm::add_layout(const GemmOperand& operand) {
  const CublasLtFunctions& f = library_.functions;
  void* raw = nullptr;
  FATUNE_TRY_STATUS(check(
      f.create_layout(&raw, cuda_type(operand.type), static_cast<std::uint64_t>(operand.columns),
                      static_cast<std::uint64_t>(operand.rows), operand.pitch),
      "describe an operand"));
  layouts_.emplace_back(raw, f.destroy_layout);
  const auto count = static_cast<std::int32_t>(plan_.batch);
  FATUNE_TRY_STATUS(
      check(f.set_layout(raw, kLayoutBatchCount, &count, sizeof count), "set a batch's size"));
  return check(f.set_layout(raw, kLayoutBatchStride, &operand.stride, sizeof operand.stride),
               "set a batch's stride");
}

/// Takes the plan's entry of the library's list.
Status CublasLtGemm::choose() {
  const CublasLtFunctions& f = library_.functions;
  void* raw = nullptr;
  FATUNE_TRY_STATUS(check(f.create_preference(&raw), "make a preference"));
  const Owned preference(raw, f.destroy_preference);
  const std::uint64_t limit = kGemmWorkspaceLimit;
  FATUNE_TRY_STATUS(check(f.set_preference(raw, kPreferenceMaxWorkspace, &limit, sizeof limit),
                          "limit the workspace"));
  CublasLtHeuristic results[kGemmAlgorithms] = {};
  const int status =
      f.heuristic(library_.handle, matmul_.get(), layouts_[1].get(), layouts_[0].get(),
                  layouts_[2].get(), layouts_[2].get(), raw, kGemmAlgorithms, results, &offered_);
  if (status == kCublasNotSupported)
    offered_ = 0;
  else
    FATUNE_TRY_STATUS(check(status, "ask for algorithms"));
  if (plan_.or_last && offered_ > 0)
    plan_.algorithm = std::min<std::int64_t>(plan_.algorithm, offered_ - 1);
  if (plan_.algorithm >= offered_) {
    return device_error(fmt::format(
        "cuBLASLt offers {} algorithms for {}, counted from 0: there is no algorithm {}", offered_,
        describe(plan_), plan_.algorithm));
  }
  chosen_ = results[plan_.algorithm];
  return check(chosen_.state, "use the algorithm");
}

Status CublasLtGemm::queue(const GemmAddresses& addresses, CUdeviceptr workspace,
                           CUstream stream) const {
  const auto pointer = [](CUdeviceptr address) { return reinterpret_cast<void*>(address); };
  const auto alpha = static_cast<float>(plan_.alpha);
  const float beta = 0;
  void* const out = pointer(addresses[2]);
  return check(
      library_.functions.matmul(library_.handle, matmul_.get(), &alpha, pointer(addresses[1]),
                                layouts_[1].get(), pointer(addresses[0]), layouts_[0].get(), &beta,
                                out, layouts_[2].get(), out, layouts_[2].get(), &chosen_.algorithm,
                                pointer(workspace), chosen_.workspace_bytes, stream),
      "queue the product");
}

std::string CublasLtGemm::detail() const {
  return fmt::format("cuBLASLt {}, algorithm {} of {}",
                     gemm_version_text(library_.functions.version()), plan_.algorithm, offered_);
}

Result<std::unique_ptr<BatchedGemm>> CublasLtGemm::make(const CublasLt& library,
                                                        const GemmPlan& plan) {
  std::unique_ptr<CublasLtGemm> gemm(new CublasLtGemm(library, plan));
  FATUNE_TRY_STATUS(gemm->describe_product());
  FATUNE_TRY_STATUS(gemm->choose());
  return std::unique_ptr<BatchedGemm>(std::move(gemm));
}

const Result<CublasLt>& cublas_lt() {
  static const Result<CublasLt> library = open_cublas_lt();
  return library;
}

}  // namespace fatune
