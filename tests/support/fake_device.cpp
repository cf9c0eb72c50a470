// fake_device.cpp: Implements checks, reference and low-precision reference as host functions.
#include "support/fake_device.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/file.hpp"
#include "core/result.hpp"
#include "gpu/telemetry.hpp"
#include "worker/runs/runs.hpp"

namespace fatune::test {
namespace {

using U8 = unsigned char;
using U64 = unsigned long long;

double number(std::uint16_t bits) {
  static const std::span<const float> table = decode_table(Dtype::kF16);
  return static_cast<double>(table[bits]);
}
std::uint16_t half(float value) { return encode(Dtype::kF16, value); }

/// Returns the index of a row's first element.
std::int64_t row_at(const Attention& p, const char* tensor, std::int64_t batch, std::int64_t head,
                    std::int64_t row) {
  const Strides strides = strides_of(p, tensor);
  return batch * strides.batch + head * strides.head + row * strides.row;
}

/// Attention of one query row; attend_row() optionally rounds probabilities to f16 first.
struct Row {
  std::vector<float> out;
  float lse = 0;
};
Row attend_row(const Attention& p, const std::uint16_t* q, const std::uint16_t* k,
               const std::uint16_t* v, bool round) {
  const auto width = static_cast<std::size_t>(p.head_dim);
  const auto keys = static_cast<std::size_t>(p.seq_kv);
  const auto k_step = static_cast<std::size_t>(strides_of(p, "k").row);
  const auto v_step = static_cast<std::size_t>(strides_of(p, "v").row);
  const double scale = 1 / std::sqrt(static_cast<double>(p.head_dim));
  std::vector<double> scores(keys);
  for (std::size_t j = 0; j < keys; ++j) {
    for (std::size_t d = 0; d < width; ++d) scores[j] += number(q[d]) * number(k[j * k_step + d]);
    scores[j] *= scale;
  }
  const double largest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  std::vector<double> out(width);
  for (std::size_t j = 0; j < keys; ++j) {
    double weight = std::exp(scores[j] - largest);
    sum += weight;
    if (round) weight = number(half(static_cast<float>(weight)));
    for (std::size_t d = 0; d < width; ++d) out[d] += weight * number(v[j * v_step + d]);
  }
  Row row;
  for (const double value : out) row.out.push_back(static_cast<float>(value / sum));
  row.lse = static_cast<float>(largest + std::log(sum));
  return row;
}

/// Passes every row of the problem to `write(row, index of its first element, values)`.
template <typename Write>
void attend_all(const Attention& p, const HostTensors& tensors, bool round, const Write& write) {
  for (std::int64_t row = 0; row < p.rows(); ++row) {
    const std::int64_t batch = row / p.seq_q / p.heads, head = row / p.seq_q % p.heads;
    const std::int64_t key_head = head * p.kv_heads / p.heads;
    write(static_cast<std::size_t>(row), row_at(p, "out", batch, head, row % p.seq_q),
          attend_row(p, tensors.q + row_at(p, "q", batch, head, row % p.seq_q),
                     tensors.k + row_at(p, "k", batch, key_head, 0),
                     tensors.v + row_at(p, "v", batch, key_head, 0), round));
  }
}

void exchange(U8* a, U8* b, U64 bytes) { std::swap_ranges(a, a + bytes, b); }

/// Arguments as declared in kernels/common/checks.cu.
struct Stretch {
  U8 *a, *b;
  U64 bytes;
};

struct Stretches {
  Stretch at[6];
};

/// Arguments as declared in kernels/common/checks.cu.
struct Rows {
  std::int64_t sizes[3], strides[3];
};
struct Signs {
  U64 negative[4];
};
/// Supports elements of 2 bytes, and fp32.
void alter_rows(U8* data, Rows rows, U64 columns, unsigned width, Signs signs, unsigned keep,
                unsigned set) {
  for (std::int64_t row = 0; row < rows.sizes[0] * rows.sizes[1] * rows.sizes[2]; ++row) {
    const std::int64_t outer = row / rows.sizes[2];
    const std::int64_t first = outer / rows.sizes[1] * rows.strides[0] +
                               outer % rows.sizes[1] * rows.strides[1] +
                               row % rows.sizes[2] * rows.strides[2];
    for (U64 column = 0; column < columns; ++column) {
      U8* const at = data + (static_cast<U64>(first) + column) * width;
      std::uint32_t bits = 0;
      std::memcpy(&bits, at, width);
      const auto negative =
          static_cast<unsigned>(signs.negative[column / 64 % 4] >> column % 64 & 1);
      bits = ((bits & keep) | set) ^ (negative << (8 * width - 1));
      std::memcpy(at, &bits, width);
    }
  }
}

void check_pattern(const U8* data, U64 bytes, unsigned pattern, U64* findings) {
  const auto right = static_cast<U8>(pattern);
  if (data[0] == right && std::memcmp(data, data + 1, bytes - 1) == 0) return;
  for (U64 i = 0; i < bytes; ++i) {
    if (data[i] == right) continue;
    ++findings[0];
    findings[1] = std::min(findings[1], i);
  }
}

void check_sum(const U8* data, U64 bytes, U64* findings) {
  for (U64 i = 0; i < bytes; ++i) findings[0] = (findings[0] ^ data[i]) * 0x100000001b3ull + i;
}

void multiply(const std::uint16_t* a, const std::uint16_t* b, std::uint16_t* c,
              const GemmPlan* plan) {
  const auto& [tokens, weights, result] = plan->operands;
  for (std::int64_t i = 0; i < plan->m; ++i) {
    for (std::int64_t j = 0; j < plan->n; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < plan->k; ++k)
        sum += number(a[i * tokens.pitch + k]) * number(b[j * weights.pitch + k]);
      c[i * result.pitch + j] = half(static_cast<float>(sum));
    }
  }
}

/// A product of f16 as a kernel of the fake driver.
class FakeProduct : public BatchedGemm {
 public:
  FakeProduct(GemmPlan plan, gpu::Module module, CUfunction function)
      : plan_(std::move(plan)), module_(std::move(module)), function_(function) {}
  std::size_t workspace_bytes() const override { return 256; }
  Status queue(const GemmAddresses& at, CUdeviceptr, CUstream stream) const override {
    GemmAddresses addresses = at;
    const GemmPlan* plan = &plan_;
    void* arguments[] = {&addresses[0], &addresses[1], &addresses[2], static_cast<void*>(&plan)};
    return gpu::launch(function_, {.grid = {1, 1, 1}, .block = {1, 1, 1}}, arguments, stream);
  }
  std::string detail() const override { return "fake"; }

