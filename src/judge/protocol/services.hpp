// services.hpp - all that a client can reach: tools, texts by their addresses, and prompts.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "judge/protocol/tool.hpp"

namespace fatune {

/// A text that can be read, or a template of addresses, whose `{name}` stands for a part.
struct ResourceCard {
  std::string uri, name, description, mime_type;
};
struct ResourceText {
  std::string mime_type, text;
};
/// Reading takes no turn of the calls': it is answered at once.
struct Shelf {
  std::function<std::vector<ResourceCard>()> list;
  std::vector<ResourceCard> templates;
  std::function<Result<ResourceText>(const std::string& uri)> read;
};

using PromptArguments = std::map<std::string, std::string>;
struct PromptArgument {
  std::string name, description;
  bool required = false;
};
/// A text for a model, filled in.
struct Prompt {
  std::string name, title, description;
  std::vector<PromptArgument> arguments;
  std::function<Result<std::string>(const PromptArguments&)> text;
};

struct Services {
  Toolbox tools;
  Shelf shelf;
  std::vector<Prompt> prompts;
};

/// Usage errors name the nearest prompt, or the argument that is unknown, missing or no text.
/// `arguments`: an object, or null for none.
Result<std::string> fill_prompt(const std::vector<Prompt>& prompts, const std::string& name,
                                const Json& arguments);

}  // namespace fatune
