// implementation.hpp: Names the implementations from elsewhere and says what each one needs.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>  // settings are held as a value

#include "core/fields_fwd.hpp"
#include "core/json.hpp"
#include "core/result.hpp"

namespace fatune {

/// A name "python:FILE:FUNCTION" is a user's own function of PyTorch tensors.
inline constexpr std::string_view kPythonPrefix = "python:";

/// A package that runs beside PyTorch, in the same process. Its calls stand in
/// src/worker/baselines/torch_helper/packages/IMPL.py.
struct PythonPackage {
  std::string_view impl;     ///< "fa3"
  std::string_view title;    ///< "FlashAttention-3"
  std::string_view package;  ///< as pip installs it
  bool scales = false;       ///< takes other scales than 1/sqrt(head_dim)
  bool softcap = false;      ///< caps scores
  bool value_dim = false;    ///< takes v of another head dim
  bool expressions = false;  ///< takes expressions of masks and scores
  bool e4m3 = false;         ///< takes e4m3 inputs with one factor a key head
};
inline constexpr PythonPackage kPythonPackages[] = {
    {"flashinfer", "FlashInfer", "flashinfer-python"},
    {.impl = "fa3", .title = "FlashAttention-3", .package = "vllm", .scales = true, .e4m3 = true},
    {.impl = "fa4",
     .title = "FlashAttention-4",
     .package = "flash-attn-4",
     .scales = true,
     .softcap = true,
     .value_dim = true},
    {.impl = "flex",
     .title = "FlexAttention",
     .package = "torch",
     .scales = true,
     .softcap = true,
     .value_dim = true,
     .expressions = true},
    {.impl = "sage", .title = "SageAttention", .package = "sageattention", .scales = true}};
/// Null for a name that is not in the table.
const PythonPackage* python_package(std::string_view impl);

/// Who runs an implementation that is not a template; packages and functions run beside PyTorch.
enum class Origin { kCudnn, kTorch };

/// The operations that an implementation computes.
enum class Computes { kAttention, kDeclared, kBoth };

/// "cudnn", "cudnn:best", "torch:flash", "fa3", "python:mine.py:attend", "torch:x.sum()".
struct OutsideName {
  Origin origin = Origin::kCudnn;
  std::string variant;  ///< cuDNN's plan, or the backend's name in the PyTorch helper
  std::string impl;     ///< its name in records: "python:mine:attend" for python:a/mine.py:attend
  Computes computes = Computes::kAttention;
};

/// Empty for a name without a known prefix, which is then a kernel's. An error for a prefix with a
/// variant that does not exist ("torch:fast"), naming the existing ones, and for a python: name
/// without FILE or FUNCTION. Behind torch: what is no word is an expression.
Result<std::optional<OutsideName>> parse_outside_name(std::string_view text);

/// Every name that is not a function of the user's: "cudnn", "cudnn:best", "torch:flash", ...
const std::vector<std::string>& library_names();

/// Everything that a device worker needs to run one implementation; sent to the worker.
struct OutsideProgram {
  std::string impl;
  Json settings = Json::object();  ///< cudnn: library_folders; else python and backend
};
void fields(OutsideProgram& x, FieldList& f);

/// The user's settings for external implementations; filled by cli/.
struct OutsideOptions {
  std::string python = "python3";  ///< the Python with PyTorch and the packages beside it
  std::vector<std::filesystem::path> library_folders;  ///< searched before the loader's own path
  std::vector<std::filesystem::path> program_folders;  ///< PATH, split
};

struct Availability {
  std::string impl;  ///< "cudnn", "torch:*", "fa3"
  bool available = false;
  std::string found;   ///< version or place; otherwise the missing part
  std::string remedy;  ///< empty when available
};

void fields(Availability& x, FieldList& f);

/// Order to the device worker to look for implementations.
struct AvailabilityOrder : OutsideOptions {};
void fields(AvailabilityOrder& x, FieldList& f);

struct AvailabilityReply {
  std::vector<Availability> implementations;
};
void fields(AvailabilityReply& x, FieldList& f);

}  // namespace fatune
