// edge_problems.cpp - the list of edge problems.
#include "tune/evaluate/edge_problems.hpp"

#include <utility>

#include "core/check.hpp"
#include "model/problem/work.hpp"

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
constexpr double kLargeFlops = 2e11;

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

}  // namespace

bool is_large(const Problem& problem) {
  if (problem.custom) return false;
  return flops(problem).value > kLargeFlops && !(one_head_group(problem) == problem);
}

std::vector<EdgeProblem> edge_problems(const Problem& like, std::uint64_t seed) {
  std::vector<EdgeProblem> problems;
  for (const EdgeSizes& sizes : kSizes) {
    problems.push_back({with_sizes(like, sizes), {{Distribution::kNormal, seed}}});
  }
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

std::vector<InputCase> hard_cases(const DeclaredOperation& operation, std::uint64_t seed) {
  std::vector<InputCase> cases;
  for (const std::string& word : operation.hard_inputs) {
    const auto distribution = parse_distribution(word);
    FATUNE_CHECK(static_cast<bool>(distribution), "the declaration's reader knows the words");
    cases.push_back({*distribution, seed});
  }
  return cases;
}

Result<std::vector<EdgeProblem>> edge_problems(const Problem& like, std::uint64_t seed,
                                               const OperationRef& operation) {
  const DeclaredOperation* declared = operation->declared();
  if (declared == nullptr) return edge_problems(like, seed);
  std::vector<EdgeProblem> problems;
  for (const std::vector<NamedSize>& sizes : declared->edges) {
    FATUNE_TRY(Problem edge, declared->problem(sizes, like.dtype));
    problems.push_back({std::move(edge), {{Distribution::kNormal, seed}}});
  }
  if (problems.empty()) return problems;
  const std::vector<InputCase> hard = hard_cases(*declared, seed);
  std::vector<InputCase>& cases = problems.back().cases;
  cases.insert(cases.end(), hard.begin(), hard.end());
  return problems;
}

}  // namespace fatune
