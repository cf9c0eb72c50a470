// remote_compilers.cpp - counts what is away, and believes machine code by its hash.
#include "tune/compile/remote_compilers.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/hash.hpp"
#include "core/log.hpp"
#include "core/text.hpp"

namespace fatune {

std::size_t RemoteCompilers::free_process() const {
  std::size_t process = first_process_;
  while (
      std::ranges::any_of(away_, [&](const auto& each) { return each.second.process == process; }))
    ++process;
  return process;
}

void RemoteCompilers::hand_out(CompileQueue& queue) {
  while (descriptor() >= 0 && away_.size() < jobs_) {
    const std::optional<Ticket> ticket = queue.next_away();
    if (!ticket) return;
    away_[*ticket] = {free_process(), Clock::now()};
    const Status sent = channel_.send(
        to_json(CompileMessage{static_cast<std::int64_t>(*ticket), queue.order(*ticket)}));
    if (!sent) leave(queue, sent.error());
  }
}

std::vector<Answered> RemoteCompilers::hear(CompileQueue& queue, const WorkerOptions& stores) {
  std::vector<Answered> answers;
  while (descriptor() >= 0) {
    const auto json = channel_.receive(std::chrono::milliseconds(0));
    if (json && !*json) break;
    auto message = json ? from_json<CompiledMessage>(**json, "another rank")
                        : Result<CompiledMessage>(json.error());
    if (message) {
      settle(*std::move(message), queue, stores, answers);
    } else {
      leave(queue, message.error());
    }
  }
  return answers;
}

void RemoteCompilers::settle(CompiledMessage message, CompileQueue& queue,
                             const WorkerOptions& stores, std::vector<Answered>& answers) {
  const auto ticket = static_cast<Ticket>(message.number);
  const auto away = away_.extract(ticket);
  if (away.empty()) return;  // taken back since
  const std::string code = from_hex(message.code).value_or("");
  const bool damaged = message.compiled.ok && sha256_hex(code) != message.compiled.cubin_hash;
  const bool unsaid = is_of_a_machine(message.compiled);  // the other one: no memory, no time
  if (damaged || unsaid || !message.refused.empty()) {
    log::debug("compiled here: " + (damaged  ? "the machine code came damaged"
                                    : unsaid ? "the compiler said nothing"
                                             : message.refused));
    queue.put_back(ticket);
    return;
  }
  Reply reply = stored_reply(queue.order(ticket).key, std::move(message.compiled), code, stores);
  if (!reply.compiled.from_cache) reply.compiled.process = away.mapped().process;
  answers.push_back({ticket, std::move(reply)});
}

void RemoteCompilers::take_back_late(CompileQueue& queue) {
  const auto oldest =
      std::ranges::min_element(away_, {}, [](const auto& each) { return each.second.since; });
  if (oldest == away_.end() || Clock::now() - oldest->second.since < longest_away_) return;
  const Ticket ticket = oldest->first;
  cancel(ticket);
  queue.put_back(ticket);
}

void RemoteCompilers::cancel(Ticket ticket) {
  if (away_.erase(ticket) == 0 || descriptor() < 0) return;
  // A channel that is gone is noticed when it is read.
  static_cast<void>(channel_.send(to_json(WithdrawMessage{static_cast<std::int64_t>(ticket)})));
}

void RemoteCompilers::leave(CompileQueue& queue, const Error& why) {
  log::warn("compiling on this host alone: " + why.message);
  channel_.close();
  for (const auto& [ticket, away] : away_) queue.put_back(ticket);
  away_.clear();
}

}  // namespace fatune
