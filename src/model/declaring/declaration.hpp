// declaration.hpp: Holds what statements and a CUDA file say, checked against each other.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.hpp"
#include "model/declaring/said.hpp"
#include "model/declaring/signature.hpp"

namespace fatune {

/// A CUDA file and what is said of it.
struct DeclaredSource {
  std::filesystem::path file;
  std::string text;
  std::string usual_kernel;  ///< the function below the last line of statements; empty: unknown
  Sayings sayings;
};

struct DeclaredStage {
  std::string entry;
  std::optional<std::vector<std::string>> passed;  ///< none: the parameters' own names
  std::vector<std::string> grid, block;            ///< three expressions; the grid's round up
  std::string shared;                              ///< empty: 0
  std::string where;
  std::vector<std::string> arguments;  ///< as a manifest has them
};
/// Reads "sum(x, n) grid n / B block B shared 4 * B".
DeclaredStage parse_launch(const Said& said, Faults& faults);
/// Writes each quotient as ceil_div: "n / (A * B) + 1" gives "ceil_div(n, (A * B)) + 1".
std::string rounded_up(std::string_view expression);

struct DeclaredArray {
  std::string name;
  std::vector<std::string> extents;
  bool output = false, scratch = false;
  std::string fill;                  ///< "normal"; empty: not said
  std::vector<std::string> details;  ///< numbers of the fill, or its file
  std::string where;
};
/// Reads "[h, w] uniform(0, 1)".
DeclaredArray parse_array(const Said& said, Faults& faults);
/// Returns the array as a tensor of a manifest. The file's path starts at `folder`.
Json tensor_json(const DeclaredArray& array, const ElementType& type,
                 const std::filesystem::path& folder, Faults& faults);

/// Reads "1,2,4", "1..8", "128..1024:64", "32..1024:*2", "true,false" or words as a JSON list. The
/// error is the fault alone, without its place.
Result<Json> parse_values(std::string_view text);

struct Declaration {
  std::vector<DeclaredStage> stages;
  std::optional<DeclaredStage> reference;
  Json parameters = Json::array();  ///< as a manifest has them
  std::vector<std::string> sizes;
  std::vector<std::string> runtime;   ///< sizes that a launch passes
  std::vector<Json> problems, edges;  ///< values by size
  std::vector<DeclaredArray> arrays;
  std::map<std::string, ElementType> types;  ///< by array
  std::optional<Json> tolerance;
};
/// Reads the statements, and reports what is wrong with them.
Declaration read_declaration(const DeclaredSource& source, Faults& faults);

}  // namespace fatune
