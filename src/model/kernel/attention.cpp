// attention.cpp: Defines the built-in attention operation: its tensors, edge problems and inputs.
#include <algorithm>
#include <array>
#include <initializer_list>
#include <memory>
#include <utility>

#include "model/kernel/operation.hpp"
#include "model/problem/problem.hpp"
#include "model/problem/rule_keys.hpp"
#include "model/problem/scores.hpp"

namespace fatune {
namespace {

struct EdgeSizes {
  std::int64_t batch, heads, kv_heads, seq_q, seq_kv;
};

/// Tiles have 16 to 256 rows and keys: 63, 65, 127 and 129 lie beside most tile edges. Each edge
/// problem combines several edges, because every finalist compiles once per problem.
constexpr EdgeSizes kSizes[] = {
    {1, 1, 1, 1, 1},      // one query, one key: the output equals the value
    {2, 3, 3, 17, 17},    // a nearly empty tile, odd heads
    {4, 1, 1, 63, 65},    // one below and one above a tile edge
    {8, 2, 1, 65, 63},    // grouped heads; causal rows that see no key
    {1, 5, 5, 129, 127},  // just over two tiles
    {2, 4, 2, 1, 200},    // one new query, as in decoding
};
constexpr EdgeSizes kHard = {1, 3, 3, 127, 129};  // with every distribution
/// Tiles per head: two of 192 rows, three of 128, five of 64. On 132 SMs, these are more than two
/// waves, for 64 rows with three CTAs per SM. The number of tiles is even, as CTA pairs require.
/// Keys fill six KV blocks of 192.
constexpr EdgeSizes kWaves = {54, 3, 3, 257, 1031};
constexpr double kLargeFlops = 2e11;  // chosen: a tenth of a second of the reference on an H200

/// Returns strides for other sizes: dimensions keep their order, and each gap becomes 16 bytes.
Strides strides_like(const Strides& strides, const TensorSizes& from, const TensorSizes& to,
                     std::int64_t width) {
  struct Step {
    std::int64_t from, stride, to;
    std::int64_t Strides::*which;
  };
  std::array<Step, 3> steps = {{{from.rows, strides.row, to.rows, &Strides::row},
                                {from.heads, strides.head, to.heads, &Strides::head},
                                {from.batch, strides.batch, to.batch, &Strides::batch}}};
  std::ranges::stable_sort(steps, {}, [](const Step& step) {
    return step.from == 1 ? kLargestTensor : step.stride;  // of size one: any stride
  });
  const std::int64_t aligned = 16 / width;
  std::int64_t before = from.columns, now = (to.columns + aligned - 1) / aligned * aligned;
  Strides made;
  for (const Step& step : steps) {
    const bool gap = step.from > 1 && step.stride > before;
    made.*step.which = now + (gap ? aligned : 0);
    if (step.from > 1) before = step.from * step.stride;
    now = step.to * made.*step.which;
  }
  return made;
}

/// Returns layouts of the same kinds; packed tensors become (B,S,H,D) if the lengths differ.
Layouts layouts_like(const Attention& from, const Attention& to) {
  Layouts layouts = from.layouts;
  const auto refit = [&](std::string_view tensor, Layout& layout) {
    const bool apart = to.seq_q != to.seq_kv;
    if (layout.kind == LayoutKind::kPacked && apart) layout.kind = LayoutKind::kBshd;
    if (layout.kind != LayoutKind::kStrides) return;
    layout.strides = strides_like(layout.strides, sizes_of(from, tensor), sizes_of(to, tensor),
                                  size_of(dtype_of(from, tensor)));
  };
  refit("q", layouts.q);
  refit("k", layouts.k);
  refit("v", layouts.v);
  refit("out", layouts.out);
  return layouts;
}

/// Returns sizes that packed documents can have: heads in place of a batch, and equal lengths.
EdgeSizes of_one_sequence(const EdgeSizes& sizes) {
  const std::int64_t length = std::max(sizes.seq_q, sizes.seq_kv);
  return {1, sizes.batch * sizes.heads, sizes.batch * sizes.kv_heads, length, length};
}

Attention with_sizes(const Attention& like, const EdgeSizes& asked) {
  const bool documents = like.mask.lengths.kind == LengthsKind::kDocuments;
  const EdgeSizes sizes = documents ? of_one_sequence(asked) : asked;
  Attention problem = like;
  problem.batch = sizes.batch;
  problem.heads = sizes.heads;
  problem.kv_heads = sizes.kv_heads;
  problem.seq_q = sizes.seq_q;
  problem.seq_kv = sizes.seq_kv;
  if (sizes.seq_q != like.seq_q || sizes.seq_kv != like.seq_kv)
    problem.mask = narrowed(like.mask, sizes.batch, sizes.seq_q, sizes.seq_kv);
  problem.mask.lengths = fitted(std::move(problem.mask.lengths), sizes.batch);
  for (NamedTensor& each : problem.tensors) each = resized(each, like, problem);
  if (!mask_fault(problem).empty()) problem.mask.rule.clear();
  if (!scores_fault(problem).empty()) problem.score.clear();
  drop_unread_tensors(problem);
  if (visible_pairs(problem) == 0) problem.mask.lengths.numbers = {sizes.seq_kv};
  if (like.bias) problem.bias = resized(*like.bias, like, problem);
  problem.layouts = layouts_like(like, problem);
  return problem;
}

/// Returns a problem of one batch and one key/value head, with the query heads of this head.
Attention one_head_group(const Attention& like) {
  return with_sizes(like, {1, like.heads / like.kv_heads, 1, like.seq_q, like.seq_kv});
}

/// A problem of one head group is never large: no smaller problem has its lengths.
bool is_large(const Attention& problem) {
  return flops(problem).value > kLargeFlops && problem.batch * problem.kv_heads > 1;
}

/// Returns the hard inputs. Fused problems omit distributions in which single scores decide.
/// Quantizing q and k makes their error so large that limits could not tell a correct kernel from
/// zeros.
std::vector<InputCase> cases_of(const Problem& problem,
                                std::initializer_list<Distribution> distributions,
                                std::uint64_t seed) {
  std::vector<InputCase> cases;
  for (const Distribution each : distributions) {
    const bool few_decide = each == Distribution::kLargeLogits || each == Distribution::kOutliers;
    if (!problem.is(is_fused) || !few_decide) cases.push_back({each, seed});
  }
  return cases;
}

/// Returns how many rows of scores, fp32, are kept in memory at once. 2 GiB of them
/// fit beside the tensors of any problem that a GPU can hold.
std::int64_t rows_at_once(const Attention& head) {
  constexpr std::int64_t kMostScores = std::int64_t{1} << 29;
  return std::max<std::int64_t>(1, kMostScores / head.seq_kv);
}

struct AttentionOperation final : Operation {
  AttentionOperation() { name = "attention"; }
  Result<OperationPlan> plan(const Problem& problem) const override {
    return attention_plan(problem.as_attention());
  }
  std::vector<std::string> tensor_names() const override {
    std::vector<std::string> names = {"q", "k", "v", "q_descale", "k_descale", "v_descale"};
    names.insert(names.end(), kOptionalTensors.begin(), kOptionalTensors.end());
    names.insert(names.end(), {"out", "lse"});
    return names;
  }
  Problem smallest_problem() const override { return {}; }
  Problem reference_problem(const Problem& problem) const override {
    Attention head = problem.as_attention();
    head.layouts = {};
    if (!names_heads(head)) {
      head.batch = head.heads = head.kv_heads = 1;
      head.mask.lengths = fitted(std::move(head.mask.lengths), 1);
      // Rows whose place in the head matters stay together.
      if (head.mask == Mask::kNone && !head.alibi && head.score.empty())
        head.seq_q = std::min(head.seq_q, rows_at_once(head));
      if (head.bias)
        head.bias->shape = {1, 1, head.bias->shape[2] == 1 ? 1 : head.seq_q, head.seq_kv};
    }
    if (head.bias) head.bias = contiguous(*head.bias);
    return head;
  }
  std::string_view size_option() const override { return "--shape"; }

