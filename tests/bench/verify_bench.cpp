// verify_bench.cpp - times the host's part of a verification at a small and a large problem.
#include <chrono>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "worker/verify/compare.hpp"
#include "worker/verify/host_reference.hpp"
#include "worker/verify/inputs.hpp"

namespace fatune {
namespace {

template <typename Work>
void report(std::string_view what, const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - begin;
  fmt::print("  {:22} {:9.2f} ms\n", what, taken.count());
}

/// q stands for an output, its values for the reference: the work is the same.
void run(const Problem& problem) {
  fmt::print("{}\n", describe(problem));
  HostInputs inputs;
  report("make_inputs", [&] { inputs = make_inputs(problem, {}); });
  report("make_inputs, outliers", [&] {
    static_cast<void>(make_inputs(problem, {Distribution::kOutliers, 42}));
  });
  const auto table = decode_table(problem.dtype);
  std::vector<float> values(static_cast<std::size_t>(problem.query_elements()));
  const auto* elements = reinterpret_cast<const std::uint16_t*>(inputs.q.data());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = table[elements[i]];
  TensorReference reference;
  report("make_out_reference", [&] { reference = make_out_reference(problem, std::move(values)); });
  report("compare", [&] { static_cast<void>(compare(reference, inputs.q)); });
  report("validate_reference",
         [&] { static_cast<void>(validate_reference(problem, inputs, {reference.values}, 42)); });
}

}  // namespace
}  // namespace fatune

int main() {
  for (const char* shape : {"4,8,512,64", "1,32,16384,64"}) {
    const auto problem = fatune::parse_shape(shape);
    if (!problem) return 1;
    fatune::run(*problem);
  }
  return 0;
}
