// evaluate_fakes.hpp: Provides a kernel, a compile service and a worker link made of lambdas.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/fields.hpp"
#include "model/kernel/candidate.hpp"
#include "model/kernel/kernel.hpp"
#include "tune/compile/service.hpp"
#include "tune/evaluate/device_team.hpp"
#include "worker/protocol/messages.hpp"

namespace fatune::test {

inline std::string manifest_text(const std::string& name, const std::string& role) {
  return R"({"schema":"fatune.kernel/1","name":")" + name +
         R"(","summary":"a kernel of tests","source":")" + name + R"(.cu","role":")" + role +
         R"(","tuned_by_default":true,"needs_toolkit_headers":false,"arch":{"min":75},
    "supports":{"dtypes":["f16","bf16"],"masks":["none","causal"],"rules":[]},
    "parameters":[{"name":"TILE","values":[1,2,3,4,5,6,7,8],"default":2,"meaning":"edge of a tile"}],
    "constraints":[{"require":"TILE != 7","why":"seven is no good here"}],
    "stages":[{"entry":"main_entry","grid":["BATCH * HEADS","1","1"],"block":["32","1","1"],
               "shared_bytes":"0","static_shared_bytes":"0","arguments":["q","k","v","out"]}]})";
}

inline KernelRef tiled_kernel(const std::string& name, const std::string& role = "attention") {
  const SourceTree tree = {{name + ".cu", "extern \"C\" __global__ void main_entry() {}"},
                           {name + ".json", manifest_text(name, role)}};
  auto kernels = load_kernels(tree);
  FATUNE_CHECK(kernels && kernels->size() == 1, "the test kernel is well formed");
  return kernels->front();
}

inline Candidate make_candidate(const KernelRef& kernel, int tile, const Attention& problem = {}) {
  return {kernel, Config{{{"TILE", Value{Value::Kind::kNumber, tile, ""}}}}, problem};
}

/// Converts through text, as messages are sent.
inline Json sent(const Json& message) { return *parse_json(dump(message), "test"); }

/// Returns the value of TILE in a compile request.
inline int tile_of(const CompileRequest& request) {
  for (const std::string& macro : request.macros) {
    if (macro.starts_with("TILE=")) return std::stoi(macro.substr(5));
  }
  return 0;
}

inline bool has_macro(const CompileRequest& request, const std::string& macro) {
  return std::find(request.macros.begin(), request.macros.end(), macro) != request.macros.end();
}

/// A compile service whose results are ready at once, or after `delay` pumps.
class FakeCompiler : public CompileService {
 public:
  std::function<Compiled(const CompileRequest&)> compile = [](const CompileRequest& request) {
    Compiled compiled;
    compiled.ok = true;
    compiled.cubin_path = "/cubins/" + request.label;
    compiled.cubin_hash = request.source.path + " " + std::to_string(tile_of(request)) +
                          (request.macros.empty() ? "" : request.macros.back());
    compiled.seconds = 0.5;
    return compiled;
  };
  std::function<int(const CompileRequest&)> delay = [](const CompileRequest&) { return 0; };

  Ticket submit(const CompileRequest& request) override {
    requests.push_back(request);
    results_[++last_] = {compile(request), delay(request)};
    tiles_[last_] = tile_of(request);
    return last_;
  }
  bool ready(Ticket ticket) const override { return results_.at(ticket).second <= 0; }
  Compiled take(Ticket ticket) override {
    Compiled compiled = results_.at(ticket).first;
    results_.erase(ticket);
    return compiled;
  }
  /// Returns the number of `jobs` without an unfinished request.
  std::size_t idle() const override {
    const auto busy = static_cast<std::size_t>(
        std::count_if(results_.begin(), results_.end(),
                      [](const auto& result) { return result.second.second > 0; }));
    return jobs - std::min(jobs, busy);
  }
  void cancel(Ticket ticket) override {
    cancelled.push_back(tiles_.at(ticket));
    results_.erase(ticket);
  }
  Status pump(std::chrono::milliseconds) override {
    dispatched = requests.size();
    for (auto& [ticket, result] : results_) --result.second;
    return {};
  }
  std::vector<int> descriptors() const override { return {}; }

