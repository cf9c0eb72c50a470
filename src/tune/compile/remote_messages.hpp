// remote_messages.hpp - what a pool, and the ranks between it and those that compile for it, say to
// each other.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "core/fields_fwd.hpp"
#include "worker/protocol/compilation.hpp"

namespace fatune {

/// To compile. Each sender has numbers of its own, none of them twice.
struct CompileMessage {
  std::int64_t number = 0;
  CompileOrder order;
};
void fields(CompileMessage& x, FieldList& f);

/// Nobody waits for it any more.
struct WithdrawMessage {
  std::int64_t number = 0;
};
void fields(WithdrawMessage& x, FieldList& f);

/// What came of it.
struct CompiledMessage {
  std::int64_t number = 0;
  std::string refused{};  ///< why nobody compiles it; empty: it was compiled
  Compiled compiled{};    ///< its cubin_path is one of another host
  std::string code{};     ///< the machine code, as hex digits
};
void fields(CompiledMessage& x, FieldList& f);

/// Of a pool.
using PoolMessage = std::variant<CompileMessage, WithdrawMessage>;

}  // namespace fatune
