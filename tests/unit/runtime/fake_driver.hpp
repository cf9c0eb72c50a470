// fake_driver.hpp - driver entry points that note what they are asked, in place of libcuda.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/driver.hpp"

namespace fatune::test {

/// One fake driver lives at a time, in a test; its entry points are plain functions that find it.
class FakeDriver {
 public:
  struct Launch {
    std::string entry;
    CUlaunchConfig config{};
    std::vector<CUlaunchAttribute> attributes;
    std::vector<CUdeviceptr> addresses;  ///< arguments by address; of a map the tensor it covers
  };
  struct Encoded {
    CUtensorMapDataType element;
    CUdeviceptr address;
    std::vector<cuuint64_t> sizes, strides;
    std::vector<cuuint32_t> box;
    CUtensorMapSwizzle swizzle;
  };

  FakeDriver();
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;
  ~FakeDriver();

  /// For fatune_rt::open: a driver with all symbols, save for those in `missing`.
  std::function<rt::Outcome<rt::SymbolSource>()> source();

  // What the driver pretends.
  CUdevice device = 0;  ///< of the current context; -1: no context is current
  int major = 9, minor = 0;
  std::map<std::string, CUresult> failing;  ///< symbol to what it returns
  std::vector<std::string> missing;         ///< symbols
  std::map<std::string, std::size_t> argument_counts = {{"attend", 5}, {"combine", 4}};

  // What it was asked. The lock is for tests with threads.
  std::mutex lock;
  std::vector<std::string> calls;  ///< "cuLibraryLoadData machine code of ...", launches left out
  std::vector<Launch> launches;
  std::vector<Encoded> encoded;

  std::size_t count(const std::string& beginning) const;  ///< of calls that begin so
};

}  // namespace fatune::test
