// manifest.hpp: Defines a kernel's parsed manifest (fatune.kernel/1, see kernels/README.md).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/fields_fwd.hpp"
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

/// A rule as the manifest words it: the condition and the reason.
struct Rule {
  std::string require;
  std::string why;
  std::string where;    ///< file and field
  bool prunes = false;  ///< configs that break it are correct but pointless
  Syntax syntax = Syntax::kManifest;
};

/// The fault that a value of a fixture's parameter causes, and the result expected of the gates.
struct Fault {
  std::string outcome;                              ///< outcome that a sweep must report
  std::string gate;                                 ///< expected gate; see docs/correctness.md
  std::optional<Attention> problem = std::nullopt;  ///< of the self-test; none: a small one
  Rule when = {};                                   ///< where the fault shows; empty: everywhere
  std::string persisting_window = {};               ///< tensor that the host keeps in the L2 cache
};

struct Parameter {
  std::string name;
  std::vector<Value> values;
  std::size_t default_position = 0;
  std::string meaning;
  bool ordinal = true;  ///< numbers; words and booleans have no order
  /// The parameter is a choice if all rules hold; otherwise it has `otherwise_position`.
  std::vector<Rule> when;
  std::size_t otherwise_position = 0;
  std::vector<Fault> faults;  ///< one per value for a fixture; otherwise empty
};

/// A named expression for use in other expressions.
struct Term {
  std::string name;
  std::string value;  ///< expression over parameters, fixed names and earlier terms
  std::string meaning;
  std::string expanded;  ///< parenthesised, without terms; see vocabulary.hpp
};

struct ScratchSpec {
  std::string name;
  std::string bytes;  ///< expression
};

struct ConstantSpec {
  std::string symbol;  ///< a __constant__ variable by its C++ name
  std::string tensor;  ///< the input whose bytes fill it
};

struct DefineSpec {
  std::string name;   ///< of a macro
  std::string value;  ///< a parameter's name, for its value or word; else an expression
};

struct TensorMapSpec {
  std::string name;
  std::string tensor;              ///< "q", "k", "v", "out" or a scratch's name
  std::vector<std::string> sizes;  ///< set for a scratch: four expressions, fastest dimension first
  std::vector<std::string> box;    ///< four expressions, fastest dimension first
  std::string swizzle = "0";       ///< expression: 0, 32, 64 or 128 bytes
};

/// A launch of the kernel's code, or a library's matrix product.
struct StageSpec {
  std::optional<GemmSpec> gemm;  ///< if set, the members below are empty
  std::string when;              ///< expression: 0 omits the stage; empty: always present
  std::string entry;
  std::vector<std::string> grid, block;  ///< three expressions each
  std::vector<std::string> cluster = {"1", "1", "1"};
  std::string shared_bytes = "0", static_shared_bytes = "0";  ///< expressions
  bool counts_static = true;    ///< false: the compiler says what static_shared_bytes are
  std::string dependent = "0";  ///< expression; 1: programmatic dependent launch
  /// q, k, v, out, lse, or the operation's tensors; names of scratch and tensor maps.
  std::vector<std::string> arguments;
};

/// kAttention is the role of candidates, including candidates of custom operations.
enum class Role { kAttention, kReference, kBaseline, kFault };
std::string_view name(Role role);  ///< "attention"
FieldWord<Role> word_of(const Role*);

inline constexpr std::size_t kMostValues = 4096;  ///< of a parameter; chosen: a list, not a range
inline constexpr std::size_t kLaunchDimensions = 3;

struct Manifest {
  std::string name, summary, source;
  std::string where;  ///< path of the manifest, for messages
  Role role = Role::kAttention;
  OperationRef operation = attention();
  bool tuned_by_default = false;
  bool needs_toolkit_headers = false;
  std::vector<std::string> compiler_options;  ///< of NVRTC, besides those that fatune sets
  int min_arch = 0;
  std::vector<Arch> only_archs;
  std::vector<Dtype> dtypes;
  std::vector<MaskKind> masks;
  std::vector<ScoreChange> scores;  ///< what the kernel can do to scores
  bool lse = false;                 ///< the kernel can write the log-sum-exp
  bool value_dim = false;           ///< v and out may have other columns than q and k
  std::string quant = "given";      ///< of fp8 problems: given, fused or either
  std::vector<Rule> problem_rules;
  std::vector<Parameter> parameters;
  std::vector<Term> terms;
  std::vector<Rule> constraints;
  std::vector<ScratchSpec> scratch;
  std::vector<ConstantSpec> constants;
  bool own_macros = false;          ///< 'defines' is given: parameters are no macros
  std::vector<DefineSpec> defines;  ///< the macros in their place
  std::vector<TensorMapSpec> tensor_maps;
  std::vector<StageSpec> stages;

  const Parameter* find(std::string_view parameter) const {
    return find_named(parameters, parameter);
  }
  /// Whether a search of it is checked against its default config, without another reference.
  bool is_own_yardstick() const {
    return role == Role::kReference && !parameters.empty() && operation != attention();
  }
  /// The kernel computes fp8 problems with quantized q, k and v.
  bool takes_given() const { return quant != "fused"; }
  /// The kernel computes fp8 problems and quantizes q, k and v itself.
  bool quantizes() const { return quant != "given"; }
};
/// Lists the members of a manifest; reading alone does not check names and expressions.
void fields(Manifest& x, FieldList& f);

/// Checks everything that does not need a problem: fields, types, names, defaults, expressions,
/// variables, arguments. Errors name file and field. `operations`: declared by other manifests;
/// this manifest may compute one.
Result<Manifest> parse_manifest(std::string_view text, const std::string& where,
                                std::span<const OperationRef> operations = {});

/// `positions`: the value index of each parameter.
Config config_at(const Manifest& manifest, std::span<const std::uint16_t> positions);
std::vector<std::uint16_t> default_positions(const Manifest& manifest);
/// Returns the config with every parameter at its default.
Config default_config(const Manifest& manifest);
/// Reads {"BLOCK_M":128,...}: requires every parameter, with a value of its list. Errors name
/// parameter and choices.
Result<Config> config_from_json(const Manifest& manifest, const Json& object,
                                const std::string& where);

/// Returns the fault that the config causes; null for an honest kernel.
const Fault* fault_of(const Manifest& manifest, const Config& config);
/// Returns the usual kind of the kernel's fp8 problems: fused if it takes no others.
Quant usual_quant(const Manifest& manifest);

/// Returns the problem that the kernel is compiled for. A kernel that does not quantize computes a
/// fused problem in its 16-bit input types.
Problem problem_for(const Manifest& manifest, const Problem& asked);
/// Tells whether the kernel is meant for this type of problem; sweeps try such kernels unless
/// kernels are named.
bool is_for_type(const Manifest& manifest, const Problem& problem);

/// Returns why the kernel cannot solve this problem on this architecture; empty if it can.
Result<std::string> unsupported_reason(const Manifest& manifest, const Problem& problem,
                                       const DeviceLimits& limits);

}  // namespace fatune
