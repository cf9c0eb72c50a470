// compile_server.cpp - orders to tickets of this host's compiler, and its files to messages.
#include "tune/fleet/compile_server.hpp"

#include <utility>

#include "core/file.hpp"
#include "core/text.hpp"

namespace fatune {
namespace {

CompiledMessage message_of(std::int64_t number, Compiled compiled) {
  CompiledMessage message{.number = number};
  if (compiled.ok) {
    const auto code = read_file(compiled.cubin_path);
    if (code)
      message.code = to_hex(*code);
    else
      message.refused = code.error().message;
  }
  message.compiled = std::move(compiled);
  return message;
}

}  // namespace

void CompileServer::take(const CompileMessage& message) {
  std::string refused;
  if (!compiler_.service) {
    auto opened = open_();
    if (opened) {
      compiler_ = *std::move(opened);
    } else {
      refused = opened.error().message;
    }
  }
  if (refused.empty() && compiler_.key_of(message.order.request) != message.order.key)
    refused = "another compiler, or other headers of the toolkit";
  if (refused.empty()) {
    tickets_[message.number] = compiler_.service->submit(message.order.request);
  } else {
    refused_.push_back({.number = message.number, .refused = std::move(refused)});
  }
}

void CompileServer::withdraw(const WithdrawMessage& message) {
  const auto ticket = tickets_.extract(message.number);
  if (!ticket.empty()) compiler_.service->cancel(ticket.mapped());
}

Result<std::vector<CompiledMessage>> CompileServer::pump() {
  std::vector<CompiledMessage> answers = std::exchange(refused_, {});
  if (!compiler_.service) return answers;
  if (const Status pumped = compiler_.service->pump(std::chrono::milliseconds(0)); !pumped) {
    for (const auto& [number, ticket] : tickets_)
      answers.push_back({.number = number, .refused = pumped.error().message});
    tickets_.clear();
    compiler_ = {};  // the next order opens another
    return answers;
  }
  for (auto each = tickets_.begin(); each != tickets_.end();) {
    if (!compiler_.service->ready(each->second)) {
      ++each;
      continue;
    }
    answers.push_back(message_of(each->first, compiler_.service->take(each->second)));
    each = tickets_.erase(each);
  }
  return answers;
}

}  // namespace fatune