 private:
  GemmPlan plan_;
  gpu::Module module_;
  CUfunction function_;
};

}  // namespace

FakeDevice::FakeDevice() {
  gpu::use_driver(driver.symbols());
  define_checks();
  const std::string cubin = (folder_ / "any.cubin").string();
  FATUNE_CHECK(replace_file(cubin,
                            "\x7f"
                            "ELF"),
               "tests can write temporary files");
  order.problem = Attention{.batch = 1,
                            .heads = 2,
                            .kv_heads = 1,
                            .seq_q = 32,
                            .seq_kv = 32,
                            .head_dim = 16,
                            .lse = true};
  order.checks_cubin = cubin;
  order.cases = {{Distribution::kNormal, 42}, {Distribution::kUniform, 43}};
  order.kernel_deadline_s = 0.02;
  define_reference("reference", false);
  define_reference("low_precision", true);
  order.reference = program_of("reference");
  order.low_precision = program_of("low_precision");
}

FakeDevice::~FakeDevice() {
  problem_.reset();
  session_.reset();
  gpu::use_driver({});
}

void FakeDevice::define_checks() {
  driver.define("check_pattern", std::function(check_pattern));
  driver.define("check_sum", std::function(check_sum));
  driver.define("read_slowly",
                std::function([](const void*, U64, U64* findings) { findings[0] += 1000; }));
  driver.define("swap_memory", std::function(exchange));
  driver.define("alter_rows", std::function(alter_rows));
  driver.define("hold", std::function([](U64) {}));
  driver.define("product", std::function(multiply)).us = kProductUs;
  driver
      .define("exchange_late",
              std::function([](Stretches inputs, U8* out, U64 bytes, unsigned pattern, U64) {
                for (const Stretch& each : inputs.at) exchange(each.a, each.b, each.bytes);
                std::fill_n(out, bytes, static_cast<U8>(pattern));
              }))
      .launches_dependents = true;
}

/// Attention for one head; the reference writes fp32, the low-precision reference f16.
void FakeDevice::define_reference(const std::string& entry, bool low_precision) {
  driver.define(entry,
                std::function([this, low_precision](const std::uint16_t* q, const std::uint16_t* k,
                                                    const std::uint16_t* v, void* out, float* lse) {
                  Attention head = attention();
                  head.batch = head.heads = head.kv_heads = 1;
                  head.layouts = {};
                  attend_all(head, {q, k, v}, low_precision,
                             [&](std::size_t row, std::int64_t at, const Row& values) {
                               for (const float value : values.out) {
                                 if (low_precision)
                                   static_cast<std::uint16_t*>(out)[at] = half(value);
                                 if (!low_precision) static_cast<float*>(out)[at] = value;
                                 ++at;
                               }
                               lse[row] = values.lse;
                             });
                }));
}

void FakeDevice::attend(const HostTensors& tensors) const {
  attend_all(attention(), tensors, true, [&](std::size_t row, std::int64_t at, const Row& values) {
    std::transform(values.out.begin(), values.out.end(), tensors.out + at, half);
    tensors.lse[row] = values.lse;
  });
}

