// driver_test.cpp: Tests errors without a driver, parsed versions, and fatal return codes.
#include "gpu/driver.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "gpu/library.hpp"
#include "gpu/objects.hpp"
#include "gpu/telemetry.hpp"

using namespace fatune;

TEST_CASE("without a driver every way in says what to do") {
  if (gpu::Library::open({"libcuda.so.1"})) SKIP("this machine has an NVIDIA driver");
  const Status loaded = gpu::load_driver();
  REQUIRE_FALSE(loaded);
  CHECK(loaded.error().kind == ErrorKind::kEnvironment);
  CHECK(loaded.error().message.find("libcuda.so.1") != std::string::npos);
  CHECK(loaded.error().message.find("--gpus all") != std::string::npos);
  CHECK(loaded.error().message.find("recorded") != std::string::npos);

  const auto count = gpu::device_count();
  REQUIRE_FALSE(count);
  CHECK(count.error().message == loaded.error().message);
  CHECK_FALSE(gpu::device_facts(0));
  CHECK_FALSE(gpu::make_context(0));
}

TEST_CASE("CUDA versions are written as people do") {
  CHECK(gpu::cuda_version_text(13000) == "13.0");
  CHECK(gpu::cuda_version_text(12090) == "12.9");
  CHECK(gpu::cuda_version_text(11080) == "11.8");
}

TEST_CASE("the driver's version is read from the kernel module's text") {
  CHECK(gpu::parse_kernel_module_version("NVRM version: NVIDIA UNIX x86_64 Kernel Module  "
                                         "580.159.04  Wed Oct  1 00:00:00 UTC 2025\n"
                                         "GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n") ==
        "580.159.04");
  CHECK(
      gpu::parse_kernel_module_version(
          "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15  Release Build\n") ==
      "550.54.15");
  CHECK(gpu::parse_kernel_module_version("").empty());
  CHECK(gpu::parse_kernel_module_version("GCC version:  gcc version 12.2.0\n").empty());
}

TEST_CASE("a device's id is written like nvidia-smi does") {
  char bytes[16];
  for (int i = 0; i < 16; ++i) bytes[i] = static_cast<char>(0x11 * i);
  CHECK(gpu::uuid_text(bytes) == "GPU-00112233-4455-6677-8899-aabbccddeeff");
}

TEST_CASE("codes after which the context is of no use are sticky") {
  const int code = GENERATE(214, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 999);
  CHECK(gpu::is_sticky(static_cast<CUresult>(code)));
}

TEST_CASE("success, a bad image and a launch that asks for too much leave the context unharmed") {
  const int code = GENERATE(0, 1, 2, 200, 218, 600, 701);
  CHECK_FALSE(gpu::is_sticky(static_cast<CUresult>(code)));
}
