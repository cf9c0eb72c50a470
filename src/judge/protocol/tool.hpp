// tool.hpp - a verb of the judge: what it is for people and programs, and the function behind it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.hpp"
#include "core/result.hpp"

namespace fatune {

/// Called by a tool that takes long, a few times a second, with what it is doing; an error once its
/// client has cancelled the call or is gone.
using Heartbeat = std::function<Status(std::string_view phase)>;

struct Tool {
  std::string name, title, description;
  std::function<Json()> input_schema, output_schema;  ///< JSON Schema 2020-12
  std::function<Result<Json>(const Json& arguments, const Heartbeat& beat)> run;
};
/// In the order in which clients see them.
using Toolbox = std::vector<Tool>;

/// A usage error with the nearest name when there is none.
Result<const Tool*> find_tool(const Toolbox& tools, const std::string& name);

}  // namespace fatune
