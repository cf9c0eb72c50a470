// cutensor_test.cpp: Checks a contraction's calls to cuTENSOR, on a stand-in function table.
#include "worker/baselines/cutensor.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "model/kernel/candidate.hpp"
#include "support/sample_kernel.hpp"

using namespace fatune;

namespace {

using Numbers = std::vector<std::int64_t>;

/// Arguments of the calls of the stand-ins; one test at a time.
struct Told {
  std::vector<std::string> calls;
  std::vector<Numbers> extents, strides;
  std::vector<int> types;
  std::vector<std::uint32_t> alignments;
  std::vector<std::string> modes;  ///< of a, b, c, d
  std::vector<void*> tensors;      ///< of a, b, c, d
  std::vector<std::int32_t> ranks;
  std::uint64_t workspace_limit = 0;
  std::int32_t kernels = 3;
  int refusal = kCutensorNotSupported;  ///< of a rank that there is not
  int alive = 0;
  std::vector<const void*> operands;
  float alpha = 0;
  std::uint64_t workspace_bytes = 0;
  int contract_status = kCutensorSuccess;
};
Told* said = nullptr;

void* handle_numbered(std::size_t number) { return reinterpret_cast<void*>(number); }

int make_handle(void** made, std::size_t number) {
  ++said->alive;
  *made = handle_numbered(number);
  return kCutensorSuccess;
}

int release(void*) {
  --said->alive;
  return kCutensorSuccess;
}

int create_tensor(void*, void** tensor, std::uint32_t modes, const std::int64_t* extents,
                  const std::int64_t* strides, int type, std::uint32_t alignment) {
  said->extents.emplace_back(extents, extents + modes);
  said->strides.emplace_back(strides, strides + modes);
  said->types.push_back(type);
  said->alignments.push_back(alignment);
  return make_handle(tensor, said->extents.size());
}

/// As many as the tensor has, which is a handle counted from 1.
std::string modes_of(void* tensor, const std::int32_t* modes) {
  const std::size_t count = said->extents.at(reinterpret_cast<std::size_t>(tensor) - 1).size();
  return std::string(modes, modes + count);
}

int create_contraction(void*, void** contraction, void* a, const std::int32_t* a_modes, int,
                       void* b, const std::int32_t* b_modes, int, void* c,
                       const std::int32_t* c_modes, int, void* d, const std::int32_t* d_modes,
                       void* compute_type) {
  said->calls.emplace_back("describe");
  said->tensors = {a, b, c, d};
  said->modes = {modes_of(a, a_modes), modes_of(b, b_modes), modes_of(c, c_modes),
                 modes_of(d, d_modes)};
  CHECK(compute_type == handle_numbered(32));
  return make_handle(contraction, 50);
}

int set_preference(void*, void*, int attribute, const void* value, std::size_t bytes) {
  CHECK(attribute == kCutensorKernelRank);
  CHECK(bytes == sizeof(std::int32_t));
  std::memcpy(&said->ranks.emplace_back(), value, sizeof(std::int32_t));
  return kCutensorSuccess;
}

int create_plan(void*, void** plan, void*, void*, std::uint64_t workspace_limit) {
  said->calls.emplace_back("plan");
  said->workspace_limit = workspace_limit;
  if (!said->ranks.empty() && said->ranks.back() >= said->kernels) return said->refusal;
  return make_handle(plan, 60);
}

int plan_attribute(void*, void*, int attribute, void* value, std::size_t bytes) {
  CHECK(attribute == kCutensorRequiredWorkspace);
  CHECK(bytes == sizeof(std::uint64_t));
  const std::uint64_t workspace = 4096;
  std::memcpy(value, &workspace, sizeof workspace);
  return kCutensorSuccess;
}

int contract(void*, void*, const void* alpha, const void* a, const void* b, const void* beta,
             const void* c, void* d, void*, std::uint64_t workspace_bytes, CUstream) {
  said->calls.emplace_back("contract");
  said->operands = {a, b, c, d};
  std::memcpy(&said->alpha, alpha, sizeof said->alpha);
  float added = 1;
  std::memcpy(&added, beta, sizeof added);
  CHECK(added == 0);
  said->workspace_bytes = workspace_bytes;
  return said->contract_status;
}

Cutensor fake_cutensor() {
  Cutensor library;
  library.sum_in_f32 = handle_numbered(32);
  CutensorFunctions& f = library.functions;
  f.version = [] { return std::size_t{20801}; };
  f.status_text = [](int) { return "CUTENSOR_STATUS_EXECUTION_FAILED"; };
  f.create_tensor = create_tensor;
  f.create_contraction = create_contraction;
  f.create_preference = [](void*, void** preference, int algorithm, int jit) {
    CHECK(algorithm == kCutensorAlgorithmDefault);
    CHECK(jit == kCutensorNoJit);
    return make_handle(preference, 70);
  };
  f.destroy_tensor = f.destroy_contraction = f.destroy_preference = f.destroy_plan = release;
  f.set_preference = set_preference;
  f.create_plan = create_plan;
  f.plan_attribute = plan_attribute;
  f.contract = contract;
  return library;
}

/// The stages of the kernel `cutensor` for a problem.
std::vector<GemmPlan> products_of(const Attention& problem) {
  const std::vector<KernelRef> kernels = project_kernels();
  const auto kernel = std::ranges::find_if(
      kernels, [](const KernelRef& each) { return each->manifest.name == "cutensor"; });
  REQUIRE(kernel != kernels.end());
  const auto plan =
      launch_plan({*kernel, default_config((*kernel)->manifest), problem}, limits_of("sm_90a"));
  INFO((plan ? "" : plan.error().message));
  REQUIRE(plan);
  REQUIRE(plan->stages.size() == 3);
  return {*plan->stages[0].gemm, *plan->stages[2].gemm};
}

Attention packed_problem() {
  Attention problem{.batch = 2, .heads = 6, .kv_heads = 2, .seq_q = 5, .seq_kv = 5, .head_dim = 32};
  const auto layouts = parse_layouts("packed");
  REQUIRE(layouts);
  problem.layouts = *layouts;
  return problem;
}

}  // namespace

