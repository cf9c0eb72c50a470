// fake_cudnn.cpp: Records attributes, and answers heuristic queries from a list.
#include "fake_cudnn.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/result.hpp"
#include "core/text.hpp"

namespace fatune::test {
namespace {

FakeCudnn* current = nullptr;

FakeDescriptor& at(const void* raw) {
  return *const_cast<FakeDescriptor*>(static_cast<const FakeDescriptor*>(raw));
}

FakeDescriptor& at(std::int64_t pointer) { return at(std::bit_cast<const void*>(pointer)); }

std::size_t size_of_type(int type) {
  switch (static_cast<CudnnType>(type)) {
    case CudnnType::kBoolean:
      return sizeof(bool);
    case CudnnType::kHandle:
    case CudnnType::kInt64:
    case CudnnType::kPointer:
    case CudnnType::kDescriptor:
      return 8;
    default:
      return sizeof(int);
  }
}

int create_descriptor(int kind, void** descriptor) {
  current->descriptors.push_back(std::make_unique<FakeDescriptor>());
  current->descriptors.back()->kind = kind;
  *descriptor = current->descriptors.back().get();
  return 0;
}

int destroy_descriptor(void* descriptor) {
  FATUNE_CHECK(!at(descriptor).destroyed, "a descriptor is destroyed once");
  at(descriptor).destroyed = true;
  return 0;
}

int set_attribute(void* descriptor, int attribute, int type, std::int64_t count,
                  const void* values) {
  FATUNE_CHECK(!at(descriptor).finalized, "attributes are set before finalizing");
  FakeAttribute recorded{type, {}};
  const auto* from = static_cast<const std::byte*>(values);
  const std::size_t size = size_of_type(type);
  for (std::int64_t i = 0; i < count; ++i, from += size) {
    std::int64_t value = 0;
    std::memcpy(&value, from, size);
    recorded.values.push_back(value);
    if (type == static_cast<int>(CudnnType::kDescriptor))
      FATUNE_CHECK(at(value).finalized && !at(value).destroyed, "only whole parts are given on");
  }
  at(descriptor).attributes[attribute] = recorded;
  return 0;
}

/// cuDNN tells the number of knobs only when it is given room for them.
int get_attribute(void* raw, int attribute, int, std::int64_t room, std::int64_t* count,
                  void* values) {
  FakeDescriptor& descriptor = at(raw);
  auto** places = static_cast<void**>(values);
  *count = 1;
  if (attribute == cudnn_attribute::kHeuristicResults.value) {
    const auto mode = descriptor.attributes.at(cudnn_attribute::kHeuristicMode.value).values[0];
    const auto& engines = current->engines[static_cast<CudnnHeuristic>(mode)];
    *count = static_cast<std::int64_t>(engines.size());
    for (std::int64_t i = 0; i < std::min(room, *count); ++i) {
      at(places[i]).engine = engines[static_cast<std::size_t>(i)];
      at(places[i]).finalized = true;
    }
  } else if (attribute == cudnn_attribute::kConfigEngine.value) {
    at(places[0]).engine = descriptor.engine;
  } else if (attribute == cudnn_attribute::kConfigKnobs.value) {
    const auto& knobs = descriptor.engine.knobs;
    *count = std::min(room, static_cast<std::int64_t>(knobs.size()));
    for (std::int64_t i = 0; i < *count; ++i)
      at(places[i]).knob = knobs[static_cast<std::size_t>(i)];
  } else if (attribute == cudnn_attribute::kKnobType.value) {
    *static_cast<int*>(values) = descriptor.knob.first;
  } else if (attribute == cudnn_attribute::kKnobValue.value) {
    *static_cast<std::int64_t*>(values) = descriptor.knob.second;
  } else if (attribute == cudnn_attribute::kEngineIndex.value) {
    *static_cast<std::int64_t*>(values) = descriptor.engine.index;
  } else if (attribute == cudnn_attribute::kPlanWorkspace.value) {
    *static_cast<std::int64_t*>(values) = descriptor.engine.workspace_bytes;
  } else {
    return 2000;
  }
  return 0;
}

int finalize(void* raw) {
  FakeDescriptor& descriptor = at(raw);
  if (const auto found = current->finalize_status.find(descriptor.kind);
      found != current->finalize_status.end()) {
    return found->second;
  }
  if (descriptor.kind == cudnn_descriptor::kPlan.value) {
    const auto config = descriptor.attributes.at(cudnn_attribute::kPlanConfig.value).values[0];
    descriptor.engine = at(config).engine;
    if (descriptor.engine.finalize_status != 0) return descriptor.engine.finalize_status;
  }
  descriptor.finalized = true;
  return 0;
}

int execute(void*, void* plan, void* pack) {
  FATUNE_CHECK(at(plan).finalized && at(pack).finalized, "only whole plans and packs run");
  current->executed.push_back(at(plan).engine.index);
  current->last_pack = &at(pack);
  return at(plan).engine.execute_status;
}

std::string name_of(const FakeDescriptor& settings) {
  if (settings.kind == cudnn_descriptor::kReduction.value) {
    const auto mode = settings.attributes.at(cudnn_attribute::kReductionOperator.value).values[0];
    if (mode == static_cast<int>(CudnnReduction::kLargestMagnitude)) return "amax";
    return mode == static_cast<int>(CudnnReduction::kMax) ? "row_max" : "row_sum";
  }
  const auto mode = settings.attributes.at(cudnn_attribute::kPointwiseMode.value).values[0];
  const std::map<CudnnPointwise, std::string> names = {
      {CudnnPointwise::kAdd, "add"},      {CudnnPointwise::kMul, "mul"},
      {CudnnPointwise::kDiv, "div"},      {CudnnPointwise::kSub, "sub"},
      {CudnnPointwise::kExp, "exp"},      {CudnnPointwise::kLog, "log"},
      {CudnnPointwise::kIndex, "index"},  {CudnnPointwise::kGreaterOrEqual, "ge"},
      {CudnnPointwise::kSelect, "select"}};
  const std::string name = names.at(static_cast<CudnnPointwise>(mode));
  if (name != "index") return name;
  return name +
         std::to_string(settings.attributes.at(cudnn_attribute::kPointwiseAxis.value).values[0]);
}

}  // namespace

FakeCudnn::FakeCudnn() {
  FATUNE_CHECK(current == nullptr, "one at a time");
  current = this;
  functions_.version = [] { return current->version; };
  functions_.status_text = [](int status) {
    return status == 3000 ? "CUDNN_STATUS_NOT_SUPPORTED" : "CUDNN_STATUS_BAD_PARAM";
  };
  functions_.last_error = [](char* text, std::size_t size) {
    const std::string& said = current->last_error;
    std::memcpy(text, said.c_str(), std::min(size, said.size() + 1));
  };
  functions_.create = [](void** handle) {
    if (current->create_status != 0) return current->create_status;
    ++current->handles;
    *handle = current;
    return 0;
  };
  functions_.destroy = [](void*) {
    --current->handles;
    return 0;
  };
  functions_.set_stream = [](void*, CUstream given) {
    current->stream = given;
    return 0;
  };
  functions_.create_descriptor = create_descriptor;
  functions_.destroy_descriptor = destroy_descriptor;
  functions_.set_attribute = set_attribute;
  functions_.get_attribute = get_attribute;
  functions_.finalize = finalize;
  functions_.execute = execute;
}

FakeCudnn::~FakeCudnn() { current = nullptr; }

int FakeCudnn::count_alive() const {
  return static_cast<int>(std::count_if(descriptors.begin(), descriptors.end(),
                                        [](const auto& each) { return !each->destroyed; }));
}

std::vector<std::string> FakeCudnn::operations(const void* graph) const {
  std::vector<std::string> lines;
  for (const std::int64_t pointer :
       at(graph).attributes.at(cudnn_attribute::kGraphOperations.value).values) {
    const FakeDescriptor& operation = at(pointer);
    std::string line = "matmul", result;
    for (const auto& [attribute, recorded] : operation.attributes) {
      const FakeDescriptor& part = at(recorded.values[0]);
      if (part.kind == cudnn_descriptor::kMatmul.value) continue;
      if (part.kind != cudnn_descriptor::kTensor.value) {
        line.replace(0, line.find(' '), name_of(part));
        continue;
      }
      const auto id = part.attributes.at(cudnn_attribute::kTensorId.value).values[0];
      const bool is_result = attribute == cudnn_attribute::kMatmulC.value ||
                             attribute == cudnn_attribute::kPointwiseY.value ||
                             attribute == cudnn_attribute::kReductionY.value;
      (is_result ? result : line) += " " + std::to_string(id);
    }
    lines.push_back(line + " ->" + result);
  }
  return lines;
}

const FakeDescriptor& FakeCudnn::tensor(std::int64_t id) const {
  const auto found = std::find_if(descriptors.rbegin(), descriptors.rend(), [&](const auto& each) {
    return each->kind == cudnn_descriptor::kTensor.value &&
           each->attributes.at(cudnn_attribute::kTensorId.value).values[0] == id;
  });
  FATUNE_CHECK(found != descriptors.rend(), "the graph has the tensor");
  return **found;
}

}  // namespace fatune::test
