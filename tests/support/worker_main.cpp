// worker_main.cpp: Runs the tests, or serves as the compile worker of a test's pool.
#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <catch2/catch_session.hpp>
#include <nlohmann/json.hpp>
#include <signal.h>
#include <unistd.h>

#include "core/channel.hpp"
#include "core/child.hpp"
#include "core/fields.hpp"
#include "worker/protocol/compilation.hpp"

using namespace fatune;

namespace {

/// Greets like a compile worker, and then fails as the request's label says.
int run_faulty_worker() {
  Channel channel(Child::kChannelDescriptor);
  const Greeting greeting{.problem = "",
                          .path = "libnvrtc.so.13",
                          .version = "13.0.88",
                          .identity = "nvrtc 13.0.88 test",
                          .archs = {80, 90}};
  if (!channel.send(to_json(greeting))) return 0;
  while (true) {
    const auto message = channel.receive();
    if (!message) return 0;
    const std::string label = (*message)["request"]["label"];
    if (label == "crash") raise(SIGKILL);
    const bool solo = label.starts_with("crash once, then hold ");
    const std::filesystem::path mark = label.substr(label.rfind(' ') + 1);
    if (solo && std::ofstream(mark, std::ios::app).tellp() == 0) {
      std::ofstream(mark) << "x";
      raise(SIGKILL);
    }
    const std::filesystem::path held = mark.string() + ".held";
    if (solo) std::filesystem::create_directory(held);
    if (solo) usleep(300'000);
    if (solo) std::filesystem::remove(held);
    if (label == "hang") pause();
    while (label == "spin") std::atomic_signal_fence(std::memory_order_seq_cst);
    Reply reply;
    reply.compiled.problem = "by process " + std::to_string(getpid());
    if (label.starts_with("beside ") && std::filesystem::exists(held))
      reply.compiled.problem = "at the same time";
    if (label == "no memory") reply.compiled.problem = "out of memory " + reply.compiled.problem;
    if (label == "unstorable") reply.failure = "no space left on device";
    if (!channel.send(to_json(reply))) return 0;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (args.empty() || args[0] != "compile-worker") return Catch::Session().run(argc, argv);
  const std::vector<std::string> rest(args.begin() + 1, args.end());
  const bool faulty = rest.front().find("faulty-compiler") != std::string::npos;
  return faulty ? run_faulty_worker() : compile_worker_main(rest);
}
