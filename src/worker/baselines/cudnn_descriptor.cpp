// cudnn_descriptor.cpp - sets, finalizes and reads descriptors of cuDNN's backend.
#include "worker/baselines/cudnn_descriptor.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace fatune {

Result<CudnnDescriptor> CudnnDescriptor::create(const CudnnFunctions& functions, CudnnName kind) {
  void* raw = nullptr;
  FATUNE_TRY_STATUS(cudnn_check(functions, functions.create_descriptor(kind.value, &raw),
                                fmt::format("create {}", kind.text)));
  return CudnnDescriptor(functions, kind, raw);
}

Result<CudnnDescriptor> CudnnDescriptor::make(const CudnnFunctions& functions, CudnnName kind,
                                              std::initializer_list<CudnnSetting> settings) {
  FATUNE_TRY(CudnnDescriptor made, create(functions, kind));
  for (const CudnnSetting& each : settings) {
    if (each.count == 0) continue;
    const int status = functions.set_attribute(
        made.raw_, each.attribute.value, static_cast<int>(each.attribute.type), each.count,
        each.several == nullptr ? &each.single : each.several);
    FATUNE_TRY_STATUS(cudnn_check(functions, status,
                                  fmt::format("set {} of {}", each.attribute.text, kind.text)));
  }
  FATUNE_TRY_STATUS(
      cudnn_check(functions, functions.finalize(made.raw_), fmt::format("finalize {}", kind.text)));
  return made;
}

CudnnDescriptor::CudnnDescriptor(CudnnDescriptor&& other) noexcept
    : functions_(other.functions_), kind_(other.kind_), raw_(std::exchange(other.raw_, nullptr)) {}

CudnnDescriptor& CudnnDescriptor::operator=(CudnnDescriptor&& other) noexcept {
  std::swap(functions_, other.functions_);
  std::swap(kind_, other.kind_);
  std::swap(raw_, other.raw_);
  return *this;
}

CudnnDescriptor::~CudnnDescriptor() {
  if (raw_ != nullptr) functions_->destroy_descriptor(raw_);
}

Result<std::int64_t> CudnnDescriptor::read(CudnnName attribute, std::int64_t room,
                                           void* values) const {
  std::int64_t count = 0;
  const int status = functions_->get_attribute(
      raw_, attribute.value, static_cast<int>(attribute.type), room, &count, values);
  if (status == 0) return count;
  return cudnn_error(*functions_, status, fmt::format("read {} of {}", attribute.text, kind_.text));
}

Result<std::vector<CudnnDescriptor>> CudnnDescriptor::descriptors(CudnnName attribute,
                                                                  CudnnName kind,
                                                                  std::int64_t room) const {
  std::vector<CudnnDescriptor> filled;
  std::vector<void*> raw;
  for (std::int64_t i = 0; i < room; ++i) {
    FATUNE_TRY(CudnnDescriptor descriptor, create(*functions_, kind));
    raw.push_back(descriptor.raw());
    filled.push_back(std::move(descriptor));
  }
  if (filled.empty()) return filled;
  FATUNE_TRY(const std::int64_t count, read(attribute, room, static_cast<void*>(raw.data())));
  filled.resize(static_cast<std::size_t>(std::min(count, room)));
  return filled;
}

}  // namespace fatune
