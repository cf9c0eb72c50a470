// reference.hpp - a reference in PyTorch, read as text, to the attention problem that it states.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "model/interchange/python_text.hpp"
#include "model/problem/problem.hpp"

namespace fatune {

/// What a function is called with: a tensor, a number, or a tuple of them.
struct ReferenceArgument {
  std::string name;
  bool tensor = true;
  std::vector<std::int64_t> shape{};  ///< of a tensor
  std::string dtype{};                ///< of a tensor: "float16"
  double number = 0;
  std::vector<std::size_t> order{};  ///< of a tensor's dimensions in memory; empty: contiguous
  std::vector<ReferenceArgument> parts{};  ///< of a tuple
};

/// Sizes, mask and layouts of a function that returns
/// torch.nn.functional.scaled_dot_product_attention of its arguments, as they are or with
/// dimensions swapped, in whatever precision; `module`: the file around it, for its imports and
/// constants. dtype is left as it is. All else is a file error that names `where`, the line and
/// what is not attention of ours there: dropout, another scale, a mask other than causal, and a
/// causal mask over different lengths, which PyTorch aligns with the first key; bottom-right there
/// is torch.nn.attention.bias.causal_lower_right(seq_q, seq_kv).
Result<Problem> attention_of(const PyStatement& function,
                             const std::vector<ReferenceArgument>& arguments,
                             const std::vector<PyStatement>& module, const std::string& where);

/// Tensors and numbers that a function returns when it is called with whole numbers by name:
/// torch.rand(2, 8, 512, 64, dtype=...) and alike, in a list or alone. Without dtype tensors are
/// "float32". What is drawn, with which seed, is not looked at.
Result<std::vector<ReferenceArgument>> made_by(const PyStatement& function,
                                               const std::map<std::string, std::int64_t>& sizes,
                                               const std::vector<PyStatement>& module,
                                               const std::string& where);

/// The value of whole numbers and names with + - * / // % **; a division must leave none.
Result<std::int64_t> whole_value(const PyExpression& expression,
                                 const std::map<std::string, std::int64_t>& names,
                                 const std::string& where);

/// "float16" to f16; a name that is none of ours is an error.
Result<Dtype> dtype_of_torch(std::string_view name);
std::string_view torch_name(Dtype dtype);

}  // namespace fatune
