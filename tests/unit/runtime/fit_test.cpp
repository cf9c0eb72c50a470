// fit_test.cpp: Tests which kernels may serve which problems, with equal results.
#include <algorithm>
#include <cmath>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "runtime/choice.hpp"
#include "wisdom_folder.hpp"

using namespace fatune;
using test::problem;

namespace {

std::optional<rt::Fit> fit(const char* tuned, const char* wanted) {
  return rt::fit(problem(tuned), problem(wanted));
}

bool is(const std::optional<rt::Fit>& fit, fatune_rt_fit kind, std::int64_t launches) {
  return fit && fit->kind == kind && fit->launches == launches;
}

/// Attention on flat memory, in double: out, and lse behind it.
struct Flat {
  std::vector<double> q, k, v;
};

std::vector<double> attend(const Attention& p, const double* q, const double* k, const double* v) {
  std::vector<double> out(static_cast<std::size_t>(p.query_elements() + p.rows()));
  for (std::int64_t row = 0; row < p.rows(); ++row) {
    const std::int64_t head = row / p.seq_q;
    const std::int64_t b = head / p.heads;
    const std::int64_t key_head = b * p.kv_heads + head % p.heads / (p.heads / p.kv_heads);
    const std::int64_t seen =
        p.mask == Mask::kCausal ? std::max<std::int64_t>(0, row % p.seq_q + 1 + p.seq_kv - p.seq_q)
                                : p.seq_kv;
    double sum = 0;
    double* to = &out[static_cast<std::size_t>(row * p.head_dim)];
    for (std::int64_t j = 0; j < seen; ++j) {
      double score = 0;
      const std::int64_t at = (key_head * p.seq_kv + j) * p.head_dim;
      for (std::int64_t d = 0; d < p.head_dim; ++d) score += q[row * p.head_dim + d] * k[at + d];
      const double weight = std::exp(score);
      sum += weight;
      for (std::int64_t d = 0; d < p.head_dim; ++d) to[d] += weight * v[at + d];
    }
    for (std::int64_t d = 0; d < p.head_dim; ++d) to[d] = sum == 0 ? 0 : to[d] / sum;
    out[static_cast<std::size_t>(p.query_elements() + row)] = std::log(sum);
  }
  return out;
}

std::vector<double> noise(std::int64_t count, unsigned seed) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) {
    seed = seed * 1664525 + 1013904223;
    values.push_back(static_cast<double>(seed >> 8U) / (1 << 24) - 0.5);
  }
  return values;
}

/// The kernel for `tuned`, launched as the fit says, on memory that holds `wanted`.
std::vector<double> served(const Attention& tuned, const Attention& wanted, const rt::Fit& fit,
                           const Flat& in) {
  std::vector<double> out(static_cast<std::size_t>(wanted.query_elements() + wanted.rows()));
  const rt::PartBytes parts = rt::part_bytes(tuned);
  for (std::int64_t i = 0; i < fit.launches; ++i) {
    const std::int64_t query = i * parts.q / size_of(tuned.dtype);
    const std::int64_t key = i * parts.k / size_of(tuned.dtype);
    const std::int64_t lse = i * parts.lse / 4;
    const auto part =
        attend(tuned, &in.q[static_cast<std::size_t>(query)], &in.k[static_cast<std::size_t>(key)],
               &in.v[static_cast<std::size_t>(key)]);
    std::copy_n(part.begin(), tuned.query_elements(), out.begin() + query);
    std::copy_n(part.begin() + tuned.query_elements(), tuned.rows(),
                out.begin() + wanted.query_elements() + lse);
  }
  return out;
}

/// Every small problem: 1 to 4 of each of batch, key heads and group, lengths up to 4.
std::vector<Attention> small_problems() {
  std::vector<Attention> problems;
  for (const std::int64_t batch : {1, 2, 4}) {
    for (const std::int64_t kv_heads : {1, 2, 3}) {
      for (const std::int64_t group : {1, 2, 4}) {
        for (const std::int64_t seq_q : {1, 2, 4}) {
          for (const Mask& mask : {Mask::kNone, Mask::kCausal}) {
            problems.push_back({.batch = batch,
                                .heads = kv_heads * group,
                                .kv_heads = kv_heads,
                                .seq_q = seq_q,
                                .seq_kv = 4,
                                .head_dim = 8,
                                .mask = mask,
                                .lse = true});
          }
        }
      }
    }
  }
  return problems;
}

}  // namespace

