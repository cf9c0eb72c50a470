// session_test.cpp: Checks which devices a --device list names.
#include "cli/options/session.hpp"

#include <catch2/catch_test_macros.hpp>

namespace fatune::cli {
namespace {

using Names = std::vector<std::string>;

ListedDevice gpu(const std::string& uuid, const std::string& device_name = "NVIDIA H200") {
  ListedDevice device;
  device.device_name = device_name;
  device.device_uuid = uuid;
  return device;
}

/// Devices of a machine with two GPUs of one kind and one of another.
Result<Names> chosen(const std::string& text) {
  return choose_devices(text, [] {
    return std::vector{gpu("GPU-a"), gpu("GPU-b"), gpu("GPU-c", "NVIDIA H100")};
  });
}

void check_devices(const std::string& text, const Names& expected) {
  CAPTURE(text);
  const auto devices = chosen(text);
  if (!devices) FAIL(devices.error().message);
  CHECK(*devices == expected);
}

void check_refused(const std::string& text, const std::string& words) {
  CAPTURE(text);
  const auto devices = chosen(text);
  REQUIRE_FALSE(devices);
  CAPTURE(devices.error().message);
  CHECK(devices.error().kind == ErrorKind::kUsage);
  CHECK(devices.error().message.find(words) != std::string::npos);
}

TEST_CASE("a list of GPUs has each by its one spelling") {
  check_devices("cuda:0,1", {"cuda:0", "cuda:1"});
  check_devices("cuda:0,01", {"cuda:0", "cuda:1"});
  check_devices("GPU-b,cuda:000", {"cuda:1", "cuda:0"});
  check_devices("GPU-b", {"cuda:1"});
}

TEST_CASE("a GPU that is named twice is refused, however it is spelled") {
  for (const char* text :
       {"cuda:0,0", "cuda:0,00", "cuda:00,cuda:0", "GPU-a,cuda:00", "GPU-a,GPU-a"})
    check_refused(text, "--device names cuda:0 twice");
}

TEST_CASE("GPUs that are not here, and of two kinds, are refused") {
  check_refused("cuda:0,3", "there is no cuda:3, only 3 GPUs");
  check_refused("cuda:all", "cuda:2 is NVIDIA H100");
  check_refused(
      "GPU-0707",
      "no GPU of this machine has the UUID GPU-0707; `fatune devices --json` lists UUIDs");
}

/// Devices of a machine with two GPUs, one of them shared with another process.
Result<Names> chosen_beside_others(const std::string& text, const std::string& first = "") {
  return choose_devices(text, [&] {
    std::vector<ListedDevice> here{gpu("GPU-a"), gpu("GPU-b")};
    here[0].unfit = first;
    here[1].unfit = "another process computes on it";
    return here;
  });
}

TEST_CASE("of cuda:all a GPU that others use is left out; named among several it is refused") {
  const auto all = chosen_beside_others("cuda:all");
  REQUIRE(all);
  CHECK(*all == Names{"cuda:0"});
  for (const char* text : {"cuda:0,1", "GPU-b,cuda:0"}) {
    const auto named = chosen_beside_others(text);
    REQUIRE_FALSE(named);
    CHECK(named.error().kind == ErrorKind::kEnvironment);
    CHECK(named.error().message ==
          "--device: cuda:1 is not fit for final phases, another process computes on it; leave it "
          "out, or wait");
  }
  CHECK(chosen_beside_others("GPU-b"));
  const auto none = chosen_beside_others("cuda:all", "MIG is on");
  REQUIRE_FALSE(none);
  CHECK(none.error().message ==
        "--device cuda:all: no GPU is fit for final phases: cuda:0, MIG is on; cuda:1, another "
        "process computes on it");
}

TEST_CASE("recordings have lists of their own, without GPUs") {
  check_devices("recorded:a,b,recorded:c", {"recorded:a,b", "recorded:c"});
  check_refused("recorded,cuda:0", "names cuda:0 beside recorded: name GPUs alone");
  check_refused("cuda:0,recorded:run", "names cuda:0 beside recorded:run: name GPUs alone");
  check_refused("recorded,GPU-a", "names GPU-a beside recorded: name GPUs alone");
  check_refused("auto,cuda:0", "names cuda:0 beside auto: name GPUs alone");
}

}  // namespace
}  // namespace fatune::cli
