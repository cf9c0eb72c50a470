// cublas_lt_test.cpp: Checks a product's calls to cuBLASLt, on a stand-in function table.
#include "worker/baselines/cublas_lt.hpp"

#include <cstring>
#include <map>
#include <vector>

#include <catch2/catch_test_macros.hpp>

using namespace fatune;

namespace {

struct MatrixLayout {
  int type = 0;
  std::uint64_t rows = 0, columns = 0;
  std::int64_t pitch = 0, stride = 0;
  std::int32_t batch = 0;
};

/// Arguments of the calls of the stand-ins; one test at a time.
struct Library {
  std::vector<std::string> calls;
  std::map<int, std::int32_t> transposed;
  std::vector<MatrixLayout> layouts;
  std::uint64_t workspace_limit = 0;
  int offered = 3;
  int alive = 0;
  std::vector<const void*> operands, operand_layouts;
  float alpha = 0;
  std::uint64_t algorithm = 0;
  std::size_t workspace_bytes = 0;
  int matmul_status = kCublasSuccess;
};
Library* told = nullptr;

template <typename T>
T value_of(const void* value, std::size_t bytes) {
  CHECK(bytes == sizeof(T));
  T result{};
  std::memcpy(&result, value, sizeof result);
  return result;
}

int drop(void*) {
  --told->alive;
  return kCublasSuccess;
}

/// Layouts are their position, counted from 1.
void* handle_of(std::size_t position) { return reinterpret_cast<void*>(position); }
MatrixLayout& layout_of(void* layout) {
  return told->layouts.at(reinterpret_cast<std::size_t>(layout) - 1);
}

int create_layout(void** layout, int type, std::uint64_t rows, std::uint64_t columns,
                  std::int64_t pitch) {
  told->layouts.push_back({type, rows, columns, pitch, 0, 0});
  ++told->alive;
  *layout = handle_of(told->layouts.size());
  return kCublasSuccess;
}

int set_layout(void* layout, int attribute, const void* value, std::size_t bytes) {
  if (attribute == kLayoutBatchCount) {
    layout_of(layout).batch = value_of<std::int32_t>(value, bytes);
  } else {
    CHECK(attribute == kLayoutBatchStride);
    layout_of(layout).stride = value_of<std::int64_t>(value, bytes);
  }
  return kCublasSuccess;
}

int heuristic(void*, void*, void*, void*, void*, void*, void*, int wanted,
              CublasLtHeuristic* results, int* found) {
  told->calls.emplace_back("heuristic");
  CHECK(wanted == kGemmAlgorithms);
  for (int i = 0; i < told->offered; ++i) {
    results[i].algorithm.data[0] = static_cast<std::uint64_t>(100 + i);
    results[i].workspace_bytes = static_cast<std::size_t>(1000 * i);
  }
  *found = told->offered;
  return told->offered == 0 ? kCublasNotSupported : kCublasSuccess;
}

int matmul(void*, void*, const void* alpha, const void* a, void* a_layout, const void* b,
           void* b_layout, const void* beta, const void* c, void* c_layout, void* d, void* d_layout,
           const CublasLtAlgorithm* algorithm, void*, std::size_t workspace_bytes, CUstream) {
  told->calls.emplace_back("matmul");
  told->operands = {a, b, c, d};
  told->operand_layouts = {a_layout, b_layout, c_layout, d_layout};
  told->alpha = value_of<float>(alpha, sizeof(float));
  CHECK(value_of<float>(beta, sizeof(float)) == 0);
  told->algorithm = algorithm->data[0];
  told->workspace_bytes = workspace_bytes;
  return told->matmul_status;
}

CublasLt stand_in() {
  CublasLt library;
  CublasLtFunctions& f = library.functions;
  f.version = [] { return std::size_t{130100}; };
  f.status_text = [](int) { return "CUBLAS_STATUS_EXECUTION_FAILED"; };
  f.create_matmul = [](void** matmul, int compute, int scale) {
    told->calls.emplace_back("describe");
    CHECK(compute == kCublasCompute32F);
    CHECK(scale == kCudaReal32F);
    ++told->alive;
    *matmul = handle_of(99);
    return kCublasSuccess;
  };
  f.set_matmul = [](void*, int attribute, const void* value, std::size_t bytes) {
    told->transposed[attribute] = value_of<std::int32_t>(value, bytes);
    return kCublasSuccess;
  };
  f.create_preference = [](void** preference) {
    ++told->alive;
    *preference = handle_of(98);
    return kCublasSuccess;
  };
  f.set_preference = [](void*, int attribute, const void* value, std::size_t bytes) {
    CHECK(attribute == kPreferenceMaxWorkspace);
    told->workspace_limit = value_of<std::uint64_t>(value, bytes);
    return kCublasSuccess;
  };
  f.destroy_matmul = f.destroy_layout = f.destroy_preference = drop;
  f.create_layout = create_layout;
  f.set_layout = set_layout;
  f.heuristic = heuristic;
  f.matmul = matmul;
  return library;
}

/// Q K^T of 4 matrices: 40 x 64 and 35 x 64 to 40 x 35, rows of C 40 apart.
GemmPlan scores_plan() {
  GemmPlan plan;
  plan.m = 40, plan.n = 35, plan.k = 64, plan.batch = 4;
  plan.alpha = 0.125;
  plan.algorithm = 2;
  plan.operands[0] = {"q", GemmType::kBf16, 40, 64, 64, 2560, false};
  plan.operands[1] = {"k", GemmType::kBf16, 35, 64, 64, 2240, true};
  plan.operands[2] = {"scores", GemmType::kF32, 40, 35, 40, 1600, false};
  return plan;
}

}  // namespace

