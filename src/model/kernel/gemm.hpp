// gemm.hpp: Defines a stage that is a library's matrix product, as declared and as evaluated.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/fields_fwd.hpp"
#include "core/result.hpp"

namespace fatune {

struct Candidate;
class Evaluation;

/// Library that multiplies; opened at run time.
enum class GemmLibrary { kCublas, kCutensor };
std::string_view name(GemmLibrary library);      ///< "cublas"
std::string_view describe(GemmLibrary library);  ///< "cuBLAS"
FieldWord<GemmLibrary> word_of(const GemmLibrary*);

/// Element types of operands; sums are always f32.
enum class GemmType { kF16, kBf16, kF32 };
std::string_view name(GemmType type);  ///< "f16"
FieldWord<GemmType> word_of(const GemmType*);
std::int64_t size_of(GemmType type);  ///< bytes of one element

struct GemmOperandSpec {
  std::string buffer;         ///< q, k, v, out or a scratch name
  std::string type = "io";    ///< "io", a type, or a parameter whose words are types
  std::string pitch, stride;  ///< expressions; empty: dense
  /// Expressions, one for each outer size.
  std::vector<std::string> outer_strides;
  bool transpose = false;  ///< the operand is stored transposed; never c
};
struct GemmSpec {
  GemmLibrary library = GemmLibrary::kCublas;
  std::array<GemmOperandSpec, 3> operands;                         ///< a, b, c
  std::string m, n, k, batch = "1", alpha = "1", algorithm = "0";  ///< expressions
  /// Sizes of the outer batch dimensions, outermost first; cuTENSOR only.
  std::vector<std::string> outer;
};

void fields(GemmSpec& x, FieldList& f);

struct GemmOperand {
  std::string buffer;
  GemmType type = GemmType::kF16;
  std::int64_t rows = 1, columns = 1;  ///< as stored, row by row
  std::int64_t pitch = 1;              ///< elements from row to row
  std::int64_t stride = 0;             ///< elements from one matrix of the batch to the next
  bool transpose = false;
  /// Elements between batches, for each outer size. A stride of 0 repeats the operand; never for c.
  std::vector<std::int64_t> outer_strides{};
};
/// For every matrix of the batch: C (m x n) = alpha * A (m x k) * B (k x n), row-major. A and B are
/// transposed first if their `transpose` is set.
struct GemmPlan {
  GemmLibrary library = GemmLibrary::kCublas;
  std::array<GemmOperand, 3> operands;  ///< a, b, c
  std::int64_t m = 1, n = 1, k = 1, batch = 1;
  double alpha = 1;
  std::int64_t algorithm = 0;         ///< index into the library's list
  bool or_last = false;               ///< if the list is shorter, its last entry is used
  std::vector<std::int64_t> outer{};  ///< outer batch dimensions, outermost first

  std::int64_t matrices() const;  ///< number of matrices over all batches
};

/// Evaluates a product for one candidate. `path` is the stage's, "stages[0]"; errors name file and
/// field.
Result<GemmPlan> plan_gemm(const GemmSpec& spec, const std::string& path,
                           const Candidate& candidate, const Evaluation& evaluation);
std::string describe(const GemmPlan& plan);  ///< "cublas 512 x 512 x 64, 32 times"

void fields(GemmOperand& x, FieldList& f);
void fields(GemmPlan& x, FieldList& f);

}  // namespace fatune
