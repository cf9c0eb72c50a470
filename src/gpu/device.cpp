// device.cpp - asks the driver for a device's identity, limits and sizes.
#include "gpu/device.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "gpu/driver.hpp"

namespace fatune::gpu {
namespace {

/// Asks for attributes of one device; remembers the first failure, so that a list of questions
/// reads as a list.
class Attributes {
 public:
  explicit Attributes(CUdevice device) : device_(device) {}
  int operator[](CUdevice_attribute attribute) {
    int value = 0;
    const CUresult code = driver().device_attribute(&value, attribute, device_);
    if (first_failure_ == CUDA_SUCCESS) first_failure_ = code;
    return value;
  }
  CUresult first_failure() const { return first_failure_; }

 private:
  CUdevice device_;
  CUresult first_failure_ = CUDA_SUCCESS;
};

CUresult read_attributes(CUdevice device, DeviceFacts& facts) {
  Attributes ask(device);
  facts.major = ask[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR];
  facts.minor = ask[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR];
  facts.sm_count = ask[CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT];
  facts.max_shared_block = ask[CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN];
  facts.max_shared_sm = ask[CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR];
  facts.max_threads_block = ask[CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK];
  facts.max_threads_sm = ask[CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR];
  facts.max_blocks_sm = ask[CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR];
  facts.max_registers_sm = ask[CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR];
  facts.l2_bytes = ask[CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE];
  facts.memory_bus_bits = ask[CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH];
  facts.memory_clock_mhz = ask[CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE] / 1000;
  facts.max_sm_clock_mhz = ask[CU_DEVICE_ATTRIBUTE_CLOCK_RATE] / 1000;
  facts.display_watchdog = ask[CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT] != 0;
  return ask.first_failure();
}

/// The driver writes the bus id in capitals, the system's tools in small letters.
std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

}  // namespace

std::string uuid_text(const char (&bytes)[16]) {
  std::string text = "GPU";
  for (std::size_t i = 0; i < 16; ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(bytes[i]));
  }
  return text;
}

Result<int> device_count() {
  FATUNE_TRY_STATUS(load_driver());
  int count = 0;
  FATUNE_TRY_STATUS(check(driver().device_count(&count), "cannot count the devices"));
  if (count == 0) return device_error("the NVIDIA driver finds no GPU");
  return count;
}

Result<DeviceFacts> device_facts(int ordinal) {
  FATUNE_TRY(const int count, device_count());
  if (ordinal < 0 || ordinal >= count) {
    return device_error(
        fmt::format("there is no device {}; this machine has {}, numbered from 0", ordinal, count));
  }
  DeviceFacts facts;
  facts.ordinal = ordinal;
  const std::string doing = fmt::format("cannot ask device {} for its properties", ordinal);
  CUdevice device = 0;
  FATUNE_TRY_STATUS(check(driver().device(&device, ordinal), doing));
  std::array<char, 256> name{};
  FATUNE_TRY_STATUS(
      check(driver().device_name(name.data(), static_cast<int>(name.size()), device), doing));
  facts.name = name.data();
  CUuuid uuid{};
  FATUNE_TRY_STATUS(check(driver().device_uuid(&uuid, device), doing));
  facts.uuid = uuid_text(uuid.bytes);
  std::array<char, 32> bus{};
  FATUNE_TRY_STATUS(
      check(driver().device_pci_bus_id(bus.data(), static_cast<int>(bus.size()), device), doing));
  facts.pci_bus_id = lower(bus.data());
  std::size_t memory = 0;
  FATUNE_TRY_STATUS(check(driver().device_memory(&memory, device), doing));
  facts.memory_bytes = static_cast<std::int64_t>(memory);
  FATUNE_TRY_STATUS(check(read_attributes(device, facts), doing));
  facts.cuda_driver = cuda_version_text(driver_version());
  facts.driver = kernel_module_version();
  return facts;
}

}  // namespace fatune::gpu
