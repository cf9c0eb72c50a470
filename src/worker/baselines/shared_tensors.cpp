// shared_tensors.cpp - an anonymous file, mapped, with a path through /proc.
#include "worker/baselines/shared_tensors.hpp"

#include <cerrno>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <unistd.h>

#include "core/text.hpp"
#include "model/problem/work.hpp"

namespace fatune {
namespace {

constexpr std::size_t kAlignment = 4096;  // of each tensor, a page

}  // namespace

Result<SharedTensors> SharedTensors::make(const Problem& problem) {
  SharedTensors tensors;
  const std::size_t query = query_bytes(problem).value, key = key_bytes(problem).value;
  tensors.sizes_ = {query, key, key, query};
  for (std::size_t i = 0; i < tensors.sizes_.size(); ++i) {
    tensors.starts_[i] = tensors.bytes_;
    tensors.bytes_ += (tensors.sizes_[i] + kAlignment - 1) / kAlignment * kAlignment;
  }
  const auto problem_with = [&](const std::string& what) {
    return device_error(
        "cannot " + what + " " + describe(Bytes(tensors.bytes_)) +
        " of host memory to share with a helper: " + std::generic_category().message(errno));
  };
  tensors.file_ = ::memfd_create("fatune-tensors", MFD_CLOEXEC);
  if (tensors.file_ < 0) return problem_with("make");
  if (::ftruncate(tensors.file_, static_cast<off_t>(tensors.bytes_)) != 0)
    return problem_with("reserve");
  void* data =
      ::mmap(nullptr, tensors.bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, tensors.file_, 0);
  if (data == MAP_FAILED) return problem_with("map");
  tensors.data_ = static_cast<std::byte*>(data);
  return tensors;
}

SharedTensors::SharedTensors(SharedTensors&& other) noexcept { *this = std::move(other); }

SharedTensors& SharedTensors::operator=(SharedTensors&& other) noexcept {
  if (this == &other) return *this;
  release();
  file_ = std::exchange(other.file_, -1);
  data_ = std::exchange(other.data_, nullptr);
  bytes_ = other.bytes_;
  starts_ = other.starts_;
  sizes_ = other.sizes_;
  return *this;
}

SharedTensors::~SharedTensors() { release(); }

void SharedTensors::release() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
  if (file_ >= 0) ::close(file_);
  data_ = nullptr;
  file_ = -1;
}

std::span<std::byte> SharedTensors::operator[](Tensor which) const {
  return {data_ + starts_[which], sizes_[which]};
}

Json SharedTensors::place() const {
  return {{"path", "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(file_)},
          {"bytes", bytes_},
          {"q", starts_[kQ]},
          {"k", starts_[kK]},
          {"v", starts_[kV]},
          {"out", starts_[kOut]}};
}

}  // namespace fatune
