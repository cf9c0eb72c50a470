// fake_cudnn.hpp: Fakes cuDNN's backend functions with in-memory descriptors and engines.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "worker/baselines/cudnn_library.hpp"

namespace fatune::test {

/// An engine config as a heuristic names it.
struct FakeEngine {
  std::int64_t index = 0;
  std::vector<std::pair<int, std::int64_t>> knobs = {};
  int finalize_status = 0;  ///< of a plan with it
  int execute_status = 0;
  std::int64_t workspace_bytes = 0;
};

struct FakeAttribute {
  int type = 0;
  std::vector<std::int64_t> values;  ///< numbers, or pointers as numbers
};

struct FakeDescriptor {
  int kind = 0;
  bool finalized = false, destroyed = false;
  std::map<int, FakeAttribute> attributes;
  FakeEngine engine;  ///< of configs, engines and plans
  std::pair<int, std::int64_t> knob;
};

/// One at a time: the functions are plain pointers.
class FakeCudnn {
 public:
  FakeCudnn();
  ~FakeCudnn();
  FakeCudnn(const FakeCudnn&) = delete;
  FakeCudnn& operator=(const FakeCudnn&) = delete;

  const CudnnFunctions& functions() const { return functions_; }

  std::size_t version = 91900;
  std::map<CudnnHeuristic, std::vector<FakeEngine>> engines;
  std::map<int, int> finalize_status;  ///< by kind of descriptor
  int create_status = 0;
  std::string last_error;

  std::vector<std::unique_ptr<FakeDescriptor>> descriptors;  ///< also the destroyed ones
  std::vector<std::int64_t> executed;                        ///< engines
  const FakeDescriptor* last_pack = nullptr;
  int handles = 0;  ///< open now
  CUstream stream = nullptr;

  int count_alive() const;
  /// "mul 100 5 -> 101" for each operation of the graph, tensors by id.
  std::vector<std::string> operations(const void* graph) const;
  /// The tensor with the id, of the graph made last.
  const FakeDescriptor& tensor(std::int64_t id) const;

 private:
  CudnnFunctions functions_;
};

}  // namespace fatune::test
