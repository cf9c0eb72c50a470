// cutensor.cpp: Turns batched products into contractions over modes of rows, columns and batches.
#include "worker/baselines/cutensor.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "gpu/library.hpp"
#include "worker/baselines/cublas_lt.hpp"

namespace fatune {
namespace {

const GemmLibraryNames kCutensorNames = {
    .title = "cuTENSOR 2",
    .files = {"libcutensor.so.2"},
    .wheels = {"cutensor/lib"},
    .remedy =
        "install it with 'pip install cutensor-cu13' for the python3 on PATH, or name its "
        "folder in LD_LIBRARY_PATH"};

/// Names of modes. Batches are named from kFirstBatch on, the innermost first.
constexpr std::int32_t kModeM = 'm', kModeN = 'n', kModeK = 'k', kFirstBatch = '0';
/// Bytes; rows of every tensor begin at multiples of it.
constexpr std::uint32_t kOperandAlignment = 16;

struct OpenedCutensor {
  gpu::Library library;
  Cutensor table;  ///< without a handle
};

/// Opens cuBLASLt first, as cuTENSOR asks the loader for it by its bare name and wheels keep it
/// where no loader looks. If there is none, cuTENSOR's own error says so.
Result<OpenedCutensor> load_cutensor() {
  static_cast<void>(find_cublas_lt());
  FATUNE_TRY(const gpu::Library library, open_gemm_library(kCutensorNames));
  OpenedCutensor opened{library, {}};
  gpu::SymbolLoader symbols(library);
#define FATUNE_LOAD(member, result, arguments, symbol) \
  symbols.load(opened.table.functions.member, symbol);
  FATUNE_CUTENSOR_FUNCTIONS(FATUNE_LOAD)
#undef FATUNE_LOAD
  void** sum_in_f32 = nullptr;  // the symbol is a variable that holds the pointer
  symbols.load(sum_in_f32, "CUTENSOR_COMPUTE_DESC_32F");
  if (!symbols.missing().empty()) {
    return environment_error(
        fmt::format("{} lacks {}; {}", library.path(), symbols.missing(), kCutensorNames.remedy));
  }
  opened.table.sum_in_f32 = *sum_in_f32;
  return opened;
}

Result<Cutensor> open_cutensor() {
  FATUNE_TRY(OpenedCutensor opened, load_cutensor());
  Cutensor& table = opened.table;
  const int status = table.functions.create(&table.handle);
  if (status == kCutensorSuccess) return table;
  return environment_error(fmt::format(
      "{} does not start: {}; {}", opened.library.path(),
      gemm_status_text(table.functions.status_text(status), status), kCutensorNames.remedy));
}

}  // namespace

Result<std::string> find_cutensor() {
  FATUNE_TRY(const OpenedCutensor opened, load_cutensor());
  const CutensorFunctions& functions = opened.table.functions;
  const auto file = gpu::file_of(reinterpret_cast<const void*>(functions.version));
  return fmt::format("{} ({})", gemm_version_text(functions.version()), file);
}

const Result<Cutensor>& cutensor() {
  static const Result<Cutensor> library = open_cutensor();
  return library;
}

CutensorTensor cutensor_tensor(const GemmPlan& plan, std::size_t operand) {
  constexpr std::int32_t kModes[3][2] = {{kModeM, kModeK}, {kModeK, kModeN}, {kModeM, kModeN}};
  const GemmOperand& from = plan.operands[operand];
  auto [rows, columns] = std::pair(kModes[operand][0], kModes[operand][1]);
  if (from.transpose) std::swap(rows, columns);
  CutensorTensor tensor{{columns, rows}, {from.columns, from.rows}, {1, from.pitch}};
  std::int32_t mode = kFirstBatch;
  const auto add_batch = [&](std::int64_t size, std::int64_t stride) {
    const std::int32_t name = mode++;
    if (size == 1 || stride == 0) return;
    tensor.modes.push_back(name);
    tensor.extents.push_back(size);
    tensor.strides.push_back(stride);
  };
  add_batch(plan.batch, from.stride);
  for (std::size_t i = plan.outer.size(); i-- > 0;) add_batch(plan.outer[i], from.outer_strides[i]);
  return tensor;
}

CutensorGemm::CutensorGemm(const Cutensor& library, const GemmPlan& plan)
    : library_(library), plan_(plan) {}

Status CutensorGemm::check(int status, const char* doing) const {
  if (status == kCutensorSuccess) return {};
  return device_error(
      fmt::format("cuTENSOR, {}: cannot {}: {}", describe(plan_), doing,
                  gemm_status_text(library_.functions.status_text(status), status)));
}

Status CutensorGemm::describe_product() {
  const CutensorFunctions& f = library_.functions;
  void* raw = nullptr;
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    CutensorTensor& shape = shapes_[i] = cutensor_tensor(plan_, i);
    FATUNE_TRY_STATUS(
        check(f.create_tensor(library_.handle, &raw, static_cast<std::uint32_t>(shape.modes.size()),
                              shape.extents.data(), shape.strides.data(),
                              cuda_type(plan_.operands[i].type), kOperandAlignment),
              "describe an operand"));
    tensors_.emplace_back(raw, f.destroy_tensor);
  }
  const auto& [a, b, c] = shapes_;
  FATUNE_TRY_STATUS(check(
      f.create_contraction(library_.handle, &raw, tensors_[0].get(), a.modes.data(),
                           kCutensorIdentity, tensors_[1].get(), b.modes.data(), kCutensorIdentity,
                           tensors_[2].get(), c.modes.data(), kCutensorIdentity, tensors_[2].get(),
                           c.modes.data(), library_.sum_in_f32),
      "describe the contraction"));
  contraction_ = Owned(raw, f.destroy_contraction);
  return {};
}

