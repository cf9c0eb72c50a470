// guarded_buffer.cpp: Allocates guarded buffers, and launches the kernels of common/checks.cu.
#include "worker/verify/guarded_buffer.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace fatune {
namespace {

constexpr std::size_t kMostFindings = 128;
constexpr std::uint64_t kUntouched = ~std::uint64_t{0};
const gpu::LaunchShape kShape{{264, 1, 1}, {256, 1, 1}, {1, 1, 1}, 0, false};
/// Chosen: few blocks, so that the kernel behind finds room beside them and can begin early.
const gpu::LaunchShape kLateShape{{16, 1, 1}, {256, 1, 1}, {1, 1, 1}, 0, false};
constexpr unsigned long long kLateNs = 50'000;  // chosen: many times the start of a kernel
const gpu::LaunchShape kOneThread{{1, 1, 1}, {1, 1, 1}, {1, 1, 1}, 0, false};

/// Must equal the kernel's declaration.
struct Stretch {
  CUdeviceptr a = 0, b = 0;
  unsigned long long bytes = 0;
};

/// Must equal the kernel's declaration, too.
struct Rows {
  std::array<std::int64_t, 3> sizes{1, 1, 1}, strides{};
};
Rows rows_of(const TensorPlan& tensor) {
  const std::size_t outer = tensor.shape.size() - 1;
  FATUNE_CHECK(outer <= 3, "tensors of attention have four dimensions at most");
  Rows rows;
  std::int64_t contiguous = tensor.columns();
  for (std::size_t i = outer; i-- > 0;) {
    const std::size_t place = i + 3 - outer;
    rows.sizes[place] = tensor.shape[i];
    rows.strides[place] = tensor.strides.empty() ? contiguous : tensor.strides[i];
    contiguous *= tensor.shape[i];
  }
  return rows;
}

}  // namespace

Result<GuardedBuffer> GuardedBuffer::make(const gpu::Context& context, std::string name,
                                          std::size_t bytes, std::uint8_t guard, CUstream stream) {
  GuardedBuffer buffer;
  auto memory = gpu::make_buffer(context, bytes + 2 * kBandBytes);
  if (!memory) return with_context(std::move(memory).error(), "making room for " + name);
  buffer.memory_ = *std::move(memory);
  buffer.name_ = std::move(name);
  buffer.bytes_ = bytes;
  buffer.guard_ = guard;
  FATUNE_TRY_STATUS(buffer.fill_bands(stream));
  return buffer;
}

Result<GuardedBuffer> GuardedBuffer::of(const gpu::Context& context, std::string name,
                                        std::span<const std::byte> bytes, CUstream stream) {
  FATUNE_TRY(GuardedBuffer buffer, make(context, std::move(name), bytes.size(), kNanByte, stream));
  FATUNE_TRY_STATUS(gpu::copy_to_device(buffer.address(), bytes, stream));
  return buffer;
}

Status GuardedBuffer::fill_bands(CUstream stream) const {
  FATUNE_TRY_STATUS(gpu::fill_bytes(band_before(), guard_, kBandBytes, stream));
  return gpu::fill_bytes(band_after(), guard_, kBandBytes, stream);
}

std::vector<const GuardedBuffer*> pointers_to(
    std::initializer_list<std::span<const GuardedBuffer>> lists) {
  std::vector<const GuardedBuffer*> pointers;
  for (const auto& list : lists) {
    for (const GuardedBuffer& buffer : list) pointers.push_back(&buffer);
  }
  return pointers;
}

Status fill_insides(std::span<const GuardedBuffer> buffers, std::uint8_t pattern, CUstream stream) {
  for (const GuardedBuffer& buffer : buffers) {
    FATUNE_TRY_STATUS(gpu::fill_bytes(buffer.address(), pattern, buffer.bytes(), stream));
  }
  return {};
}

Erased::~Erased() {
  if (buffer_.address() == 0) return;  // moved away
  if (gpu::fill_bytes(buffer_.address(), kNanByte, buffer_.bytes(), stream_))
    static_cast<void>(gpu::synchronize(stream_));
}

