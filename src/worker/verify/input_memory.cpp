// input_memory.cpp: Lays inputs out in memory, with NaN between rows, and copies rows back.
#include <cstring>

#include "core/parallel.hpp"
#include "worker/verify/inputs.hpp"

namespace fatune {
namespace {

constexpr std::size_t kRowsOfACopy = 4096;  // chosen: some 100 us of work

/// Calls `copy` with the first byte of each row in memory, and among the elements in order.
template <typename Copy>
void for_each_row(const TensorPlan& tensor, const Copy& copy) {
  const std::size_t width = tensor.width();
  const std::size_t row_bytes = static_cast<std::size_t>(tensor.columns()) * width;
  const auto piece = [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      const std::int64_t at = tensor.row_offset(static_cast<std::int64_t>(row));
      copy(static_cast<std::size_t>(at) * width, row * row_bytes, row_bytes);
    }
  };
  parallel_for(static_cast<std::size_t>(tensor.rows()), kRowsOfACopy, piece);
}

}  // namespace

std::span<const std::byte> memory_of(const BufferPlan& buffer, const std::vector<TensorPlan>& plans,
                                     const std::vector<HostTensor>& tensors,
                                     std::vector<std::byte>& room) {
  const std::size_t only = buffer.tensors.front();
  if (plans[only].strides.empty()) return tensors[only].bytes;
  room.assign(buffer.bytes, std::byte{kNanByte});
  for (const std::size_t i : buffer.tensors) {
    const std::size_t first = static_cast<std::size_t>(plans[i].first) * plans[i].width();
    for_each_row(plans[i], [&](std::size_t memory, std::size_t elements, std::size_t bytes) {
      std::memcpy(&room[first + memory], &tensors[i].bytes[elements], bytes);
    });
  }
  return room;
}

Result<std::vector<GuardedBuffer>> upload_inputs(const gpu::Context& context, CUstream stream,
                                                 const std::vector<TensorPlan>& plans,
                                                 const std::vector<HostTensor>& tensors) {
  std::vector<GuardedBuffer> buffers;
  std::vector<std::byte> room;
  for (const BufferPlan& plan : buffers_of(plans)) {
    FATUNE_TRY(
        GuardedBuffer buffer,
        GuardedBuffer::of(context, plan.name, memory_of(plan, plans, tensors, room), stream));
    buffers.push_back(std::move(buffer));
  }
  return buffers;
}

void gather_rows(const TensorPlan& tensor, std::span<const std::byte> memory,
                 std::span<std::byte> elements) {
  for_each_row(tensor, [&](std::size_t from, std::size_t to, std::size_t bytes) {
    std::memcpy(&elements[to], &memory[from], bytes);
  });
}

}  // namespace fatune