/// Returns the library's status; any but success leaves no plan. Rank 0 is the library's own
/// choice.
Result<int> CutensorGemm::make_plan(std::int64_t rank) {
  const CutensorFunctions& f = library_.functions;
  void* raw = nullptr;
  FATUNE_TRY_STATUS(
      check(f.create_preference(library_.handle, &raw, kCutensorAlgorithmDefault, kCutensorNoJit),
            "make a preference"));
  const Owned preference(raw, f.destroy_preference);
  const auto wanted = static_cast<std::int32_t>(rank);
  if (wanted > 0) {
    FATUNE_TRY_STATUS(check(f.set_preference(library_.handle, preference.get(), kCutensorKernelRank,
                                             &wanted, sizeof wanted),
                            "ask for a kernel's rank"));
  }
  const int status = f.create_plan(library_.handle, &raw, contraction_.get(), preference.get(),
                                   kGemmWorkspaceLimit);
  if (status == kCutensorSuccess) made_ = Owned(raw, f.destroy_plan);
  return status;
}

/// Takes the kernel of the plan's rank, or the last one before it if the plan allows that.
Status CutensorGemm::choose() {
  FATUNE_TRY(int status, make_plan(plan_.algorithm));
  while (status == kCutensorNotSupported && plan_.or_last && plan_.algorithm > 0) {
    FATUNE_TRY(status, make_plan(--plan_.algorithm));
  }
  if (status == kCutensorNotSupported) {
    return device_error(fmt::format("cuTENSOR has no kernel of rank {} for {}, counted from 0",
                                    plan_.algorithm, describe(plan_)));
  }
  FATUNE_TRY_STATUS(check(status, "plan the contraction"));
  return check(
      library_.functions.plan_attribute(library_.handle, made_.get(), kCutensorRequiredWorkspace,
                                        &workspace_bytes_, sizeof workspace_bytes_),
      "ask for the workspace");
}

Status CutensorGemm::queue(const GemmAddresses& addresses, CUdeviceptr workspace,
                           CUstream stream) const {
  const auto pointer = [](CUdeviceptr address) { return reinterpret_cast<void*>(address); };
  const auto alpha = static_cast<float>(plan_.alpha);
  const float beta = 0;
  void* const out = pointer(addresses[2]);
  return check(library_.functions.contract(library_.handle, made_.get(), &alpha,
                                           pointer(addresses[0]), pointer(addresses[1]), &beta, out,
                                           out, pointer(workspace), workspace_bytes_, stream),
               "queue the contraction");
}

std::string CutensorGemm::detail() const {
  return fmt::format("cuTENSOR {}, kernel of rank {}",
                     gemm_version_text(library_.functions.version()), plan_.algorithm);
}

Result<std::unique_ptr<BatchedGemm>> CutensorGemm::make(const Cutensor& library,
                                                        const GemmPlan& plan) {
  std::unique_ptr<CutensorGemm> gemm(new CutensorGemm(library, plan));
  FATUNE_TRY_STATUS(gemm->describe_product());
  FATUNE_TRY_STATUS(gemm->choose());
  return std::unique_ptr<BatchedGemm>(std::move(gemm));
}

}  // namespace fatune
