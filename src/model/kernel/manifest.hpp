// manifest.hpp - a kernel's manifest (fatune.kernel/1) as values; see kernels/README.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.hpp"
#include "core/result.hpp"
#include "model/kernel/config.hpp"
#include "model/kernel/expression.hpp"
#include "model/kernel/gemm.hpp"
#include "model/kernel/limits.hpp"
#include "model/kernel/operation.hpp"
#include "model/problem/dtype.hpp"
#include "model/problem/problem.hpp"

namespace fatune {

/// Null for none.
template <typename Named>
const Named* find_named(const std::vector<Named>& list, std::string_view name) {
  for (const Named& each : list) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

template <typename Named>
std::vector<std::string> names_of(const std::vector<Named>& list) {
  std::vector<std::string> names;
  for (const Named& each : list) names.push_back(each.name);
  return names;
}

/// A rule in words of the manifest: what must hold and why.
struct Rule {
  std::string require;
  std::string why;
  std::string where;    ///< file and field
  bool prunes = false;  ///< a config that breaks it is right but pointless
  Syntax syntax = Syntax::kManifest;
};

/// What a value of a fixture's parameter makes wrong, and what must become of it.
struct Fault {
  std::string outcome;                            ///< that a sweep must give it
  std::string gate;                               ///< that must decide it; see docs/correctness.md
  std::optional<Problem> problem = std::nullopt;  ///< where the self-test runs it, or a small one
  Rule when = {};                                 ///< where the fault shows; empty: everywhere
  std::string persisting_window = {};             ///< tensor that the host keeps in the L2 cache
};

struct Parameter {
  std::string name;
  std::vector<Value> values;
  std::size_t default_position = 0;
  std::string meaning;
  bool ordinal = true;  ///< numbers; words and booleans have no order
  /// The parameter is a choice where all of them hold; elsewhere it has `otherwise_position`.
  std::vector<Rule> when;
  std::size_t otherwise_position = 0;
  std::vector<Fault> faults;  ///< one a value, of a fixture; else empty
};

/// A name for an expression that others use.
struct Term {
  std::string name;
  std::string value;  ///< expression over parameters, fixed names and earlier terms
  std::string meaning;
  std::string expanded;  ///< in parentheses, without terms; see vocabulary.hpp
};

struct ScratchSpec {
  std::string name;
  std::string bytes;  ///< expression
};

struct TensorMapSpec {
  std::string name;
  std::string tensor;              ///< "q", "k", "v", "out" or a scratch's name
  std::vector<std::string> sizes;  ///< of a scratch: four expressions, fastest dimension first
  std::vector<std::string> box;    ///< four expressions, fastest dimension first
  std::string swizzle = "0";       ///< expression: 0, 32, 64 or 128 bytes
};

/// A launch of the kernel's code, or a library's matrix product.
struct StageSpec {
  std::optional<GemmSpec> gemm;  ///< then all below is empty
  std::string when;              ///< expression: 0 leaves the stage out; empty: never left out
  std::string entry;
  std::vector<std::string> grid, block;  ///< three expressions each
  std::vector<std::string> cluster = {"1", "1", "1"};
  std::string shared_bytes, static_shared_bytes;  ///< expressions
  std::string dependent = "0";                    ///< expression; 1: programmatic dependent launch
  /// q, k, v, out, lse, or the operation's tensors; scratch and tensor-map names.
  std::vector<std::string> arguments;
};

/// kAttention is the role of candidates, custom operations included.
enum class Role { kAttention, kReference, kBaseline, kFault };

struct Manifest {
  std::string name, summary, source;
  std::string where;  ///< the manifest's own path, for messages
  Role role = Role::kAttention;
  OperationRef operation = attention();
  bool tuned_by_default = false;
  bool needs_toolkit_headers = false;
  int min_arch = 0;
  std::vector<Arch> only_archs;
  std::vector<Dtype> dtypes;
  std::vector<Mask> masks;
  bool lse = false;         ///< can write the log-sum-exp
  bool takes_given = true;  ///< computes fp8 problems whose q, k and v come quantized
  bool quantizes = false;   ///< computes fp8 problems whose q, k and v it quantizes itself
  std::vector<Rule> problem_rules;
  std::vector<Parameter> parameters;
  std::vector<Term> terms;
  std::vector<Rule> constraints;
  std::vector<ScratchSpec> scratch;
  std::vector<TensorMapSpec> tensor_maps;
  std::vector<StageSpec> stages;

  const Parameter* find(std::string_view parameter) const {
    return find_named(parameters, parameter);
  }
};

/// Checks everything that can be checked without a problem: fields, types, names, defaults among
/// values, expressions parse and use known variables, arguments resolve. Errors name file and
/// field. `operations`: those that other manifests declare and this one may compute.
Result<Manifest> parse_manifest(std::string_view text, const std::string& where,
                                std::span<const OperationRef> operations = {});

/// `positions`: of the value of each parameter in its list.
Config config_at(const Manifest& manifest, std::span<const std::uint16_t> positions);
std::vector<std::uint16_t> default_positions(const Manifest& manifest);
/// The config with every parameter at its default.
Config default_config(const Manifest& manifest);
/// Reads {"BLOCK_M":128,...}: every parameter present, every value one of the list; errors name
/// parameter and choices.
Result<Config> config_from_json(const Manifest& manifest, const Json& object,
                                const std::string& where);

/// What the config makes wrong; null for an honest kernel.
const Fault* fault_of(const Manifest& manifest, const Config& config);
/// How fp8 problems of the kernel come: fused where it takes no others.
Quant usual_quant(const Manifest& manifest);

/// The problem as the kernel is compiled for it: a kernel that does not quantize computes a fused
/// problem in the types that it is given in.
Problem problem_for(const Manifest& manifest, const Problem& problem);
/// Whether the kernel is for this type of problem: what sweeps try unless kernels are named.
bool is_for_type(const Manifest& manifest, const Problem& problem);

/// Why the kernel cannot do this problem on this architecture; empty when it can.
Result<std::string> unsupported_reason(const Manifest& manifest, const Problem& problem,
                                       const DeviceLimits& limits);

}  // namespace fatune