TEST_CASE("row-major operands reach the column-major library transposed and in turned order") {
  Library library;
  told = &library;
  const CublasLt functions = stand_in();
  {
    auto made = CublasLtGemm::make(functions, scores_plan());
    INFO((made ? "" : made.error().message));
    REQUIRE(made);
    const BatchedGemm& gemm = **made;
    CHECK(gemm.workspace_bytes() == 2000);
    CHECK(gemm.detail() == "cuBLASLt 13.1.0, algorithm 2 of 3");
    REQUIRE(library.layouts.size() == 3);
    const MatrixLayout& q = library.layouts[0];
    CHECK(q.type == kCudaReal16Bf);
    CHECK(q.rows == 64);
    CHECK(q.columns == 40);
    CHECK(q.pitch == 64);
    CHECK(q.stride == 2560);
    CHECK(q.batch == 4);
    const MatrixLayout& scores = library.layouts[2];
    CHECK(scores.type == kCudaReal32F);
    CHECK(scores.rows == 35);
    CHECK(scores.columns == 40);
    CHECK(scores.pitch == 40);
    CHECK(library.transposed == std::map<int, std::int32_t>{{kMatmulTransposeA, 1}});
    CHECK(library.workspace_limit == kGemmWorkspaceLimit);

    REQUIRE(gemm.queue({0x1000, 0x2000, 0x3000}, 0x9000, nullptr));
    CHECK(library.operands == std::vector<const void*>{handle_of(0x2000), handle_of(0x1000),
                                                       handle_of(0x3000), handle_of(0x3000)});
    CHECK(library.operand_layouts ==
          std::vector<const void*>{handle_of(2), handle_of(1), handle_of(3), handle_of(3)});
    CHECK(library.alpha == 0.125f);
    CHECK(library.algorithm == 102);
    CHECK(library.workspace_bytes == 2000);
    CHECK(library.calls == std::vector<std::string>{"describe", "heuristic", "matmul"});
  }
  CHECK(library.alive == 0);
}

TEST_CASE("an algorithm that the library does not offer is an error that counts those it has") {
  Library library;
  told = &library;
  const CublasLt functions = stand_in();
  library.offered = 2;
  const auto few = CublasLtGemm::make(functions, scores_plan());
  REQUIRE_FALSE(few);
  CHECK(few.error().kind == ErrorKind::kDevice);
  CHECK(few.error().message ==
        "cuBLASLt offers 2 algorithms for cublas 40 x 35 x 64, 4 times, counted from 0: there is "
        "no algorithm 2");
  GemmPlan lenient = scores_plan();
  lenient.or_last = true;
  const auto last = CublasLtGemm::make(functions, lenient);
  REQUIRE(last);
  CHECK((*last)->detail() == "cuBLASLt 13.1.0, algorithm 1 of 2");
  library.offered = 0;
  CHECK(CublasLtGemm::make(functions, scores_plan())
            .error()
            .message.starts_with("cuBLASLt offers 0 algorithms"));
}

TEST_CASE("a call that fails says what could not be done") {
  Library library;
  told = &library;
  const CublasLt functions = stand_in();
  library.matmul_status = 13;
  auto made = CublasLtGemm::make(functions, scores_plan());
  REQUIRE(made);
  const Status queued = (*made)->queue({1, 2, 3}, 0, nullptr);
  REQUIRE_FALSE(queued);
  CHECK(queued.error().message ==
        "cuBLASLt, cublas 40 x 35 x 64, 4 times: cannot queue the product: "
        "CUBLAS_STATUS_EXECUTION_FAILED (13)");
}
