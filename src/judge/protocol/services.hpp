// services.hpp: Declares what a judge offers its clients: tools, resources and prompts.
#pragma once

#include <functional>
#include <map>
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
  bool reads_only = true;  ///< a call leaves nothing behind
};
/// Clients see the tools in this order.
using Toolbox = std::vector<Tool>;

/// Finds a tool; the usage error names the nearest tool.
Result<const Tool*> find_tool(const Toolbox& tools, const std::string& name);

/// Describes a resource, or a URI template with `{name}` placeholders.
struct ResourceDescription {
  std::string uri, name, description, mime_type;
};
struct ResourceText {
  std::string mime_type, text;
};
/// Reads resources at once, outside the queue of calls.
struct ResourceProvider {
  std::function<std::vector<ResourceDescription>()> list;
  std::vector<ResourceDescription> templates;
  std::function<Result<ResourceText>(const std::string& uri)> read;
};

using PromptArguments = std::map<std::string, std::string>;
struct PromptArgument {
  std::string name, description;
  bool required = false;
};
/// A prompt for a model, with its arguments filled in.
struct Prompt {
  std::string name, title, description;
  std::vector<PromptArgument> arguments;
  std::function<Result<std::string>(const PromptArguments&)> text;
};

struct Services {
  Toolbox tools;
  ResourceProvider resources;
  std::vector<Prompt> prompts;
};

/// Returns the members of an object that are not null; clients send null for what they leave out.
/// Null becomes an empty object, and other values stay.
Json without_nulls(const Json& given);

/// Usage errors name the nearest prompt, or the argument that is unknown, missing or not a text.
/// `arguments` is an object, or null for no arguments.
Result<std::string> fill_prompt(const std::vector<Prompt>& prompts, const std::string& name,
                                const Json& arguments);

}  // namespace fatune