Result<Erased> Erased::make(const gpu::Context& context, std::size_t bytes, CUstream stream) {
  FATUNE_TRY(gpu::Buffer buffer, gpu::make_buffer(context, bytes));
  FATUNE_TRY_STATUS(gpu::fill_bytes(buffer.address(), kNanByte, bytes, stream));
  return Erased(std::move(buffer), stream);
}

std::string describe(const BandFinding& finding) {
  const std::uint64_t distance =
      finding.before ? GuardedBuffer::kBandBytes - finding.first : finding.first;
  return fmt::format("{} bytes {} {} were written, the first at {}{}", finding.bytes,
                     finding.before ? "before" : "behind", finding.buffer,
                     finding.before ? "-" : "+", distance);
}

Result<DeviceChecks> DeviceChecks::load(const gpu::Context& context, std::string_view cubin,
                                        CUstream stream) {
  DeviceChecks checks;
  FATUNE_TRY(checks.module_, gpu::load_module(context, cubin));
  FATUNE_TRY(checks.pattern_, gpu::find_function(checks.module_, "check_pattern"));
  FATUNE_TRY(checks.sum_, gpu::find_function(checks.module_, "check_sum"));
  FATUNE_TRY(checks.swap_, gpu::find_function(checks.module_, "swap_memory"));
  FATUNE_TRY(checks.read_, gpu::find_function(checks.module_, "read_slowly"));
  FATUNE_TRY(checks.late_, gpu::find_function(checks.module_, "exchange_late"));
  FATUNE_TRY(checks.alter_, gpu::find_function(checks.module_, "alter_rows"));
  FATUNE_TRY(checks.hold_, gpu::find_function(checks.module_, "hold"));
  FATUNE_TRY(checks.findings_,
             gpu::make_buffer(context, kMostFindings * 2 * sizeof(std::uint64_t)));
  checks.stream_ = stream;
  return checks;
}

CUdeviceptr DeviceChecks::place(std::size_t finding) const {
  return findings_.address() + 2 * finding * sizeof(std::uint64_t);
}

Status DeviceChecks::clear(std::size_t findings) {
  FATUNE_CHECK(findings <= kMostFindings, "more are collected in parts");
  std::vector<std::uint64_t> values;
  for (std::size_t i = 0; i < findings; ++i) values.insert(values.end(), {0, kUntouched});
  return gpu::copy_to_device(findings_.address(), std::as_bytes(std::span(values)), stream_);
}

Result<std::uint64_t> DeviceChecks::take(std::size_t finding) {
  std::uint64_t value = 0;
  FATUNE_TRY_STATUS(
      gpu::copy_to_host(std::as_writable_bytes(std::span(&value, 1)), place(finding), stream_));
  return value;
}

Result<std::vector<std::uint64_t>> DeviceChecks::collect(
    std::size_t findings, const std::function<Status(std::size_t, std::size_t)>& launch) {
  std::vector<std::uint64_t> values(2 * findings);
  for (std::size_t begin = 0; begin < findings; begin += kMostFindings) {
    const std::size_t count = std::min(kMostFindings, findings - begin);
    FATUNE_TRY_STATUS(clear(count));
    for (std::size_t i = 0; i < count; ++i) FATUNE_TRY_STATUS(launch(begin + i, i));
    const auto part = std::as_writable_bytes(std::span(values).subspan(2 * begin, 2 * count));
    FATUNE_TRY_STATUS(gpu::copy_to_host(part, findings_.address(), stream_));
  }
  return values;
}

