// json_lines.cpp: Serves the tools to scripts as JSON lines: one object asks, one object answers.
#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/text.hpp"
#include "judge/protocol/server.hpp"

namespace fatune {
namespace {

/// One line of a client.
struct ClientLine {
  std::optional<Json> id;
  std::string tool;
  std::string resource;  ///< URI of a resource
  std::string prompt;
  Json arguments = Json::object();
  bool progress = false;
  std::optional<Json> cancel;
};

void fields(ClientLine& x, FieldList& f) {
  f("id", x.id);
  f("tool", x.tool);
  f("resource", x.resource);
  f("prompt", x.prompt);
  f("arguments", x.arguments).object();
  f("progress", x.progress);
  f("cancel", x.cancel);
  f.closed();
  f.rule("", [&x] {
    const std::array given = {!x.tool.empty(), !x.resource.empty(), !x.prompt.empty(),
                              x.cancel.has_value()};
    const auto named = std::ranges::count(given, true);
    if (named == 0) return std::string("names no 'tool', 'resource' or 'prompt'");
    return std::string(named > 1 ? "names several of 'tool', 'resource', 'prompt' and 'cancel'"
                                 : "");
  });
}

/// Returns the line with an error in place of a result.
std::string failed(Json line, const Error& error) {
  line["error"] = {{"kind", name(error.kind)}, {"message", error.message}};
  return dump(line);
}

/// Returns the start of an answer: the call's id, if the call has one.
Json head_of(const ToolCall& call) {
  Json line = Json::object();
  if (!call.id.empty()) line["id"] = Json::parse(call.id);
  line["tool"] = call.tool->name;
  return line;
}

class JsonLines final : public Dialect {
 public:
  explicit JsonLines(const Services& services) : services_(services) {}

  ParsedLine parse(std::string_view line) override {
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) return {};
    const Result<Json> message = parse_json(line, "line");
    if (!message) return {.answer = unreadable(message.error().message)};
    const Result<ClientLine> asked = read_value<ClientLine>(without_nulls(*message), "line");
    if (!asked) return {.answer = refused(*message, asked.error().message)};
    if (asked->cancel) return {.cancelled = dump(*asked->cancel)};
    if (!asked->resource.empty()) return {.answer = read(*asked)};
    if (!asked->prompt.empty()) return {.answer = fill(*asked)};
    ToolCall call;
    if (asked->id) call.id = dump(*asked->id);
    const auto tool = find_tool(services_.tools, asked->tool);
    if (!tool) return {.answer = failed(begin(*asked), tool.error())};
    call.tool = *tool;
    call.arguments = std::make_shared<const Json>(without_nulls(asked->arguments));
    if (asked->progress) call.progress = "true";
    return {.call = std::move(call)};
  }

  std::string unreadable(const std::string& problem) const override {
    return failed(Json::object(), usage_error(problem));
  }

  std::string refusal(const ToolCall& call, const std::string& problem) const override {
    return answer(call, usage_error(problem));
  }

  std::string answer(const ToolCall& call, const Result<Json>& result) const override {
    Json line = head_of(call);
    if (!result) return failed(std::move(line), result.error());
    line["result"] = *result;
    return dump(line);
  }

  std::string cancelled(const ToolCall& call) const override {
    return answer(call, Error{ErrorKind::kInterrupted, "cancelled"});
  }

  std::string progress(const ToolCall& call, int step, std::string_view phase) const override {
    if (call.progress.empty()) return "";
    Json line = head_of(call);
    line["progress"] = {{"step", step}, {"phase", phase}};
    return dump(line);
  }

 private:
  /// Answers a line that names no action, under the line's id if there is one.
  static std::string refused(const Json& line, const std::string& problem) {
    Json answer = Json::object();
    if (line.is_object() && line.contains("id")) answer["id"] = line["id"];
    return failed(std::move(answer), usage_error(problem));
  }

  static Json begin(const ClientLine& asked) {
    Json line = Json::object();
    if (asked.id) line["id"] = *asked.id;
    return line;
  }

  std::string read(const ClientLine& asked) const {
    Json line = begin(asked);
    line["resource"] = excerpt(asked.resource);
    const auto found = services_.resources.read(asked.resource);
    if (!found) return failed(std::move(line), found.error());
    line["mime_type"] = found->mime_type;
    line["text"] = found->text;
    return dump(line);
  }

  std::string fill(const ClientLine& asked) const {
    Json line = begin(asked);
    line["prompt"] = excerpt(asked.prompt);
    const auto text = fill_prompt(services_.prompts, asked.prompt, asked.arguments);
    if (!text) return failed(std::move(line), text.error());
    line["text"] = *text;
    return dump(line);
  }

  const Services& services_;
};

}  // namespace

std::unique_ptr<Dialect> make_json_lines(const Services& services) {
  return std::make_unique<JsonLines>(services);
}

}  // namespace fatune
