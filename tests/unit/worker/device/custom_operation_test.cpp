// custom_operation_test.cpp: Checks a custom operation in a worker: reference, edges, poison,
// baselines.
#include "support/custom_operation.hpp"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "support/evaluate_fakes.hpp"
#include "tune/evaluate/final_phase.hpp"
#include "tune/evaluate/implementations.hpp"
#include "tune/evaluate/preparation.hpp"
#include "worker/gates/findings.hpp"
#include "worker/protocol/messages.hpp"

using namespace fatune;
using namespace fatune::test;

namespace {

const std::string kTolerance = R"("tolerance": {"absolute": 1e-3, "why": "a test"}, "hard_inputs")";

PreparationSetting setting_of(const std::vector<KernelRef>& kernels) {
  return {kernels.back(), *typical_limits(Arch{90, 'a'}), 10};
}

std::string refused(const std::string& impl, std::string_view operation) {
  const std::vector<KernelRef> custom = custom_kernels();
  const std::vector<KernelRef> kernels = {tiled_kernel("rows"), custom[0], custom[1]};
  const Status status = check_implementations({impl}, kernels, operation);
  return status ? "" : status.error().message;
}

}  // namespace

TEST_CASE(
    "reference and low-precision reference are compiled for the whole problem, and the tensors go "
    "along") {
  FakeCompiler compiler;
  const Problem problem = custom_test_problem();
  const auto setting = setting_of(custom_kernels());
  const auto pending = request_problem(compiler, setting, problem, search_cases(problem, 42));
  REQUIRE(pending);
  REQUIRE(compiler.requests.size() == 3);
  CHECK(has_macro(compiler.requests[0], "OUT_F32=1"));
  CHECK(has_macro(compiler.requests[0], "ROWS=512"));
  CHECK(has_macro(compiler.requests[1], "ROUND_INTERMEDIATES=1"));
  const auto order = finish_problem(compiler, *pending);
  REQUIRE(order);
  REQUIRE(order->custom);
  CHECK(order->custom->inputs().size() == 2);
  CHECK(order->custom->outputs().size() == 2);
  const auto read = read_message<BeginOrder>(sent(to_json(*order)));
  REQUIRE(read);
  CHECK(read->custom == order->custom);
  CHECK(read->problem == problem);
}

TEST_CASE("with a declared tolerance there is no low-precision reference") {
  FakeCompiler compiler;
  const auto kernels = load_custom(changed(kCustomReference, "\"hard_inputs\"", kTolerance));
  REQUIRE(kernels);
  const auto setting = setting_of(*kernels);
  const auto pending =
      request_problem(compiler, setting, custom_test_problem(), search_cases({}, 42));
  REQUIRE(pending);
  CHECK(compiler.requests.size() == 2);
  const auto order = finish_problem(compiler, *pending);
  REQUIRE(order);
  CHECK(order->low_precision.cubin.empty());
  CHECK(order->custom->tolerance->absolute == 1e-3);
  CHECK(read_message<BeginOrder>(sent(to_json(*order))));
}

TEST_CASE("the reference of another operation cannot prepare it") {
  FakeCompiler compiler;
  const PreparationSetting setting{tiled_kernel("naive", "reference"),
                                   *typical_limits(Arch{90, 'a'}), 10};
  const auto pending =
      request_problem(compiler, setting, custom_test_problem(), search_cases({}, 42));
  REQUIRE_FALSE(pending);
  CHECK(pending.error().message.find("computes attention, not scale") != std::string::npos);
}

TEST_CASE("problems larger than the memory are refused with the flag") {
  DeviceLimits limits = *typical_limits(Arch{90, 'a'});
  limits.memory_bytes = 1 << 20;
  const auto check = [&](Problem problem) {
    problem.as_custom().bytes_read = 1;  // as of a gather, which need not read what there is
    return check_memory(*custom_kernels().front()->manifest.operation, problem, {}, limits, 2);
  };
  const Status status = check(custom_test_problem(65536, 4096));
  REQUIRE_FALSE(status);
  CHECK(status.error().message.find("choose a smaller --size") != std::string::npos);
  CHECK_FALSE(check(custom_test_problem(512, 512)));  // inputs of 512 KiB, twice, alone fill it
  CHECK(check(custom_test_problem(1, 1)));
}

TEST_CASE("finalists meet the hard inputs that are declared, on the last edge, too") {
  const OperationRef operation = custom_kernels().front()->manifest.operation;
  const Problem problem = custom_test_problem();
  CHECK(final_cases(*operation, problem, 42) ==
        std::vector<InputCase>{{Distribution::kNormal, 42},
                               {Distribution::kNormal, 43},
                               {Distribution::kOutliers, 42},
                               {Distribution::kZeros, 42}});
  const auto edges = operation->edge_problems(problem, 42);
  REQUIRE(edges);
  REQUIRE(edges->size() == 2);
  CHECK(describe((*edges)[0].problem) == "scale ROWS=1,COLUMNS=1 f16");
  CHECK((*edges)[0].cases.size() == 1);
  CHECK((*edges)[1].cases.size() == 3);
}