Result<std::vector<BandFinding>> DeviceChecks::check_bands(
    std::span<const GuardedBuffer* const> buffers) {
  const auto check = [&](std::size_t i, std::size_t finding) {
    CUdeviceptr slot = place(finding);
    const GuardedBuffer& buffer = *buffers[i / 2];
    CUdeviceptr band = i % 2 == 0 ? buffer.band_before() : buffer.band_after();
    unsigned long long bytes = GuardedBuffer::kBandBytes;
    unsigned pattern = buffer.guard();
    void* arguments[] = {&band, &bytes, &pattern, &slot};
    return gpu::launch(pattern_, kShape, arguments, stream_);
  };
  FATUNE_TRY(const auto values, collect(2 * buffers.size(), check));
  std::vector<BandFinding> found;
  for (std::size_t i = 0; i < 2 * buffers.size(); ++i) {
    if (values[2 * i] == 0) continue;
    found.push_back({buffers[i / 2]->name(), i % 2 == 0, values[2 * i], values[2 * i + 1]});
  }
  return found;
}

Result<std::vector<std::uint64_t>> DeviceChecks::checksums(
    std::span<const GuardedBuffer* const> buffers) {
  const auto add_up = [&](std::size_t i, std::size_t finding) {
    return queue_sum(*buffers[i], finding);
  };
  FATUNE_TRY(const auto values, collect(buffers.size(), add_up));
  std::vector<std::uint64_t> sums;
  for (std::size_t i = 0; i < buffers.size(); ++i) sums.push_back(values[2 * i]);
  return sums;
}

Status DeviceChecks::queue(CUfunction kernel, CUdeviceptr data, unsigned long long bytes,
                           std::size_t finding) {
  CUdeviceptr slot = place(finding);
  void* arguments[] = {&data, &bytes, &slot};
  return gpu::launch(kernel, kShape, arguments, stream_);
}

Status DeviceChecks::queue_sum(const GuardedBuffer& buffer, std::size_t finding) {
  return queue(sum_, buffer.address(), buffer.bytes(), finding);
}

Status DeviceChecks::queue_read(const gpu::Buffer& memory, std::size_t finding) {
  return queue(read_, memory.address(), memory.bytes(), finding);
}

Status DeviceChecks::swap(const GuardedBuffer& a, const GuardedBuffer& b) {
  FATUNE_CHECK(a.bytes() == b.bytes(), "the sets of a problem have the same sizes");
  CUdeviceptr first = a.address(), second = b.address();
  unsigned long long bytes = a.bytes();
  void* arguments[] = {&first, &second, &bytes};
  return gpu::launch(swap_, kShape, arguments, stream_);
}

Status DeviceChecks::exchange_late(std::span<const Exchange> inputs, const GuardedBuffer& out,
                                   std::uint8_t pattern) {
  FATUNE_CHECK(inputs.size() <= kMostExchanges, "the kernel has room for so many");
  std::array<Stretch, kMostExchanges> stretches;  // unused ones are empty
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    FATUNE_CHECK(inputs[i].a.bytes() == inputs[i].b.bytes(),
                 "the sets of a problem have the same sizes");
    stretches[i] = {inputs[i].a.address(), inputs[i].b.address(), inputs[i].a.bytes()};
  }
  CUdeviceptr address = out.address();
  unsigned long long bytes = out.bytes(), nanoseconds = kLateNs;
  unsigned fill = pattern;
  void* arguments[] = {stretches.data(), &address, &bytes, &fill, &nanoseconds};
  return gpu::launch(late_, kLateShape, arguments, stream_);
}

Status DeviceChecks::alter(const TensorPlan& tensor, CUdeviceptr first, const Alteration& change) {
  Rows rows = rows_of(tensor);
  ColumnSigns signs = change.negative;
  auto columns = static_cast<unsigned long long>(tensor.columns());
  auto width = static_cast<unsigned>(tensor.width());
  unsigned keep = change.poisoned ? 0 : ~0U, set = change.poisoned ? ~0U : 0;
  void* arguments[] = {&first, &rows, &columns, &width, &signs, &keep, &set};
  return gpu::launch(alter_, kShape, arguments, stream_);
}

Status DeviceChecks::hold(std::chrono::nanoseconds time) {
  auto nanoseconds = static_cast<unsigned long long>(time.count());
  void* arguments[] = {&nanoseconds};
  return gpu::launch(hold_, kOneThread, arguments, stream_);
}

}  // namespace fatune
