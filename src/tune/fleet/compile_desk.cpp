// compile_desk.cpp - the numbers of a sweep to those of its rank and back.
#include "tune/fleet/compile_desk.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/fields.hpp"

namespace fatune {

CompileDesk::Guest::~Guest() {
  for (auto each = desk_.asked_.begin(); each != desk_.asked_.end();) {
    if (each->second.guest != this) {
      ++each;
      continue;
    }
    // A transport that breaks is noticed with the next word.
    static_cast<void>(desk_.tell_(WithdrawMessage{each->first}));
    each = desk_.asked_.erase(each);
  }
}

Status CompileDesk::Guest::serve(Channel& channel) {
  for (;;) {
    const auto json = channel.receive(std::chrono::milliseconds(0));
    if (!json) return {};  // it has ended, which its rank will see
    if (!*json) break;
    FATUNE_TRY(const auto message, from_json<PoolMessage>(**json, "a sweep"));
    FATUNE_TRY_STATUS(take(message));
  }
  for (const CompiledMessage& answer : answers_) channel.post(to_json(answer));
  answers_.clear();
  static_cast<void>(channel.flush());
  return {};
}

Status CompileDesk::Guest::take(const PoolMessage& message) {
  if (const auto* compile = std::get_if<CompileMessage>(&message)) {
    desk_.asked_[++desk_.last_] = {this, compile->number};
    return desk_.tell_(CompileMessage{desk_.last_, compile->order});
  }
  const std::int64_t number = std::get<WithdrawMessage>(message).number;
  const auto asked = std::ranges::find_if(desk_.asked_, [&](const auto& each) {
    return each.second.guest == this && each.second.number == number;
  });
  if (asked == desk_.asked_.end()) return {};
  const std::int64_t own = asked->first;
  desk_.asked_.erase(asked);
  return desk_.tell_(WithdrawMessage{own});
}

void CompileDesk::answer(CompiledMessage message) {
  const auto asked = asked_.extract(message.number);
  if (asked.empty()) return;
  message.number = asked.mapped().number;
  asked.mapped().guest->answers_.push_back(std::move(message));
}

}  // namespace fatune
