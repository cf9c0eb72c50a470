// shared_tensors.hpp: Holds a problem's tensors in memory that a child process can open.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.hpp"
#include "core/result.hpp"
#include "model/problem/tensor.hpp"

namespace fatune {

/// The buffers of inputs, then those of outputs but attention's lse, one after the other in an
/// anonymous file, as they lie on the device. The file is gone when no process maps it any more.
class SharedTensors {
 public:
  static Result<SharedTensors> make(const OperationPlan& plan);
  /// The buffer that begins with the tensor; empty if it begins with another. What a filled output
  /// holds before a launch has the name before().
  std::span<std::byte> operator[](std::string_view tensor) const;
  /// The tensors that begin a buffer.
  std::vector<std::string> inputs() const { return first_tensors(false); }
  std::vector<std::string> outputs() const { return first_tensors(true); }
  /// Whether bytes of no tensor lie between the rows of the output.
  bool has_gaps(std::string_view output) const { return parts_.find(output)->second.gaps; }
  /// {"path", "bytes", "inputs"}: where a child finds the file, and how many bytes of it are
  /// inputs. The path is good as long as this object lives.
  Json place() const;
  /// A list of {"name", "type", "shape", "strides", "place", "output"}, inputs first.
  Json tensors() const;

 private:
  struct Memory {
    int file = -1;
    std::byte* data = nullptr;
    std::size_t bytes = 0;
    ~Memory();
  };
  struct Part {
    std::size_t start = 0;
    std::size_t bytes = 0;  ///< of the buffer that begins here; 0: none does
    bool output = false, gaps = false;
  };
  void add(const std::vector<TensorPlan>& plans, bool outputs);
  std::vector<std::string> first_tensors(bool outputs) const;
  std::unique_ptr<Memory> memory_;
  std::map<std::string, Part, std::less<>> parts_;
  std::size_t input_bytes_ = 0;
  std::vector<TensorPlan> inputs_, outputs_;
};

}  // namespace fatune
