// tolerance_rules.cpp: Lists the rules of the accuracy gate with their reasons, as worker/verify
// applies them.
#include "model/problem/tolerance_rules.hpp"

#include <array>

namespace fatune {
namespace {

constexpr std::array kRules = {
    ToleranceRule{"finite", "no NaN and no infinity",
                  "inputs are finite, so every output is; a NaN may also be poison that was read"},
    ToleranceRule{"not_finite",
                  "with --quant fused, on inputs with an infinity or NaN in a head: no output that "
                  "depends on it is a number",
                  "a quantizer that takes an overflow for its largest number hides it; the other "
                  "outputs of that head are not judged, as they share its factor"},
    ToleranceRule{"masked_rows", "a row that sees no key is exactly 0",
                  "its softmax has no terms; 0 is what the reference and the libraries return"},
    ToleranceRule{
        "max", "max|out-ref| <= m * max|lp-ref| + quantum; m is 2, fp8 4",
        "lp, the low-precision reference, rounds S, P and O as a fused kernel may (fp8: P to e4m3, "
        "times 2^8), so its "
        "worst error is what this arithmetic costs on these inputs; twice that leaves "
        "room for another order of sums. quantum = 2 max|((ref+0.3)-0.3)-ref| is one "
        "rounding step of the output (the rule of FlashAttention's tests)"},
    ToleranceRule{
        "max_of_rounding",
        "of fp8, on inputs where single keys decide a row: max leaves out elements with |out-ref| "
        "<= (u_p + u_out) sum p|v|; u is half a step at 1 of the type: 2^-4 e4m3, 2^-3 e5m2, 2^-8 "
        "bf16, 2^-11 f16",
        "every weight rounded once to nearest, and the output, cost no more. A few elements have "
        "large weights on large values there, and in them lp may be lucky: its largest error "
        "says too little"},
    ToleranceRule{"max_of_ones",
                  "for values that are all 1, not of fp8: max|out-1| <= 2 units in the last place",
                  "whatever the scores, weights that sum to 1 give 1; where rounding costs "
                  "lp more, its error counts"},
    ToleranceRule{"mean", "mean|out-ref| <= k * mean|lp-ref| + 1e-6; k is 1.5, fp8 3",
                  "catches an error that is small but everywhere, such as sums kept in fp16, which "
                  "max lets through"},
    ToleranceRule{"relative_l2",
                  "|out-ref| / |ref| <= 2e-3 f16, 1e-2 bf16 (2-norms); fp8 1.5 times lp's, at "
                  "least that of out's type; with --quant fused, for N(0,1), the limits of method",
                  "outputs shrink as sqrt(e/S): against an absolute bound zeros would pass at long "
                  "sequences. The values are some 4 roundings of the type (f16 2^-11, bf16 2^-8). "
                  "Rounding P to e4m3 costs an honest fp8 kernel as much as lp, some 2.6e-2; "
                  "sums that lose bits cost more, the longer the sequence"},
    ToleranceRule{"head_l2", "the same for every head, with twice the limit",
                  "a single wrong head must not be averaged away"},
    ToleranceRule{"block_l2", "the same for every 64 rows of a head, with twice the limit",
                  "a single wrong tile must not be averaged away"},
    ToleranceRule{
        "method",
        "of fp8, for N(0,1): |out-ref16| / |ref16| <= 6e-2 e4m3, 1.2e-1 e5m2, or 1.25 times "
        "lp's, with ref16 the reference of the inputs before they were quantized",
        "the other rules ask whether the kernel is right for the elements it was given; this one "
        "whether fp8 was right for the values. Rounding q, k, v and the weights costs some 2^-5 "
        "each for e4m3, twice that for e5m2, and the errors add as squares; that of a single row "
        "of "
        "q is shared by all its outputs, so a problem of few rows may be further off, as lp "
        "is"},
    ToleranceRule{
        "vacuity",
        "an output of zeros misses one of the limits at least 4 times over, or v is doubled",
        "limits that zeros can meet prove nothing; doubling is exact and leaves the mantissas as "
        "they are"},
    ToleranceRule{
        "lse",
        "with lse: |lse-ref| <= 2^-22 (d+8) |q| max|k| / sqrt(d) + 2^-24 n + r in every row that "
        "sees n keys, -inf exactly where n is 0; r is 2^-11 f16, 2^-8 bf16, 2^-4 e4m3, 2^-3 e5m2",
        "it moves no more than the score that moves most, and a score is a sum of d exact products "
        "in fp32, each addition off by 2^-23 of |q||k| at most, here and in the reference; a sum "
        "of n positive terms is off by n 2^-24 of itself; r is one rounding of the weights, which "
        "whoever computes them again from the log-sum-exp rounds as well"},
};

}  // namespace

std::span<const ToleranceRule> tolerance_rules() { return kRules; }

}  // namespace fatune
