// fake_driver.cpp - calls of the driver to entries in a FakeDriver's lists.
#include "fake_driver.hpp"

#include <algorithm>
#include <cstring>

#include "core/check.hpp"

namespace fatune::test {
namespace {

FakeDriver* current = nullptr;
constexpr CUdeviceptr kAllocation = 0xa0000000;

struct FakeLibrary {
  std::string cubin;
  std::map<std::string, std::string> entries;  ///< name to name; a kernel is its entry's address
};

/// Notes the call; what it returns.
CUresult note(const char* symbol, const std::string& detail = "") {
  const std::lock_guard guard(current->lock);
  current->calls.push_back(detail.empty() ? symbol : std::string(symbol) + " " + detail);
  const auto failing = current->failing.find(symbol);
  return failing == current->failing.end() ? CUDA_SUCCESS : failing->second;
}

CUresult init(unsigned) { return note("cuInit"); }
CUresult error_name(CUresult code, const char** text) {
  *text = code == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_FAKE";
  return CUDA_SUCCESS;
}
CUresult error_string(CUresult, const char** text) {
  *text = "as told";
  return CUDA_SUCCESS;
}
CUresult context_device(CUdevice* device) {
  *device = current->device;
  return current->device < 0 ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}
CUresult device_name(char* name, int length, CUdevice) {
  std::strncpy(name, "Fake GPU", static_cast<std::size_t>(length));
  return note("cuDeviceGetName");
}
CUresult device_attribute(int* value, CUdevice_attribute attribute, CUdevice) {
  *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR   ? current->major
           : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? current->minor
                                                                       : 227 << 10;  // shared
  return note("cuDeviceGetAttribute");
}
CUresult capture_mode(CUstreamCaptureMode* mode) {
  static thread_local CUstreamCaptureMode now = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::swap(*mode, now);
  return note("cuThreadExchangeStreamCaptureMode", std::to_string(static_cast<int>(now)));
}
CUresult library_load(CUlibrary* library, const void* code, CUjit_option*, void**, unsigned,
                      CUlibraryOption*, void**, unsigned) {
  const CUresult result = note("cuLibraryLoadData", static_cast<const char*>(code));
  if (result != CUDA_SUCCESS) return result;
  *library = reinterpret_cast<CUlibrary>(new FakeLibrary{static_cast<const char*>(code), {}});
  return result;
}
CUresult library_unload(CUlibrary library) {
  delete reinterpret_cast<FakeLibrary*>(library);
  return note("cuLibraryUnload");
}
CUresult library_kernel(CUkernel* kernel, CUlibrary library, const char* name) {
  auto& entries = reinterpret_cast<FakeLibrary*>(library)->entries;
  *kernel = reinterpret_cast<CUkernel>(&entries.emplace(name, name).first->second);
  return note("cuLibraryGetKernel", name);
}
CUresult kernel_function(CUfunction*, CUkernel) { return note("cuKernelGetFunction"); }
CUresult set_kernel_attribute(CUfunction_attribute attribute, int value, CUkernel kernel,
                              CUdevice device) {
  return note("cuKernelSetAttribute", *reinterpret_cast<std::string*>(kernel) + " " +
                                          std::to_string(static_cast<int>(attribute)) + "=" +
                                          std::to_string(value) + " on " + std::to_string(device));
}
CUresult encode_tensor_map(CUtensorMap* map, CUtensorMapDataType element, cuuint32_t rank,
                           void* address, const cuuint64_t* sizes, const cuuint64_t* strides,
                           const cuuint32_t* box, const cuuint32_t*, CUtensorMapInterleave,
                           CUtensorMapSwizzle swizzle, CUtensorMapL2promotion,
                           CUtensorMapFloatOOBfill) {
  const CUresult result = note("cuTensorMapEncodeTiled");
  if (result != CUDA_SUCCESS) return result;
  FATUNE_CHECK(rank == 4 && reinterpret_cast<std::uintptr_t>(map) % 64 == 0,
               "the driver demands the alignment");
  const auto place = reinterpret_cast<CUdeviceptr>(address);
  std::memcpy(map, &place, sizeof(place));
  const std::lock_guard guard(current->lock);
  current->encoded.push_back(
      {element, place, {sizes, sizes + 4}, {strides, strides + 3}, {box, box + 4}, swizzle});
  return result;
}
CUresult launch(const CUlaunchConfig* config, CUfunction function, void** arguments, void**) {
  FakeDriver::Launch seen;
  seen.entry = *reinterpret_cast<std::string*>(function);
  seen.config = *config;
  seen.attributes.assign(config->attrs, config->attrs + config->numAttrs);
  for (std::size_t i = 0; i < current->argument_counts.at(seen.entry); ++i) {
    std::memcpy(&seen.addresses.emplace_back(), arguments[i], sizeof(CUdeviceptr));
  }
  const CUresult result = note("cuLaunchKernelEx", seen.entry);
  if (result != CUDA_SUCCESS) return result;
  const std::lock_guard guard(current->lock);
  current->launches.push_back(std::move(seen));
  return result;
}
CUresult allocate(CUdeviceptr* address, std::size_t bytes, CUstream) {
  *address = kAllocation;
  return note("cuMemAllocAsync", std::to_string(bytes));
}
CUresult free(CUdeviceptr address, CUstream) {
  return note("cuMemFreeAsync", address == kAllocation ? "" : "of something else");
}

void* symbol(const char* name) {
  const auto& missing = current->missing;
  if (std::find(missing.begin(), missing.end(), name) != missing.end()) return nullptr;
#define FATUNE_FAKE(member, api, text) \
  if (std::strcmp(name, text) == 0) return reinterpret_cast<void*>(&member);
  FATUNE_RT_DRIVER_FUNCTIONS(FATUNE_FAKE)
#undef FATUNE_FAKE
  return nullptr;
}

}  // namespace

FakeDriver::FakeDriver() {
  FATUNE_CHECK(current == nullptr, "one fake driver lives at a time");
  current = this;
}

FakeDriver::~FakeDriver() { current = nullptr; }

std::function<rt::Outcome<rt::SymbolSource>()> FakeDriver::source() {
  return [] { return rt::SymbolSource(symbol); };
}

std::size_t FakeDriver::count(const std::string& beginning) const {
  return static_cast<std::size_t>(
      std::count_if(calls.begin(), calls.end(),
                    [&](const std::string& call) { return call.starts_with(beginning); }));
}

}  // namespace fatune::test
