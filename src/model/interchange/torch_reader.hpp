// torch_reader.hpp - follows values through statements of PyTorch: tensors are shapes and the order
// of dimensions, nothing is computed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "model/interchange/python_text.hpp"
#include "model/problem/problem.hpp"

namespace fatune {

using DimensionOrder = std::vector<std::size_t>;

struct TorchValue {
  enum class Kind {
    kNone,
    kBoolean,
    kWhole,
    kReal,
    kText,
    kPath,       ///< text: "torch.nn.functional"
    kList,       ///< parts
    kTensor,     ///< an argument, or one made: shape is of the dimensions in their order now
    kAttention,  ///< what a call of attention gives, its dimensions in `order`
    kLowerRight  ///< a causal mask over shape {seq_q, seq_kv}
  };
  Kind kind = Kind::kNone;
  std::string text{};
  std::int64_t whole = 0;  ///< of kBoolean 0 or 1
  double real = 0;
  std::vector<TorchValue> parts{};
  std::vector<std::int64_t> shape{};
  /// Of kTensor: for each dimension now, which one of the argument it is.
  DimensionOrder order{};
  std::string dtype{};   ///< of kTensor
  std::string origin{};  ///< of kTensor: the argument's name
  Problem problem{};     ///< of kAttention

  bool is_tensor() const { return kind == Kind::kTensor || kind == Kind::kAttention; }
  bool is_made() const { return kind == Kind::kTensor && origin.empty(); }
  bool is_number() const { return kind == Kind::kWhole || kind == Kind::kReal; }
  double number() const { return kind == Kind::kWhole ? static_cast<double>(whole) : real; }
};

inline TorchValue whole_of(std::int64_t value) {
  return {.kind = TorchValue::Kind::kWhole, .whole = value};
}
inline TorchValue real_of(double value) { return {.kind = TorchValue::Kind::kReal, .real = value}; }
inline TorchValue path_of(std::string path) {
  return {.kind = TorchValue::Kind::kPath, .text = std::move(path)};
}

/// A method that draws numbers into its tensor.
bool is_fill(std::string_view method);
/// Dimensions as they are.
DimensionOrder order_of(std::size_t dimensions);
/// The layout of a tensor with its dimensions now in `tensor.order` of those in memory, whose sizes
/// are `memory`.
Layout layout_of(const TorchValue& tensor, const std::vector<std::int64_t>& memory);
/// "float16" of "torch.float16".
std::string last_name(const std::string& path);

/// Evaluates expressions with the names known so far.
class TorchReader {
 public:
  explicit TorchReader(std::string where) : where_(std::move(where)) {}

  std::map<std::string, TorchValue> names{};

  Error wrong(const std::string& what) const;
  /// Imports, and names of numbers; functions, classes and documentation are passed over.
  Status read_module(const std::vector<PyStatement>& module);
  /// What the function returns. Its assertions are passed over.
  Result<TorchValue> run(const std::vector<PyStatement>& body);
  Result<TorchValue> value_of(const PyExpression& e);

 private:
  /// Documentation, "pass", a seed, and a decorator or a call that changes no value.
  static bool is_idle(const PyStatement& each);
  /// What the statements return, if they do.
  Result<std::optional<TorchValue>> returned(const std::vector<PyStatement>& body);
  /// Of a "with" that changes no value.
  Status check_context(const PyExpression& context);
  Status assign(const PyStatement& each);
  Result<TorchValue> named(const std::string& name) const;
  Result<TorchValue> list(const PyExpression& e);
  static TorchValue shape_list(const TorchValue& tensor);
  Result<TorchValue> member(const PyExpression& e);
  static std::optional<std::size_t> dimension(const TorchValue& at, std::size_t count);
  Result<TorchValue> index(const PyExpression& e);
  Result<TorchValue> operation(const PyExpression& e);
  /// Arguments by position or keyword, in the order of `parameters`; what is not given is none.
  Result<std::vector<TorchValue>> arguments(const PyExpression& e,
                                            const std::vector<std::string>& parameters);
  Result<TorchValue> call(const PyExpression& e);
  Result<TorchValue> number_call(const std::string& path, const PyExpression& e);
  Result<TorchValue> lower_right(const PyExpression& e);
  static TorchValue reordered(TorchValue tensor, const DimensionOrder& order);
  /// The tensor with its dimensions in another order, or as it is where only its precision changes.
  Result<TorchValue> method(const TorchValue& tensor, const std::string& name,
                            const PyExpression& e);
  /// What attention gives lies wherever it is asked for; an argument that is copied first is not
  /// what a kernel would read.
  Result<TorchValue> contiguous(const TorchValue& tensor) const;
  Result<TorchValue> permuted(const TorchValue& tensor, const PyExpression& e);
  static TorchValue made_of(TorchValue tensor, const std::string& dtype);
  /// To more precision, or to an element type that the argument or the output has.
  Result<TorchValue> converted(const TorchValue& tensor, const PyExpression& e);
  Result<TorchValue> made_tensor(const PyExpression& e);
  Result<TorchValue> made_like(const PyExpression& e);
  Result<Problem> scaled(const Problem& p, const TorchValue& scale) const;
  Result<Mask> mask_of(const TorchValue& mask, const TorchValue& causal, const Problem& p) const;
  Status check_plain(const TorchValue& dropout, const TorchValue& grouped, const Problem& p) const;
  Result<TorchValue> attention(const PyExpression& e);
  Result<Layout> laid_out(const TorchValue& tensor) const;

  std::string where_;
  int line_ = 1;
};

}  // namespace fatune
