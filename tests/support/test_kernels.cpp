// test_kernels.cpp: Writes the manifest that a test describes and loads it.
#include "support/test_kernels.hpp"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "core/json.hpp"

namespace fatune::test {
namespace {

template <typename T>
T required(Result<T> result) {
  if (!result) FAIL(result.error().message);
  return *std::move(result);
}

Json rules_json(const std::vector<std::string>& rules) {
  Json array = Json::array();
  for (const std::string& rule : rules) {
    const std::string why = "rule " + std::to_string(array.size() + 1) + " of the test";
    array.push_back({{"require", rule}, {"why", why}});
  }
  return array;
}

Json parameters_json(const std::vector<TestAxis>& axes) {
  Json array = Json::array();
  for (const TestAxis& axis : axes) {
    const Json values = required(parse_json(axis.values, axis.name));
    const Json usual = axis.default_value.empty()
                           ? values.at(0)
                           : required(parse_json(axis.default_value, axis.name));
    array.push_back(
        {{"name", axis.name}, {"values", values}, {"default", usual}, {"meaning", "an axis"}});
  }
  return array;
}

}  // namespace

KernelRef make_kernel(const TestKernel& description) {
  const std::string& name = description.name;
  const Json stage = {{"entry", name + "_main"},    {"grid", {"BATCH * HEADS", "1", "1"}},
                      {"block", {"128", "1", "1"}}, {"shared_bytes", "0"},
                      {"static_shared_bytes", "0"}, {"arguments", {"q", "k", "v", "out"}}};
  const Json manifest = {{"schema", "fatune.kernel/1"},
                         {"name", name},
                         {"summary", "a kernel of a test"},
                         {"source", name + ".cu"},
                         {"role", description.role},
                         {"tuned_by_default", true},
                         {"needs_toolkit_headers", false},
                         {"arch", {{"min", 75}}},
                         {"supports",
                          {{"dtypes", {"f16", "bf16"}},
                           {"masks", {"none", "causal"}},
                           {"rules", rules_json(description.problem_rules)}}},
                         {"parameters", parameters_json(description.axes)},
                         {"constraints", rules_json(description.rules)},
                         {"stages", Json::array({stage})}};
  const SourceTree tree = {
      {"test/" + name + ".cu", "extern \"C\" __global__ void " + name + "_main() {}\n"},
      {"test/" + name + ".json", manifest.dump(2)}};
  return required(load_kernels(tree)).front();
}

DeviceLimits test_limits() { return required(typical_limits(required(parse_arch("sm_90a")))); }

Attention test_problem() { return required(parse_shape("4,8,512,64")); }

Space make_space(const TestKernel& description) {
  return required(Space::build(make_kernel(description), test_problem(), test_limits()));
}

}  // namespace fatune::test