  std::vector<CompileRequest> requests;
  std::size_t dispatched = 0;  ///< number of requests dispatched by the last pump
  std::size_t jobs = 4;
  std::vector<int> cancelled;  ///< tiles of the cancelled requests

 private:
  std::map<Ticket, std::pair<Compiled, int>> results_;
  std::map<Ticket, int> tiles_;
  Ticket last_ = 0;
};

/// A link that answers every order at once by `answer`; an empty list is a dying process.
class FakeLink : public WorkerLink {
 public:
  std::function<std::vector<Json>(const Json& order)> answer;
  std::vector<Json> orders;
  int starts = 0;

  FakeLink() : signal_(::eventfd(0, EFD_NONBLOCK)) {}
  ~FakeLink() override { ::close(signal_); }
  Status start() override {
    ++starts;
    running_ = true;
    dead_ = false;
    return {};
  }
  bool running() const override { return running_; }
  Status send(const Json& order) override {
    orders.push_back(order);
    const bool expects = message_type(order) == "expect";
    const std::vector<Json> messages =
        expects ? std::vector{to_json(ExpectedReply{})} : answer(order);
    dead_ = messages.empty();
    for (const Json& message : messages) queue_.push_back(message);
    const std::uint64_t one = 1;
    FATUNE_CHECK(::write(signal_, &one, sizeof one) == sizeof one, "an eventfd takes a number");
    return {};
  }
  Result<std::optional<Json>> receive(std::chrono::milliseconds) override {
    if (dead_) return environment_error("the peer is gone");
    if (queue_.empty()) return std::optional<Json>();
    Json message = std::move(queue_.front());
    queue_.pop_front();
    if (queue_.empty()) {
      std::uint64_t count = 0;
      static_cast<void>(::read(signal_, &count, sizeof count) == 0);
    }
    return std::optional<Json>(std::move(message));
  }
  int descriptor() override { return signal_; }
  std::string stop(std::chrono::milliseconds) override {
    running_ = false;
    queue_.clear();
    return "signal SIGKILL";
  }
  void dismiss() override { stop({}); }

 private:
  int signal_;
  bool running_ = false, dead_ = false;
  std::deque<Json> queue_;
};

/// Names devices "cuda:0", ... and gives each its link.
inline std::vector<TeamDevice> devices_of(std::initializer_list<FakeLink*> links) {
  std::vector<TeamDevice> devices;
  for (FakeLink* link : links) {
    devices.push_back({"cuda:" + std::to_string(devices.size()),
                       std::make_unique<DeviceWorker>(std::unique_ptr<WorkerLink>(link))});
  }
  return devices;
}

/// Returns the TILE of the program in a run order.
inline int tile_of_run(const Json& order) {
  const auto cubin = order["program"]["cubin"].get<std::string>();
  const std::size_t at = cubin.find("TILE=");
  return at == std::string::npos ? 0 : std::stoi(cubin.substr(at + 5));
}

inline RunReply measured(double hot_us) {
  RunReply reply;
  reply.hot = Timing{
      .median_us = hot_us, .q1_us = hot_us, .q3_us = hot_us, .min_us = hot_us, .samples = 10};
  reply.verification =
      Verification{.passed = true, .margin = 0.5, .seeds = 2, .gates = {{GateId::kLaunch}}};
  reply.resources = Resources{.registers = 64, .threads = 128};
  return reply;
}

/// Answers hello and begin, and leaves runs and rounds to `run` and `rounds`.
inline std::vector<Json> answer_as_worker(
    const Json& order, const std::function<std::vector<Json>(const Json&)>& run) {
  const std::string type = message_type(order);
  if (type == "hello") {
    Environment environment;
    environment.device_name = "NVIDIA Fake";
    environment.limits = *typical_limits(Arch{90, 'a'});
    return {to_json(DeviceReply{environment})};
  }
  if (type == "begin") return {to_json(ReadyReply{100})};
  return run(order);
}

}  // namespace fatune::test
