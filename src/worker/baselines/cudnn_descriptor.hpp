// cudnn_descriptor.hpp - a list of settings to a descriptor of cuDNN's backend, an owned value.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "core/result.hpp"
#include "worker/baselines/cudnn_library.hpp"

namespace fatune {

/// An attribute and its value, or a view of its values. An empty optional and a null descriptor set
/// nothing.
struct CudnnSetting {
  template <typename Value>
  requires std::is_scalar_v<Value> CudnnSetting(CudnnName name, Value value)
      : attribute(name), count(1) {
    std::memcpy(&single, &value, sizeof(value));
    if constexpr (std::is_pointer_v<Value>) count = value == nullptr ? 0 : 1;
  }
  template <typename Value>
  CudnnSetting(CudnnName name, std::optional<Value> value)
      : CudnnSetting(name, value.value_or(Value{})) {
    if (!value) count = 0;
  }
  CudnnSetting(CudnnName name, std::span<const std::int64_t> values)
      : attribute(name), count(static_cast<std::int64_t>(values.size())), several(values.data()) {}
  CudnnSetting(CudnnName name, std::span<void* const> values)
      : attribute(name), count(static_cast<std::int64_t>(values.size())), several(values.data()) {}

  CudnnName attribute;
  std::int64_t count = 0;  ///< 0: not set
  std::int64_t single = 0;
  const void* several = nullptr;
};

/// Made of settings, then read. The functions must outlive it. Every failure names descriptor and
/// attribute.
class CudnnDescriptor {
 public:
  CudnnDescriptor() = default;
  /// Finalized.
  static Result<CudnnDescriptor> make(const CudnnFunctions& functions, CudnnName kind,
                                      std::initializer_list<CudnnSetting> settings);
  CudnnDescriptor(CudnnDescriptor&& other) noexcept;
  CudnnDescriptor& operator=(CudnnDescriptor&& other) noexcept;
  ~CudnnDescriptor();

  void* raw() const { return raw_; }

  template <typename Value>
  Result<Value> value(CudnnName attribute) const {
    Value value{};
    FATUNE_TRY_STATUS(read(attribute, 1, &value));
    return value;
  }
  /// How many descriptors() would fill.
  Result<std::int64_t> count(CudnnName attribute) const { return read(attribute, 0, nullptr); }
  /// Up to `room`, each of `kind` and filled by cuDNN.
  Result<std::vector<CudnnDescriptor>> descriptors(CudnnName attribute, CudnnName kind,
                                                   std::int64_t room) const;

 private:
  CudnnDescriptor(const CudnnFunctions& functions, CudnnName kind, void* raw)
      : functions_(&functions), kind_(kind), raw_(raw) {}
  static Result<CudnnDescriptor> create(const CudnnFunctions& functions, CudnnName kind);
  Result<std::int64_t> read(CudnnName attribute, std::int64_t room, void* values) const;

  const CudnnFunctions* functions_ = nullptr;
  CudnnName kind_;
  void* raw_ = nullptr;
};

}  // namespace fatune
