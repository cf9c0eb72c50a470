// attention.cpp - the operation that fatune defines itself: its tensors, edge problems and inputs.
#include <memory>

#include "model/kernel/operation.hpp"
#include "model/problem/problem.hpp"

namespace fatune {
namespace {

struct EdgeSizes {
  std::int64_t batch, heads, kv_heads, seq_q, seq_kv;
};

/// Tiles are 16 to 256 rows and keys: 63, 65, 127 and 129 are beside the edges of most. Few
/// problems with much in each, because every one is a compilation for every finalist.
constexpr EdgeSizes kSizes[] = {
    {1, 1, 1, 1, 1},      // one query, one key: the output is the value
    {2, 3, 3, 17, 17},    // a tile that is nearly empty, odd heads
    {4, 1, 1, 63, 65},    // one less and one more than a tile
    {8, 2, 1, 65, 63},    // grouped heads; causal rows that see nothing
    {1, 5, 5, 129, 127},  // over two tiles
    {2, 4, 2, 1, 200},    // one new query, as in decoding
};
constexpr EdgeSizes kHard = {1, 3, 3, 127, 129};  // with every distribution
constexpr double kLargeFlops = 2e11;  // chosen: a tenth of a second of the reference on an H200

Problem with_sizes(Problem problem, const EdgeSizes& sizes) {
  problem.batch = sizes.batch;
  problem.heads = sizes.heads;
  problem.kv_heads = sizes.kv_heads;
  problem.seq_q = sizes.seq_q;
  problem.seq_kv = sizes.seq_kv;
  return problem;
}

/// One batch and one key/value head, with the query heads that share it.
Problem one_head_group(Problem problem) {
  problem.batch = 1;
  problem.heads /= problem.kv_heads;
  problem.kv_heads = 1;
  return problem;
}

/// A problem of one head group is never large: there is nothing smaller that has its lengths.
bool is_large(const Problem& problem) {
  return flops(problem).value > kLargeFlops && !(one_head_group(problem) == problem);
}

struct Attention final : Operation {
  Attention() { name = "attention"; }
  Result<OperationPlan> plan(const Problem& problem) const override {
    return attention_plan(problem);
  }
  std::vector<std::string> tensor_names() const override { return {"q", "k", "v", "out", "lse"}; }
  Problem smallest_problem() const override { return {}; }
  Problem reference_problem(const Problem& problem) const override {
    Problem head = problem;
    head.batch = head.heads = head.kv_heads = 1;
    return head;
  }
  std::string_view size_option() const override { return "--shape"; }

  std::vector<InputCase> hard_cases(const Problem& problem, std::uint64_t seed) const override {
    if (is_large(problem)) return {};
    return {{Distribution::kUniform, seed},     {Distribution::kOutliers, seed},
            {Distribution::kLargeLogits, seed}, {Distribution::kOnesV, seed},
            {Distribution::kZeroQ, seed},       {Distribution::kLastKey, seed}};
  }

  Result<std::vector<EdgeProblem>> edge_problems(const Problem& like,
                                                 std::uint64_t seed) const override {
    std::vector<EdgeProblem> problems;
    for (const EdgeSizes& sizes : kSizes)
      problems.push_back({with_sizes(like, sizes), {{Distribution::kNormal, seed}}});
    EdgeProblem hard{with_sizes(like, kHard), {}};
    for (const Distribution each :
         {Distribution::kNormal, Distribution::kUniform, Distribution::kOutliers,
          Distribution::kLargeLogits, Distribution::kZeros, Distribution::kOnesV,
          Distribution::kZeroQ, Distribution::kLastKey}) {
      hard.cases.push_back({each, seed});
    }
    if (is_large(like)) problems.push_back({one_head_group(like), hard.cases});
    problems.push_back(std::move(hard));
    return problems;
  }
};

}  // namespace

const OperationRef& attention() {
  static const OperationRef operation = std::make_shared<const Attention>();
  return operation;
}

}  // namespace fatune
