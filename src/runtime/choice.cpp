// choice.cpp: Ranks the stored kernels that may serve a problem, and explains if none may.
#include "runtime/choice.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "core/text.hpp"
#include "model/problem/tensor.hpp"

namespace fatune::rt {
namespace {

/// Returns all that decides the computation, apart from the number of key heads; see fit(). With a
/// mask the rows of a query head count, without a mask all rows of a key head.
auto work_of(const Attention& problem) {
  const std::int64_t group = problem.heads / problem.kv_heads;
  const bool idle = problem.mask == Mask::kCausal && problem.seq_q == 1;
  const bool masked = problem.mask != Mask::kNone && !idle;
  return std::tuple(masked ? problem.mask : Mask::kNone, masked ? group : 1,
                    masked ? problem.seq_q : group * problem.seq_q, problem.seq_kv,
                    problem.head_dim, problem.value_columns(), problem.dtype, problem.lse,
                    problem.softcap);
}

std::int64_t key_heads(const Attention& problem) { return problem.batch * problem.kv_heads; }

bool parts_are_aligned(const Attention& tuned) {
  const PartBytes parts = part_bytes(tuned);
  const auto aligned = [](std::int64_t bytes) {
    return static_cast<std::uint64_t>(bytes) % kTensorAlignment == 0;
  };
  return aligned(parts.q) && aligned(parts.k) && aligned(parts.v) && aligned(parts.out) &&
         (!tuned.lse || aligned(parts.lse));
}

/// Scales are floats, so this allows for a caller's other rounding. Chosen.
constexpr double kScaleTolerance = 1e-6;

bool same_scale(double compiled, double wanted) {
  return std::abs(compiled - wanted) <= kScaleTolerance * std::abs(wanted);
}

/// Returns the bytes of shared memory per block, of the stage that needs most.
std::int64_t shared_bytes(const KernelFacts& facts) {
  std::int64_t most = 0;
  for (const StageFacts& stage : facts.stages)
    most = std::max(most, stage.shared_bytes + stage.static_shared_bytes);
  return most;
}

double log_ratio(std::int64_t a, std::int64_t b) {
  return std::abs(std::log2(static_cast<double>(a) / static_cast<double>(b)));
}

constexpr std::pair<const char*, Layout Layouts::*> kLayouts[] = {
    {"q", &Layouts::q}, {"k", &Layouts::k}, {"v", &Layouts::v}, {"out", &Layouts::out}};

/// Returns the strides, with head_dim for dimensions of size 1.
Strides stepped_strides(const Attention& problem, const char* tensor) {
  const TensorSizes sizes = sizes_of(problem, tensor);
  Strides strides = strides_of(problem, tensor);
  if (sizes.batch == 1) strides.batch = sizes.columns;
  if (sizes.heads == 1) strides.head = sizes.columns;
  if (sizes.rows == 1) strides.row = sizes.columns;
  return strides;
}

/// Leaves out what a kernel does not depend on: the numbers of lengths, but not how many documents,
/// and values and order of named tensors.
Attention without_numbers(Attention problem) {
  Lengths& lengths = problem.mask.lengths;
  if (lengths.repeats()) lengths.numbers.resize(1);
  std::ranges::fill(lengths.numbers, problem.seq_kv);
  for (NamedTensor& each : problem.tensors) each.runs.clear();
  std::ranges::sort(problem.tensors, {}, &NamedTensor::name);
  return problem;
}

bool same_but_for_layouts(const Attention& a, const Attention& b) {
  Attention moved = without_numbers(a);
  moved.layouts = b.layouts;
  return moved == without_numbers(b);
}

/// Returns whether results depend on more than a head's own rows of q, k and v.
bool knows_places(const Attention& problem) {
  return !optional_tensors(problem).empty() || !problem.mask.rule.empty() || !problem.score.empty();
}

/// Distance of two problems, chosen. A doubled length counts 1 and a doubled number of heads 1/2,
/// because kernels tile lengths but take heads one by one. Mask and head_dim change the kernel's
/// loop, layouts only addresses.
double distance(const Attention& a, const Attention& b) {
  const bool same = without_numbers(a).mask == without_numbers(b).mask;
  const double mask = same && score_changes(a) == score_changes(b) ? 0 : 4;
  const double lse = a.lse == b.lse ? 0 : 0.5;
  const double layout = with_named_layouts(a).layouts == b.layouts ? 0 : 0.25;
  return mask + lse + layout + 4 * log_ratio(a.head_dim, b.head_dim) + log_ratio(a.seq_q, b.seq_q) +
         log_ratio(a.seq_kv, b.seq_kv) +
         (log_ratio(a.batch * a.heads, b.batch * b.heads) +
          log_ratio(a.batch * a.kv_heads, b.batch * b.kv_heads)) /
             2;
}

}  // namespace

Attention with_named_layouts(Attention problem) {
  Layouts named;
  Attention other = problem;
  const auto lies_so = [&](const char* tensor, Layout Layouts::*layout, LayoutKind kind) {
    other.layouts.*layout = {kind, {}};
    return stepped_strides(problem, tensor) == stepped_strides(other, tensor);
  };
  bool packed = problem.seq_q == problem.seq_kv;
  for (const auto& [tensor, layout] : kLayouts) {
    packed = packed && (layout == &Layouts::out || lies_so(tensor, layout, LayoutKind::kPacked));
    if (lies_so(tensor, layout, LayoutKind::kBhsd)) continue;
    named.*layout = lies_so(tensor, layout, LayoutKind::kBshd)
                        ? Layout{LayoutKind::kBshd, {}}
                        : Layout{LayoutKind::kStrides, stepped_strides(problem, tensor)};
  }
  if (packed && named.q.kind == LayoutKind::kStrides)
    named.q = named.k = named.v = {LayoutKind::kPacked, {}};
  problem.layouts = named;
  return problem;
}

std::optional<Fit> fit(Attention tuned, Attention wanted) {
  tuned = with_named_layouts(without_numbers(tuned));
  wanted = with_named_layouts(without_numbers(wanted));
  if (tuned == wanted) return Fit{};
  if (knows_places(tuned) || knows_places(wanted)) return std::nullopt;
  if (!tuned.layouts.plain() || !wanted.layouts.plain()) return std::nullopt;
  if (work_of(tuned) != work_of(wanted)) return std::nullopt;
  const std::int64_t launches = key_heads(wanted) / key_heads(tuned);
  if (launches * key_heads(tuned) != key_heads(wanted)) return std::nullopt;
  if (launches == 1) return Fit{FATUNE_RT_REGROUPED, 1};
  if (!parts_are_aligned(tuned)) return std::nullopt;
  return Fit{FATUNE_RT_REPEATED, launches};
}

PartBytes part_bytes(const Attention& tuned) {
  const auto bytes = [](Bytes of) { return static_cast<std::int64_t>(of.value); };
  return {.q = bytes(query_bytes(tuned)),
          .k = bytes(key_bytes(tuned)),
          .v = bytes(value_bytes(tuned)),
          .out = bytes(out_bytes(tuned)),
          .lse = tuned.rows() * std::int64_t{sizeof(float)}};
}

Outcome<Choice> choose(std::span<const StoredKernel> kernels, const Wish& wish,
                       const DeviceFacts& device) {
  const Attention wanted = with_named_layouts(wish.problem);
  const std::string problem = describe(wanted);
  std::optional<Choice> best;
  std::vector<std::string> other_layouts;
  const auto rank = [&](const Choice& choice) {
    return std::tuple(choice.fit.launches, choice.fit.kind,
                      speed_rank(kernels[choice.kernel].facts.measured));
  };
  // The failure of the kernel that came nearest to being chosen.
  int nearest = 0;
  Failure failure{FATUNE_RT_NO_KERNEL,
                  fmt::format("none of the {} kernels computes {}: tune it (`fatune sweep`) and "
                              "export it to this folder",
                              kernels.size(), problem)};
  const auto miss = [&](int nearness, fatune_rt_status status, const std::string& why) {
    if (nearness < nearest) return;
    nearest = nearness;
    failure = {status, fmt::format("the kernel for {} {}", problem, why)};
  };
  constexpr const char* kTuneThere =
      "run `fatune sweep` there and export its result to this folder";
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const KernelFacts& facts = kernels[i].facts;
    const std::optional<Fit> found = fit(facts.problem.as_attention(), wanted);
    if (!found && same_but_for_layouts(facts.problem.as_attention(), wanted))
      other_layouts.push_back(name(facts.problem.as_attention().layouts));
    if (!found) continue;
    const Choice choice{i, *found};
    if (found->launches > wish.max_launches) {
      miss(1, FATUNE_RT_NO_KERNEL,
           fmt::format("would be that for {}, launched more than {} times: tune this problem, or "
                       "raise max_launches",
                       describe(facts.problem), wish.max_launches));
    } else if (!same_scale(facts.scale, wish.scale)) {
      miss(2, FATUNE_RT_NO_KERNEL,
           fmt::format("has the scale {} compiled in, not {}: scale q by their ratio, or fall back",
                       facts.scale, wish.scale));
    } else if (!facts.verified && !wish.unverified) {
      miss(3, FATUNE_RT_NO_KERNEL,
           "was exported with --unverified: export a verified one, or set allow_unverified");
    } else if (!runs_on(facts, device.major, device.minor)) {
      miss(4, FATUNE_RT_OTHER_DEVICE,
           fmt::format("is for {} and cannot run on {} (compute capability {}.{}): {}", facts.arch,
                       device.name, device.major, device.minor, kTuneThere));
    } else if (shared_bytes(facts) > device.most_shared_bytes) {
      miss(5, FATUNE_RT_OTHER_DEVICE,
           fmt::format("takes {} bytes of shared memory a block, and {} has {}: {}",
                       shared_bytes(facts), device.name, device.most_shared_bytes, kTuneThere));
    } else if (!best || rank(choice) < rank(*best)) {
      best = choice;
    }
  }
  if (best) return *best;
  if (nearest > 0 || other_layouts.empty()) return failure;
  return Failure{
      FATUNE_RT_NO_KERNEL,
      fmt::format("none of the {} kernels takes {}; those for its sizes take {}: lay "
                  "the tensors out so, or tune this layout (`fatune sweep --layout {}`)",
                  kernels.size(), problem, join(other_layouts, "; "), name(wanted.layouts))};
}

std::optional<std::size_t> nearest(std::span<const StoredKernel> kernels, const Attention& wanted) {
  std::optional<std::size_t> best;
  double least = 0;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const Attention& tuned = kernels[i].facts.problem.as_attention();
    if (tuned.dtype != wanted.dtype) continue;
    const double away = distance(tuned, wanted);
    if (best && away >= least) continue;
    best = i;
    least = away;
  }
  return best;
}

}  // namespace fatune::rt