Program FakeDevice::program_of(const std::string& entry) const {
  Program program;
  program.cubin = order.checks_cubin;
  StagePlan stage;
  stage.entry = entry;
  stage.block = {128, 1, 1};
  stage.arguments = {"q", "k", "v", "out", "lse"};
  program.plan.stages.push_back(std::move(stage));
  return program;
}

Program FakeDevice::program(HostKernel kernel, const std::string& entry, double us) {
  driver
      .define(entry, std::function([kernel = std::move(kernel)](
                                       const std::uint16_t* q, const std::uint16_t* k,
                                       const std::uint16_t* v, std::uint16_t* out, float* lse) {
                kernel({q, k, v, out, lse});
              }))
      .us = us;
  return program_of(entry);
}

Program FakeDevice::wrong(HostKernel after) {
  return program([this, after = std::move(after)](const HostTensors& tensors) {
    attend(tensors);
    after(tensors);
  });
}

/// Opens a session like open_device_session(), without NVML and with few launches and samples.
Status FakeDevice::open() {
  auto session = std::make_unique<DeviceSession>();
  FATUNE_TRY(session->facts, gpu::device_facts(0));
  FATUNE_TRY(session->context, gpu::make_context(0));
  FATUNE_TRY(session->stream, gpu::make_stream(session->context));
  SamplingPlan plan;
  plan.stop.min_samples = 5;
  plan.warmup_time = Micros(0);
  plan.max_graph_launches = 4;
  FATUNE_TRY(Sampler sampler, Sampler::make(session->context, session->stream.raw(),
                                            session->telemetry, session->facts.l2_bytes, plan));
  session->sampler.emplace(std::move(sampler));
  session->open_gemm = [this](const GemmPlan& product) { return open_product(product); };
  session_ = std::move(session);
  return {};
}

Result<std::unique_ptr<BatchedGemm>> FakeDevice::open_product(const GemmPlan& plan) {
  FATUNE_TRY(gpu::Module module, gpu::load_module(session_->context,
                                                  "\x7f"
                                                  "ELF"));
  FATUNE_TRY(const CUfunction function, gpu::find_function(module, "product"));
  return std::unique_ptr<BatchedGemm>(
      std::make_unique<FakeProduct>(plan, std::move(module), function));
}

Status FakeDevice::begin() {
  if (problem_) return {};
  if (!session_) FATUNE_TRY_STATUS(open());
  FATUNE_TRY(problem_, DeviceProblem::begin(*session_, order));
  return {};
}

RunReply FakeDevice::run(const Program& program) {
  RunOrder run_order;
  run_order.program = program;
  run_order.cold = true;
  return run(run_order);
}

RunReply FakeDevice::run(const RunOrder& run_order) {
  const Status ready = begin();
  FATUNE_CHECK(ready, "the problem of the tests can be made");
  return run_candidate(*session_, *problem_, run_order,
                       [this](std::string_view phase) { phases.emplace_back(phase); });
}

Result<RoundsReply> FakeDevice::rounds(const RoundsOrder& rounds_order) {
  FATUNE_TRY_STATUS(begin());
  return run_rounds(*session_, *problem_, rounds_order,
                    [this](std::string_view phase) { phases.emplace_back(phase); });
}

MaybeFailure FakeDevice::verify(const Program& program, Verification* found) {
  const Status ready = begin();
  FATUNE_CHECK(ready, "the problem of the tests can be made");
  const auto opened = OpenProgram::open(*session_, *problem_, program);
  FATUNE_CHECK(static_cast<bool>(opened), "the program of the test can be loaded");
  return verify(**opened, found);
}

MaybeFailure FakeDevice::verify(Executable& program, Verification* found) {
  GateContext context = gates(program);
  MaybeFailure failure =
      fatune::verify(context, [this](std::string_view phase) { phases.emplace_back(phase); });
  if (found != nullptr) *found = context.verification;
  return failure;
}

MaybeFailure FakeDevice::check_in_layer(Executable& program, Verification* found) {
  GateContext context = gates(program);
  const auto layer = problem_->layer();
  FATUNE_CHECK(static_cast<bool>(layer), "the products of the tests can be made");
  const auto loop = (*layer)->loop_with(*session_->sampler, program);
  FATUNE_CHECK(static_cast<bool>(loop), "the layers of the tests can be captured");
  MaybeFailure failure = verify_in_layer(context, {*layer, &*loop, true});
  *found = context.verification;
  return failure;
}

GateContext FakeDevice::gates(Executable& program) {
  FATUNE_CHECK(problem_ != nullptr, "it has begun");
  return {*session_, *problem_, program};
}

}  // namespace fatune::test
