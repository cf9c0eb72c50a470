// cudnn_descriptor.hpp - one descriptor of cuDNN's backend as an owned value with typed attributes.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/result.hpp"
#include "worker/baselines/cudnn_api.hpp"

namespace fatune {

/// Filled with set(), then finalized, then read. The functions must outlive it. Every failure names
/// descriptor and attribute.
class CudnnDescriptor {
 public:
  CudnnDescriptor() = default;
  static Result<CudnnDescriptor> make(const CudnnFunctions& functions, CudnnName kind);
  CudnnDescriptor(CudnnDescriptor&& other) noexcept;
  CudnnDescriptor& operator=(CudnnDescriptor&& other) noexcept;
  ~CudnnDescriptor();

  void* raw() const { return raw_; }

  Status set(CudnnName attribute, std::int64_t value);
  Status set(CudnnName attribute, std::span<const std::int64_t> values);
  Status set(CudnnName attribute, CudnnData value);
  Status set(CudnnName attribute, CudnnPointwise value);
  Status set(CudnnName attribute, CudnnReduction value);
  Status set(CudnnName attribute, CudnnHeuristic value);
  Status set_flag(CudnnName attribute);  ///< to true
  Status set_handle(CudnnName attribute, void* handle);
  Status set_pointers(CudnnName attribute, std::span<void* const> values);
  Status set_descriptor(CudnnName attribute, void* descriptor);
  Status set_descriptors(CudnnName attribute, std::span<void* const> descriptors);
  Status finalize();

  Result<std::int64_t> number(CudnnName attribute) const;
  Result<int> knob_type(CudnnName attribute) const;
  /// How many descriptors() would fill.
  Result<std::int64_t> descriptor_count(CudnnName attribute) const;
  /// Up to `room`, each made with `kind` and filled by cuDNN.
  Result<std::vector<CudnnDescriptor>> descriptors(CudnnName attribute, CudnnName kind,
                                                   std::int64_t room) const;

 private:
  CudnnDescriptor(const CudnnFunctions& functions, CudnnName kind, void* raw)
      : functions_(&functions), kind_(kind), raw_(raw) {}
  Status put(CudnnName attribute, CudnnType type, std::int64_t count, const void* values);
  Result<std::int64_t> read(CudnnName attribute, CudnnType type, std::int64_t room,
                            void* values) const;

  const CudnnFunctions* functions_ = nullptr;
  CudnnName kind_;
  void* raw_ = nullptr;
};

}  // namespace fatune
