// compile_worker.cpp - the compile worker process: requests on its channel to files in the cache.
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "core/channel.hpp"
#include "core/child.hpp"
#include "core/fields.hpp"
#include "core/log.hpp"
#include "worker/compile/nvrtc.hpp"
#include "worker/protocol/compilation.hpp"

namespace fatune {
namespace {

constexpr int kNiceness = 5;  ///< chosen: the parent and the device worker come first
constexpr const char* kWhere = "message between pool and compile worker";

Reply answer(const Nvrtc& nvrtc, const CompileOrder& order, const WorkerOptions& options) {
  Reply reply;
  std::string cubin;
  reply.compiled = nvrtc.compile(order.request, cubin);
  // A failure without a log is about this machine, not about the request: not to be remembered.
  if (!reply.compiled.ok && reply.compiled.log.empty()) return reply;
  auto stored = CubinCache(options.cache).store(order.key, reply.compiled, cubin);
  if (!stored) {
    reply.cache_problem = stored.error().message;
    if (!reply.compiled.ok) return reply;
    stored = options.fallback.empty()
                 ? file_error("there is no temporary folder either")
                 : CubinCache(options.fallback).store(order.key, reply.compiled, cubin);
  }
  if (stored) {
    reply.compiled = *std::move(stored);
  } else {
    reply.failure = reply.cache_problem + "; " + stored.error().message;
  }
  return reply;
}

/// Until the parent closes the channel.
Status serve(Channel& channel, const Nvrtc& nvrtc, const WorkerOptions& options) {
  while (true) {
    const auto message = channel.receive();
    if (!message) return {};
    FATUNE_TRY(const CompileOrder order, from_json<CompileOrder>(*message, kWhere));
    FATUNE_TRY_STATUS(channel.send(to_json(answer(nvrtc, order, options))));
  }
}

Result<WorkerOptions> parse_options(std::span<const std::string> args) {
  if (args.size() != 1) return usage_error("compile-worker is started by fatune itself");
  FATUNE_TRY(const Json options, parse_json(args.front(), "compile-worker"));
  return from_json<WorkerOptions>(options, "compile-worker");
}

}  // namespace

int compile_worker_main(std::span<const std::string> args) {
  const auto options = parse_options(args);
  if (!options) {
    log::error(options.error().message);
    return 2;
  }
  // A refusal only costs a little quiet: the worker then runs as the others do.
  [[maybe_unused]] const int niceness = nice(kNiceness);
  Channel channel(Child::kChannelDescriptor);
  const auto nvrtc = Nvrtc::open(options->toolchain);
  const Greeting greeting = nvrtc ? nvrtc->facts() : Greeting{.problem = nvrtc.error().message};
  if (!channel.send(to_json(greeting))) return 0;
  if (!nvrtc) return 3;
  const Status served = serve(channel, *nvrtc, *options);
  if (served) return 0;
  log::error("compile worker: " + served.error().message);
  return 70;
}

}  // namespace fatune
