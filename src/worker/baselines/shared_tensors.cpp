// shared_tensors.cpp: Lays a problem's tensors into an anonymous file.
#include "worker/baselines/shared_tensors.hpp"

#include <cerrno>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <unistd.h>

#include "core/text.hpp"
#include "model/problem/tensor.hpp"

namespace fatune {
namespace {

constexpr std::size_t kTensorPage = 4096;  // each tensor begins at one

}  // namespace

SharedTensors::Memory::~Memory() {
  if (data != nullptr) ::munmap(data, bytes);
  if (file >= 0) ::close(file);
}

Result<SharedTensors> SharedTensors::make(const Attention& problem) {
  SharedTensors tensors;
  tensors.memory_ = std::make_unique<Memory>();
  Memory& memory = *tensors.memory_;
  std::vector<TensorPlan> plans = attention_plan(problem).tensors;
  std::erase_if(plans, [](const TensorPlan& tensor) { return tensor.name == "lse"; });
  for (const BufferPlan& buffer : buffers_of(plans)) {
    for (const std::size_t i : buffer.tensors)
      tensors.parts_[plans[i].name].start =
          memory.bytes + static_cast<std::size_t>(plans[i].first) * plans[i].width();
    tensors.parts_[plans[buffer.tensors.front()].name].bytes = buffer.bytes;
    memory.bytes += (buffer.bytes + kTensorPage - 1) / kTensorPage * kTensorPage;
  }
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

std::vector<std::string> SharedTensors::inputs() const {
  std::vector<std::string> names;
  for (const auto& [name, part] : parts_) {
    if (name != "out" && part.bytes > 0) names.push_back(name);
  }
  return names;
}

Json SharedTensors::place() const {
  Json places = Json::object();
  for (const auto& [name, part] : parts_) places[name] = part.start;
  return {{"path", fmt::format("/proc/{}/fd/{}", ::getpid(), memory_->file)},
          {"bytes", memory_->bytes},
          {"places", places}};
}

}  // namespace fatune
