// cudnn_descriptor.cpp - sets, finalizes and reads descriptors of cuDNN's backend.
#include "worker/baselines/cudnn_descriptor.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace fatune {

Result<CudnnDescriptor> CudnnDescriptor::make(const CudnnFunctions& functions, CudnnName kind) {
  void* raw = nullptr;
  FATUNE_TRY_STATUS(cudnn_check(functions, functions.create_descriptor(kind.value, &raw),
                                std::string("create ") + kind.text));
  return CudnnDescriptor(functions, kind, raw);
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

Status CudnnDescriptor::put(CudnnName attribute, CudnnType type, std::int64_t count,
                            const void* values) {
  const int status =
      functions_->set_attribute(raw_, attribute.value, static_cast<int>(type), count, values);
  if (status == 0) return {};
  return cudnn_error(*functions_, status,
                     std::string("set ") + attribute.text + " of " + kind_.text);
}

Status CudnnDescriptor::set(CudnnName attribute, std::int64_t value) {
  return put(attribute, CudnnType::kInt64, 1, &value);
}

Status CudnnDescriptor::set(CudnnName attribute, std::span<const std::int64_t> values) {
  return put(attribute, CudnnType::kInt64, static_cast<std::int64_t>(values.size()), values.data());
}

Status CudnnDescriptor::set(CudnnName attribute, CudnnData value) {
  return put(attribute, CudnnType::kDataType, 1, &value);
}

Status CudnnDescriptor::set(CudnnName attribute, CudnnPointwise value) {
  return put(attribute, CudnnType::kPointwiseMode, 1, &value);
}

Status CudnnDescriptor::set(CudnnName attribute, CudnnReduction value) {
  return put(attribute, CudnnType::kReduction, 1, &value);
}

Status CudnnDescriptor::set(CudnnName attribute, CudnnHeuristic value) {
  return put(attribute, CudnnType::kHeuristicMode, 1, &value);
}

Status CudnnDescriptor::set_flag(CudnnName attribute) {
  const bool value = true;
  return put(attribute, CudnnType::kBoolean, 1, &value);
}

Status CudnnDescriptor::set_handle(CudnnName attribute, void* handle) {
  return put(attribute, CudnnType::kHandle, 1, &handle);
}

Status CudnnDescriptor::set_pointers(CudnnName attribute, std::span<void* const> values) {
  return put(attribute, CudnnType::kPointer, static_cast<std::int64_t>(values.size()),
             values.data());
}

Status CudnnDescriptor::set_descriptor(CudnnName attribute, void* descriptor) {
  return put(attribute, CudnnType::kDescriptor, 1, &descriptor);
}

Status CudnnDescriptor::set_descriptors(CudnnName attribute, std::span<void* const> descriptors) {
  return put(attribute, CudnnType::kDescriptor, static_cast<std::int64_t>(descriptors.size()),
             descriptors.data());
}

Status CudnnDescriptor::finalize() {
  const int status = functions_->finalize(raw_);
  if (status == 0) return {};
  return cudnn_error(*functions_, status, std::string("finalize ") + kind_.text);
}

Result<std::int64_t> CudnnDescriptor::read(CudnnName attribute, CudnnType type, std::int64_t room,
                                           void* values) const {
  std::int64_t count = 0;
  const int status = functions_->get_attribute(raw_, attribute.value, static_cast<int>(type), room,
                                               &count, values);
  if (status == 0) return count;
  return cudnn_error(*functions_, status,
                     std::string("read ") + attribute.text + " of " + kind_.text);
}

Result<std::int64_t> CudnnDescriptor::number(CudnnName attribute) const {
  std::int64_t value = 0;
  FATUNE_TRY_STATUS(read(attribute, CudnnType::kInt64, 1, &value));
  return value;
}

Result<int> CudnnDescriptor::knob_type(CudnnName attribute) const {
  int value = 0;
  FATUNE_TRY_STATUS(read(attribute, CudnnType::kKnobType, 1, &value));
  return value;
}

Result<std::int64_t> CudnnDescriptor::descriptor_count(CudnnName attribute) const {
  return read(attribute, CudnnType::kDescriptor, 0, nullptr);
}

Result<std::vector<CudnnDescriptor>> CudnnDescriptor::descriptors(CudnnName attribute,
                                                                  CudnnName kind,
                                                                  std::int64_t room) const {
  std::vector<CudnnDescriptor> filled;
  std::vector<void*> raw;
  for (std::int64_t i = 0; i < room; ++i) {
    FATUNE_TRY(CudnnDescriptor descriptor, make(*functions_, kind));
    raw.push_back(descriptor.raw());
    filled.push_back(std::move(descriptor));
  }
  if (filled.empty()) return filled;
  FATUNE_TRY(const std::int64_t count,
             read(attribute, CudnnType::kDescriptor, room, static_cast<void*>(raw.data())));
  filled.resize(static_cast<std::size_t>(std::min(count, room)));
  return filled;
}

}  // namespace fatune