TEST_CASE("a final phase begins with the declared tensors") {
  const auto kernels = custom_kernels();
  FakeCompiler compiler;
  auto* link = new FakeLink;
  DeviceWorker worker{std::unique_ptr<WorkerLink>(link)};
  std::vector<Json> begun;
  link->answer = [&](const Json& order) -> std::vector<Json> {
    if (message_type(order) == "begin") begun.push_back(order);
    return answer_as_worker(
        order, [](const Json&) -> std::vector<Json> { return {to_json(measured(10))}; });
  };
  const FinalSetting setting{compiler,
                             worker,
                             setting_of(kernels),
                             {},
                             [](const Candidate& each) { return candidate_id(each, "options"); },
                             nullptr};
  FinalPlan plan;
  plan.rounds = 0;
  const Problem problem = custom_test_problem(512, 1024);
  const Candidate candidate{kernels[0], default_config(kernels[0]->manifest), problem};
  const auto records =
      run_final_phase(setting, problem, plan, {{"fatune:scale", RowRole::kFinalist, candidate}});
  REQUIRE(records);
  REQUIRE(records->size() == 1);
  CHECK(records->front().outcome == Outcome::kMeasured);
  CHECK(records->front().verification->gates.back() == PassedGate{GateId::kEdgeProblems, 2, 2});
  REQUIRE(begun.size() == 3);
  for (const Json& order : begun) CHECK(order["custom"]["tensors"].size() == 4);
}

TEST_CASE("poison and repeats are told by the tensor's own places") {
  const TensorPlan tensor{"y", Dtype::kF16, {4, 8}, true, {}};
  std::vector<std::byte> first(64, std::byte{1}), second = first;
  CHECK_FALSE(poison_finding(tensor, {first, 0xff}, {second, 0x5a}));
  for (const std::size_t byte : {20, 21}) {
    first[byte] = std::byte{0xff};
    second[byte] = std::byte{0x5a};
  }
  CHECK(describe(*poison_finding(tensor, {first, 0xff}, {second, 0x5a})) ==
        "poison: 1 of 32 elements of y were never written, first at y[1, 2]");
  second = first;
  second[2] = std::byte{7};
  CHECK(describe(*poison_finding(tensor, {first, 0xff}, {second, 0x5a})) ==
        "repeat: 1 of 32 elements of y differ between two runs, first at y[0, 1]");
}

TEST_CASE("rivals that compute something else are refused by name") {
  CHECK(refused("cudnn", "scale") ==
        "cudnn computes attention, not scale; compare with kernels of scale, its reference, "
        "torch:EXPR or python:FILE:FUNCTION");
  CHECK(refused("torch:flash", "scale").starts_with("torch:flash computes attention"));
  CHECK(refused("rows", "scale").starts_with("rows computes attention, not scale"));
  CHECK(refused("scale", "attention").starts_with("scale computes scale, not attention"));
  CHECK(refused("scale_reference", "scale").empty());
  CHECK(refused("fatune:scale", "scale").empty());
  CHECK(refused("cudnn", "attention").empty());
  for (const char* rival : {"torch:(x * w, (x * w).sum(1))", "torch.compile:x", "python:a.py:f"})
    CHECK(refused(rival, "scale").empty());
  CHECK(refused("python:a.py:f", "attention").empty());
  CHECK(refused("torch:x * w", "attention") ==
        "torch:x * w computes a declared operation, not attention; compare with kernels of "
        "attention");
}

TEST_CASE("a profiler's job has the tensors of the operation") {
  const KernelRef kernel = custom_kernels().front();
  ProfileJob job;
  job.problem = custom_test_problem();
  job.custom = *kernel->manifest.operation->plan(job.problem);
  job.program.cubin = "/cubins/x";
  job.program.plan = *launch_plan({kernel, default_config(kernel->manifest), job.problem},
                                  *typical_limits(Arch{90, 'a'}));
  const auto read = read_value<ProfileJob>(sent(to_json(job)), "job.json");
  REQUIRE(read);
  CHECK(read->custom == job.custom);
  CHECK(read->problem == job.problem);
}

TEST_CASE("a verdict's figures join those before it") {
  Verification verification;
  Judged judged;
  judged.figures = {.max_abs = 0.5, .mean_abs = 0.1, .relative_l2 = 0.01, .allclose_1e3 = false};
  judged.verdict = {true, 0.75, "tolerance", ""};
  account(judged, {Distribution::kNormal, 1}, verification);
  account(judged, {Distribution::kZeros, 1}, verification);
  CHECK(verification.seeds == 2);
  CHECK(verification.margin == 0.75);
  CHECK(verification.worst_rule == "tolerance");
  CHECK(verification.max_abs_diff == 0.5);
  CHECK_FALSE(verification.allclose_1e3);
  CHECK_FALSE(verification.lse);
}
