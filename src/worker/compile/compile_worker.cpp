// compile_worker.cpp - the compile worker process: requests on its channel to files in the cache.
#include <chrono>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "core/channel.hpp"
#include "core/child.hpp"
#include "core/fields.hpp"
#include "core/hash.hpp"
#include "core/log.hpp"
#include "worker/compile/nvrtc.hpp"
#include "worker/protocol/cache.hpp"
#include "worker/protocol/compilation.hpp"
#include "worker/protocol/mains.hpp"

namespace fatune {
namespace {

constexpr int kNiceness = 5;  ///< chosen: the parent and the device worker come first
constexpr const char* kWhere = "message between pool and compile worker";

Greeting greet(const Result<Nvrtc>& nvrtc) {
  Greeting greeting;
  if (!nvrtc) {
    greeting.problem = nvrtc.error().message;
    return greeting;
  }
  greeting.path = nvrtc->path();
  greeting.version = nvrtc->version();
  greeting.identity = nvrtc->identity();
  greeting.archs = nvrtc->archs();
  return greeting;
}

Compiled compile(const Nvrtc& nvrtc, const CompileRequest& request, std::string& cubin) {
  const auto start = std::chrono::steady_clock::now();
  CompilerOutput program = nvrtc.compile(request);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  Compiled compiled;
  compiled.ok = program.ok;
  compiled.problem = std::move(program.problem);
  compiled.entries = parse_compile_log(program.log);
  compiled.log = std::move(program.log);
  compiled.seconds = spent.count();
  if (compiled.ok) compiled.cubin_hash = sha256_hex(program.cubin);
  cubin = std::move(program.cubin);
  return compiled;
}

Reply answer(const Nvrtc& nvrtc, const CompileRequest& request, const std::string& key,
             const WorkerOptions& options) {
  Reply reply;
  std::string cubin;
  reply.compiled = compile(nvrtc, request, cubin);
  // A failure without a log is about this machine, not about the request: not to be remembered.
  if (!reply.compiled.ok && reply.compiled.log.empty()) return reply;
  auto stored = CubinCache(options.cache).store(key, reply.compiled, cubin);
  if (!stored) {
    reply.cache_problem = stored.error().message;
    if (!reply.compiled.ok) return reply;
    stored = options.fallback.empty()
                 ? file_error("there is no temporary folder either")
                 : CubinCache(options.fallback).store(key, reply.compiled, cubin);
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
    const Fields fields(*message, kWhere);
    FATUNE_TRY(const std::string key, fields.text("key"));
    FATUNE_TRY(const Json* object, fields.value("request"));
    FATUNE_TRY(const CompileRequest request, from_json<CompileRequest>(*object, kWhere));
    FATUNE_TRY_STATUS(channel.send(to_json(answer(nvrtc, request, key, options))));
  }
}

}  // namespace

int compile_worker_main(std::span<const std::string> args) {
  const auto options = parse_worker_arguments(args);
  if (!options) {
    log::error(options.error().message);
    return 2;
  }
  // A refusal only costs a little quiet: the worker then runs as the others do.
  [[maybe_unused]] const int niceness = nice(kNiceness);
  Channel channel(Child::kChannelDescriptor);
  const auto nvrtc = Nvrtc::open(options->toolchain);
  if (!channel.send(to_json(greet(nvrtc)))) return 0;
  if (!nvrtc) return 3;
  const Status served = serve(channel, *nvrtc, *options);
  if (served) return 0;
  log::error("compile worker: " + served.error().message);
  return 70;
}

}  // namespace fatune
