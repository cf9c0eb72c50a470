// shared_tensors.cpp: Lays a problem's tensors into an anonymous file.
#include "worker/baselines/shared_tensors.hpp"

#include <cerrno>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <unistd.h>

#include "core/text.hpp"
#include "worker/baselines/executable.hpp"

namespace fatune {
namespace {

constexpr std::size_t kTensorPage = 4096;  // each tensor begins at one

std::string name_of(const TensorPlan& tensor, bool output) {
  return tensor.filled && !output ? before(tensor) : tensor.name;
}

}  // namespace

SharedTensors::Memory::~Memory() {
  if (data != nullptr) ::munmap(data, bytes);
  if (file >= 0) ::close(file);
}

void SharedTensors::add(const std::vector<TensorPlan>& plans, bool outputs) {
  for (const BufferPlan& buffer : buffers_of(plans)) {
    for (const std::size_t i : buffer.tensors) {
      const auto first = static_cast<std::size_t>(plans[i].first) * plans[i].width();
      parts_[name_of(plans[i], outputs)] = {memory_->bytes + first, 0, outputs, false};
    }
    Part& part = parts_[name_of(plans[buffer.tensors.front()], outputs)];
    part.bytes = buffer.bytes;
    part.gaps = buffer.gaps;
    memory_->bytes += (buffer.bytes + kTensorPage - 1) / kTensorPage * kTensorPage;
  }
}

Result<SharedTensors> SharedTensors::make(const OperationPlan& plan) {
  SharedTensors tensors;
  tensors.memory_ = std::make_unique<Memory>();
  Memory& memory = *tensors.memory_;
  tensors.inputs_ = plan.inputs();
  tensors.outputs_ = plan.outputs();
  std::erase_if(tensors.outputs_, [](const TensorPlan& tensor) {
    return tensor.name == "lse" && !tensor.axes.empty();  // attention's
  });
  tensors.add(tensors.inputs_, false);
  tensors.input_bytes_ = memory.bytes;
  tensors.add(tensors.outputs_, true);
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

Json SharedTensors::tensors() const {
  Json told = Json::array();
  for (const bool output : {false, true}) {
    for (const TensorPlan& each : output ? outputs_ : inputs_) {
      told.push_back({{"name", each.name},
                      {"type", each.type_word()},
                      {"shape", each.shape},
                      {"strides", each.strides},
                      {"place", parts_.find(name_of(each, output))->second.start},
                      {"output", output}});
    }
  }
  return told;
}

Json SharedTensors::place() const {
  return {{"path", fmt::format("/proc/{}/fd/{}", ::getpid(), memory_->file)},
          {"bytes", memory_->bytes},
          {"inputs", input_bytes_}};
}

}  // namespace fatune
