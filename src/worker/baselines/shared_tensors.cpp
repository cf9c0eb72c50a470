// shared_tensors.cpp: Lays a problem's tensors into an anonymous file.
#include "worker/baselines/shared_tensors.hpp"

#include <cerrno>
#include <system_error>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/text.hpp"
#include "worker/baselines/executable.hpp"

namespace fatune {
namespace {

constexpr std::size_t kTensorPage = 4096;  // each tensor begins at one

}  // namespace

SharedTensors::Memory::~Memory() {
  if (data != nullptr) ::munmap(data, bytes);
  if (file >= 0) ::close(file);
}

void SharedTensors::add(std::vector<TensorPlan> plans, bool outputs) {
  std::erase_if(plans, [](const TensorPlan& tensor) { return tensor.name == "lse"; });
  for (const BufferPlan& buffer : buffers_of(plans)) {
    std::string first;
    for (const std::size_t i : buffer.tensors) {
      const TensorPlan& plan = plans[i];
      const std::string name = plan.filled && !outputs ? before(plan) : plan.name;
      const std::size_t start =
          memory_->bytes + static_cast<std::size_t>(plan.first) * plan.width();
      parts_[name] = {start, 0, outputs, false};
      if (first.empty()) first = name;
    }
    parts_[first].bytes = buffer.bytes;
    parts_[first].gaps = buffer.gaps;
    memory_->bytes += (buffer.bytes + kTensorPage - 1) / kTensorPage * kTensorPage;
  }
  for (const TensorPlan& plan : plans) {
    tensors_.push_back({{"name", plan.name},
                        {"type", plan.type_word()},
                        {"shape", plan.shape},
                        {"strides", plan.strides},
                        {"place", parts_[plan.filled && !outputs ? before(plan) : plan.name].start},
                        {"output", outputs}});
  }
}

Result<SharedTensors> SharedTensors::make(const OperationPlan& plan) {
  SharedTensors tensors;
  tensors.memory_ = std::make_unique<Memory>();
  Memory& memory = *tensors.memory_;
  tensors.add(plan.inputs(), false);
  tensors.input_bytes_ = memory.bytes;
  tensors.add(plan.outputs(), true);
  const auto problem_with = [&](const char* what) {
    return device_error(fmt::format("cannot {} {} of host memory to share with a helper: {}", what,
                                    describe(Bytes(memory.bytes)),
                                    std::generic_category().message(errno)));
  };
  memory.file = ::memfd_create("fatune-tensors", MFD_CLOEXEC);
  if (memory.file < 0) return problem_with("make");
  if (::ftruncate(memory.file, static_cast<off_t>(memory.bytes)) != 0)
    return problem_with("reserve");
  void* data = ::mmap(nullptr, memory.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.file, 0);
  if (data == MAP_FAILED) return problem_with("map");
  memory.data = static_cast<std::byte*>(data);
  return tensors;
}

std::span<std::byte> SharedTensors::operator[](std::string_view tensor) const {
  const auto found = parts_.find(tensor);
  FATUNE_CHECK(found != parts_.end(), "a tensor of the problem is asked for");
  return {memory_->data + found->second.start, found->second.bytes};
}

std::vector<std::string> SharedTensors::first_tensors(bool outputs) const {
  std::vector<std::string> names;
  for (const auto& [name, part] : parts_) {
    if (part.output == outputs && part.bytes > 0) names.push_back(name);
  }
  return names;
}

Json SharedTensors::place() const {
  return {{"path", fmt::format("/proc/{}/fd/{}", ::getpid(), memory_->file)},
          {"bytes", memory_->bytes},
          {"inputs", input_bytes_}};
}

}  // namespace fatune
