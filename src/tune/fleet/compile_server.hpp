// compile_server.hpp - a rank that compiles for others: orders in, machine code out.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "tune/compile/remote_messages.hpp"
#include "tune/compile/service.hpp"

namespace fatune {

/// What compiles on this host, and its keys of requests.
struct HostCompiler {
  std::unique_ptr<CompileService> service;
  std::function<std::string(const CompileRequest& request)> key_of;
};

/// An order whose key is another here is refused: a header of the toolkit differs, say.
class CompileServer {
 public:
  using Open = std::function<Result<HostCompiler>()>;
  /// `open` is asked with the first order.
  explicit CompileServer(Open open) : open_(std::move(open)) {}

  void take(const CompileMessage& message);
  void withdraw(const WithdrawMessage& message);
  /// What has been compiled or refused since.
  Result<std::vector<CompiledMessage>> pump();

 private:
  Open open_;
  HostCompiler compiler_;
  std::map<std::int64_t, Ticket> tickets_;
  std::vector<CompiledMessage> refused_;
};

}  // namespace fatune