TEST_CASE("rows, columns and batches of a packed grouped problem become modes") {
  Told told;
  said = &told;
  const Cutensor library = fake_cutensor();
  const Attention problem = packed_problem();
  const GemmPlan plan = products_of(problem)[0];
  CHECK(describe(plan) == "cutensor 5 x 5 x 32, 12 times");
  {
    auto made = CutensorGemm::make(library, plan);
    INFO((made ? "" : made.error().message));
    REQUIRE(made);
    const BatchedGemm& gemm = **made;
    CHECK(gemm.workspace_bytes() == 4096);
    CHECK(gemm.detail() == "cuTENSOR 2.8.1, kernel of rank 0");
    // A token has (heads + 2 kv_heads) * head_dim = 320 elements. Mode '0' is the query head of a
    // group, which keys do not have, '1' the key/value head, '2' the batch.
    CHECK(told.modes == std::vector<std::string>{"km012", "kn12", "nm012", "nm012"});
    CHECK(told.extents == std::vector<Numbers>{{32, 5, 3, 2, 2}, {32, 5, 2, 2}, {5, 5, 3, 2, 2}});
    CHECK(told.strides[0] == Numbers{1, 320, 32, 96, 5 * 320});
    CHECK(told.strides[1] == Numbers{1, 320, 32, 5 * 320});
    CHECK(told.strides[2] == Numbers{1, 8, 40, 120, 240});
    CHECK(told.types == std::vector<int>(3, kCudaReal16F));
    CHECK(told.alignments == std::vector<std::uint32_t>(3, 16));
    CHECK(told.tensors[2] == told.tensors[3]);
    CHECK(told.ranks.empty());
    CHECK(told.workspace_limit == kGemmWorkspaceLimit);

    REQUIRE(gemm.queue({0x1000, 0x2000, 0x3000}, 0x9000, nullptr));
    CHECK(told.operands ==
          std::vector<const void*>{handle_numbered(0x1000), handle_numbered(0x2000),
                                   handle_numbered(0x3000), handle_numbered(0x3000)});
    CHECK(told.alpha == static_cast<float>(plan.alpha));
    CHECK(told.workspace_bytes == 4096);
    CHECK(told.calls == std::vector<std::string>{"describe", "plan", "contract"});
  }
  CHECK(told.alive == 0);
}

TEST_CASE("a batch of one is no mode, and rows of one are") {
  const Attention problem{
      .batch = 1, .heads = 4, .kv_heads = 4, .seq_q = 1, .seq_kv = 64, .head_dim = 64};
  const CutensorTensor p = cutensor_tensor(products_of(problem)[1], 0);
  CHECK(p.modes == std::vector<std::int32_t>{'k', 'm', '1'});
  CHECK(p.extents == Numbers{64, 1, 4});
  const CutensorTensor v = cutensor_tensor(products_of(problem)[1], 1);
  CHECK(v.modes == std::vector<std::int32_t>{'n', 'k', '1'});
  CHECK(v.strides == Numbers{1, 64, 64 * 64});
}

TEST_CASE("a rank without a kernel is an error, or gives way to the last one") {
  Told told;
  said = &told;
  const Cutensor library = fake_cutensor();
  GemmPlan plan = products_of(packed_problem())[1];
  plan.algorithm = 5;
  const auto refused = CutensorGemm::make(library, plan);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::kDevice);
  CHECK(refused.error().message ==
        "cuTENSOR has no kernel of rank 5 for cutensor 5 x 32 x 5, 12 times, counted from 0");
  plan.or_last = true;
  const auto last = CutensorGemm::make(library, plan);
  REQUIRE(last);
  CHECK((*last)->detail() == "cuTENSOR 2.8.1, kernel of rank 2");
  CHECK(told.ranks == std::vector<std::int32_t>{5, 5, 4, 3, 2});
  told.refusal = 13;
  CHECK(CutensorGemm::make(library, plan).error().message ==
        "cuTENSOR, cutensor 5 x 32 x 5, 12 times: cannot plan the contraction: "
        "CUTENSOR_STATUS_EXECUTION_FAILED (13)");
}

TEST_CASE("a contraction that fails says what could not be done") {
  Told told;
  said = &told;
  const Cutensor library = fake_cutensor();
  told.contract_status = 13;
  auto made = CutensorGemm::make(library, products_of(packed_problem())[0]);
  REQUIRE(made);
  const Status queued = (*made)->queue({1, 2, 3}, 0, nullptr);
  REQUIRE_FALSE(queued);
  CHECK(queued.error().message ==
        "cuTENSOR, cutensor 5 x 5 x 32, 12 times: cannot queue the contraction: "
        "CUTENSOR_STATUS_EXECUTION_FAILED (13)");
}