  std::vector<InputCase> hard_cases(const Problem& problem, std::uint64_t seed) const override {
    if (is_large(problem.as_attention())) return {};
    return cases_of(problem,
                    {Distribution::kUniform, Distribution::kOutliers, Distribution::kLargeLogits,
                     Distribution::kOnesV, Distribution::kZeroQ, Distribution::kLastKey},
                    seed);
  }

  Result<std::vector<EdgeProblem>> edge_problems(const Problem& problem,
                                                 std::uint64_t seed) const override {
    const Attention& like = problem.as_attention();
    std::vector<EdgeProblem> problems;
    EdgeProblem hard{with_sizes(like, kHard), {}};
    hard.cases = cases_of(like,
                          {Distribution::kNormal, Distribution::kUniform, Distribution::kOutliers,
                           Distribution::kLargeLogits, Distribution::kZeros, Distribution::kOnesV,
                           Distribution::kZeroQ, Distribution::kLastKey},
                          seed);
    // Goes first, so that winners that fail here need only its references.
    if (is_large(like)) problems.push_back({one_head_group(like), hard.cases});
    for (const EdgeSizes& sizes : kSizes)
      problems.push_back({with_sizes(like, sizes), {{Distribution::kNormal, seed}}});
    problems.push_back({with_sizes(like, kWaves), hard.cases, true});
    problems.push_back(std::move(hard));
    return problems;
  }
};

}  // namespace

const OperationRef& attention() {
  static const OperationRef operation = std::make_shared<const AttentionOperation>();
  return operation;
}

}  // namespace fatune
