// signature.hpp: Reads the __global__ functions and __constant__ variables of a CUDA text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace fatune {

struct FunctionParameter {
  std::string name;
  std::string type;  ///< in C++, without const and *: "float"
  bool pointer = false;
  bool written = false;  ///< a pointer to elements that are not const
};

struct GlobalFunction {
  std::string name;  ///< without namespaces
  std::vector<FunctionParameter> parameters;
  std::vector<std::string> template_names;  ///< of a template's parameters
};

/// Returns the functions that the text defines, in their order. Macros stay as written.
std::vector<GlobalFunction> global_functions(std::string_view text);
/// Returns the type of a __constant__ variable; empty if the text has no such variable.
std::string constant_type(std::string_view text, std::string_view symbol);

/// Returns the parameters with the template's arguments in place of its names: `entry` is
/// "add<float, 4>".
std::vector<FunctionParameter> parameters_of(const GlobalFunction& function,
                                             std::string_view entry);

/// An element or a value by the manifest's name of its type: "f32".
struct ElementType {
  std::string name;
  std::int64_t count = 1;  ///< 4 for float4
  std::size_t bytes = 4;
};
/// None for a type that manifests lack.
std::optional<ElementType> element_type(std::string_view c_type);

}  // namespace fatune