TEST_CASE("the very problem fits exactly") {
  CHECK(is(fit("4,8,512,64", "4,8,512,64"), FATUNE_RT_EXACT, 1));
}

TEST_CASE("batches and heads regroup when as many share keys") {
  CHECK(is(fit("4,8,512,64", "32,1,512,64"), FATUNE_RT_REGROUPED, 1));
  CHECK(is(fit("1,8(kv 2),512,64 causal", "2,4(kv 1),512,64 causal"), FATUNE_RT_REGROUPED, 1));
  CHECK_FALSE(fit("1,8(kv 2),512,64 causal", "1,8(kv 4),512,64 causal"));
}

TEST_CASE("without a mask, heads that share keys are rows") {
  CHECK(is(fit("2,1,8x512,64", "2,8(kv 1),1x512,64"), FATUNE_RT_REGROUPED, 1));
  CHECK(is(fit("2,8(kv 1),1x512,64", "2,2(kv 1),4x512,64"), FATUNE_RT_REGROUPED, 1));
  CHECK_FALSE(fit("2,1,8x512,64 causal", "2,8(kv 1),1x512,64 causal"));
  CHECK(is(fit("2,8(kv 1),1x512,64", "2,8(kv 1),1x512,64 causal"), FATUNE_RT_REGROUPED, 1));
}

TEST_CASE("a kernel for an n-th of the heads is launched n times") {
  CHECK(is(fit("1,8,512,64", "4,8,512,64"), FATUNE_RT_REPEATED, 4));
  CHECK(is(fit("1,1,512,64 lse", "4,8,512,64 lse"), FATUNE_RT_REPEATED, 32));
  CHECK_FALSE(fit("1,3,512,64", "1,8,512,64"));
  CHECK_FALSE(fit("4,8,512,64", "1,8,512,64"));
  CHECK_FALSE(fit("1,1,1x512,64 lse", "1,2,1x512,64 lse"));  // lse of the second: 4 bytes further
  CHECK_FALSE(fit("1,1,1x1,4", "1,2,1x1,4"));                // q of the second: 8 bytes further
}

TEST_CASE("a bias is of its own batch, heads and rows") {
  CHECK(
      is(fit("2,8,16,64 bias 2,1,1,16:bool", "2,8,16,64 bias 2,1,1,16:bool"), FATUNE_RT_EXACT, 1));
  for (const char* wanted : {"2,8,16,64", "2,8,16,64 bias 2,1,1,16", "2,8,16,64 bias 1,1,1,16:bool",
                             "2,8,16,64 bias 2,1,1,16:bool@64:0:0:1"}) {
    CHECK_FALSE(fit("2,8,16,64 bias 2,1,1,16:bool", wanted));
  }
  CHECK_FALSE(fit("2,8(kv 1),16,64 bias 1,8,1,16", "1,8(kv 2),32x16,64 bias 1,8,1,16"));
  CHECK_FALSE(fit("2,8,16,64 bias 2,1,1,16", "4,8,16,64 bias 4,1,1,16"));
}

TEST_CASE("lengths, slopes, sinks and expressions know batch entry, head and row") {
  const char* changed = GENERATE(" padding:7", " alibi", " sink", " h<q", " score score*b",
                                 " n[k]==q tensor n=i32[16]:1*16");
  const auto with = [&](const char* sizes) { return problem(std::string(sizes) + changed); };
  CHECK(is(rt::fit(with("2,8,16,64"), with("2,8,16,64")), FATUNE_RT_EXACT, 1));
  CHECK_FALSE(rt::fit(with("2,8,16,64"), with("1,16,16,64")));
  CHECK_FALSE(rt::fit(with("1,8,16,64"), with("2,8,16,64")));
  CHECK_FALSE(rt::fit(problem("2,8,16,64"), with("2,8,16,64")));
}

