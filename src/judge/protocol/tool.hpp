// tool.hpp: Declares one tool of the judge: its description, its schemas and its function.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.hpp"
#include "core/result.hpp"

namespace fatune {

/// A slow tool reports its phase with this function a few times a second. Fails once the client has
/// cancelled the call or disconnected.
using Heartbeat = std::function<Status(std::string_view phase)>;

struct Tool {
  std::string name, title, description;
  std::function<Json()> input_schema, output_schema;  ///< JSON Schema 2020-12
  std::function<Result<Json>(const Json& arguments, const Heartbeat& beat)> run;
};
/// Clients see the tools in this order.
using Toolbox = std::vector<Tool>;

/// Finds a tool; the usage error names the nearest tool.
Result<const Tool*> find_tool(const Toolbox& tools, const std::string& name);

}  // namespace fatune