TEST_CASE("numbers of lengths are read at run time") {
  CHECK(is(fit("2,8,16,64 padding:7", "2,8,16,64 padding:9,2"), FATUNE_RT_EXACT, 1));
  CHECK(is(fit("1,8,16,64 document:7,9", "1,8,16,64 document:16,0"), FATUNE_RT_EXACT, 1));
  CHECK_FALSE(fit("1,8,16,64 document:7,9", "1,8,16,64 document:16"));
  CHECK_FALSE(fit("2,8,16,64 padding:7", "2,8,16,64 padding-left:7"));
  CHECK(
      is(fit("2,8,16,64 n[k]==q tensor n=i32[16]:1*16", "2,8,16,64 n[k]==q tensor n=i32[16]:7*16"),
         FATUNE_RT_EXACT, 1));
}

TEST_CASE("what else differs never fits") {
  const char* wanted = GENERATE("4,8,512,128", "4,8,512,64 bf16", "4,8,512,64 causal",
                                "4,8,512,64 lse", "4,8,513,64", "4,8,512x513,64", "4,8,256,64");
  CHECK_FALSE(fit("4,8,512,64", wanted));
}

TEST_CASE("tensors that are not contiguous are taken as they lie, whatever that is called") {
  CHECK(is(fit("4,8,512,64 packed", "4,8,512,64 packed"), FATUNE_RT_EXACT, 1));
  CHECK(is(fit("4,8,512,64 bshd", "4,8,512,64 q=262144:64:512,k=bshd,v=bshd,out=bshd"),
           FATUNE_RT_EXACT, 1));
  CHECK(is(fit("4,8,512,64", "4,8,512,64 q=262144:32768:64"), FATUNE_RT_EXACT, 1));
  CHECK(is(fit("4,8,1x512,64", "4,8,1x512,64 q=bshd,out=bshd"), FATUNE_RT_EXACT, 1));
  CHECK_FALSE(fit("4,8,512,64", "4,8,512,64 bshd"));
  CHECK_FALSE(fit("4,8,512,64 packed", "4,8,512,64 bshd"));
  CHECK_FALSE(fit("4,8,512,64 packed", "4,8,512,64 packed,out=bhsd"));
}

TEST_CASE("only contiguous tensors are regrouped or taken in parts") {
  const char* layout = GENERATE(" bshd", " packed", " out=bshd");
  const auto laid = [&](const char* sizes) { return std::string(sizes) + layout; };
  CHECK_FALSE(rt::fit(problem(laid("4,8,512,64")), problem("32,1,512,64")));
  CHECK_FALSE(rt::fit(problem("4,8,512,64"), problem(laid("2,16,512,64"))));
  CHECK_FALSE(rt::fit(problem(laid("1,8,512,64")), problem(laid("4,8,512,64"))));
}

TEST_CASE("layouts are named by the memory, not by the words") {
  const auto named = [](const char* text) {
    return name(rt::with_named_layouts(problem(text)).layouts);
  };
  CHECK(named("4,8(kv 2),512,64 q=393216:64:768,k=393216:64:768,v=393216:64:768,out=bshd") ==
        "packed");
  CHECK(named("4,8,512,64 q=786432:64:1536") == "q=786432:64:1536");
  CHECK(named("1,8,512,64 bshd,q=8:64:512") == "bshd");
  CHECK(named("1,1,512,64 packed") == "packed,out=bhsd");
  CHECK(named("1,2,2x9,64 q=8:64:384,k=8:64:384,v=8:64:384") ==
        "q=64:64:384,k=64:64:384,v=64:64:384");
}

TEST_CASE("whatever fits computes the same, bit by bit") {
  const std::vector<Attention> problems = small_problems();
  const Flat in{noise(4 * 12 * 4 * 8, 1), noise(4 * 3 * 4 * 8, 2), noise(4 * 3 * 4 * 8, 3)};
  int fits = 0;
  for (const Attention& wanted : problems) {
    const std::vector<double> right = attend(wanted, in.q.data(), in.k.data(), in.v.data());
    for (const Attention& tuned : problems) {
      const std::optional<rt::Fit> found = rt::fit(tuned, wanted);
      if (!found) continue;
      ++fits;
      INFO(describe(tuned) << " for " << describe(wanted));
      REQUIRE(served(tuned, wanted, *found, in) == right);
    }
  }
  CHECK(fits > 1000);
}
