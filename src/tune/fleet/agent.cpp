// agent.cpp - orders to processes, and their journals' new lines to rank 0.
#include "tune/fleet/agent.hpp"

#include <list>
#include <optional>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "core/descriptor.hpp"
#include "core/file.hpp"
#include "core/interrupt.hpp"
#include "core/scratch_folder.hpp"
#include "tune/fleet/part_process.hpp"

namespace fatune {
namespace {

constexpr std::size_t kMostLog = std::size_t{64} << 10U;  // bytes that travel; chosen

/// What a file has grown by, in whole lines.
class Tail {
 public:
  Tail(std::filesystem::path file, std::size_t begin) : file_(std::move(file)), begin_(begin) {}

  std::string next() {
    const Descriptor file = open_file(file_, O_RDONLY);
    std::string lines;
    if (!file.open()) return lines;
    std::string chunk(std::size_t{1} << 18U, '\0');
    for (;;) {
      const auto at = static_cast<off_t>(begin_ + lines.size());
      const ssize_t count =
          uninterrupted([&] { return ::pread(file.raw(), chunk.data(), chunk.size(), at); });
      if (count <= 0) break;
      lines.append(chunk, 0, static_cast<std::size_t>(count));
    }
    lines.resize(lines.rfind('\n') + 1);
    begin_ += lines.size();
    return lines;
  }

 private:
  std::filesystem::path file_;
  std::size_t begin_ = 0;
};

/// The text of a file, or its end; empty where there is none.
std::string text_of(const std::filesystem::path& file, std::size_t most) {
  auto text = read_file(file, kLargeFile);
  if (!text) return "";
  return text->size() > most ? text->substr(text->size() - most) : *std::move(text);
}

/// A part that is swept here.
struct Lease {
  std::int64_t number = 0, device = 0;
  std::filesystem::path folder, log;
  PartProcess process;
  Tail journal;
};

class Agent {
 public:
  Agent(Transport& transport, FleetClock& clock, const AgentOptions& options)
      : transport_(transport),
        clock_(clock),
        options_(options),
        desk_([this](const RankMessage& message) { return tell(message); }),
        server_([this] { return options_.compiler(jobs_); }) {}

  Result<AgentEnd> run() {
    heard_s_ = clock_.now_s();
    FATUNE_TRY_STATUS(tell(BeatMessage{}));
    hello_ = options_.hello();
    FATUNE_TRY(jobs_, options_.jobs(hello_));
    hello_.jobs = static_cast<std::int64_t>(jobs_);
    FATUNE_TRY_STATUS(tell(hello_));
    FATUNE_TRY(scratch_, ScratchFolder::make());
    for (;;) {
      if (interrupted()) return Error(ErrorKind::kInterrupted, "interrupted");
      FATUNE_TRY(const std::optional<AgentEnd> end, hear());
      if (end) return *end;
      const double silence_s = clock_.now_s() - heard_s_;
      if (silence_s > options_.silence_s * (heard_ ? 1 : kGreetingTimes)) {
        return environment_error(
            fmt::format("rank 0 on {} was silent for {:.0f} s", transport_.host(0), silence_s));
      }
      FATUNE_TRY_STATUS(look_at_leases());
      FATUNE_TRY_STATUS(send_compiled());
      FATUNE_TRY_STATUS(beat());
      clock_.pause();
    }
  }

 private:
  Status tell(const RankMessage& message, std::string_view body = {}) {
    return transport_.send(0, to_bytes(message, body));
  }

  Result<std::optional<AgentEnd>> hear() {
    for (;;) {
      FATUNE_TRY(const std::optional<Parcel> parcel, transport_.poll());
      if (!parcel) return std::optional<AgentEnd>();
      heard_s_ = clock_.now_s();
      heard_ = true;
      FATUNE_TRY(const ReadMessage read, read_message(parcel->bytes, "rank 0"));
      if (const auto* order = std::get_if<OrderMessage>(&read.message)) {
        FATUNE_TRY_STATUS(begin(*order, read.body));
      } else if (const auto* drop = std::get_if<DropMessage>(&read.message)) {
        leases_.remove_if([&](const Lease& each) { return each.number == drop->lease; });
      } else if (const auto* compile = std::get_if<CompileMessage>(&read.message)) {
        server_.take(*compile);
      } else if (const auto* withdraw = std::get_if<WithdrawMessage>(&read.message)) {
        server_.withdraw(*withdraw);
      } else if (const auto* compiled = std::get_if<CompiledMessage>(&read.message)) {
        desk_.answer(*compiled);
      } else if (const auto* stop = std::get_if<StopMessage>(&read.message)) {
        desk_.close();
        return std::optional(stop->together ? AgentEnd::kTogether : AgentEnd::kAlone);
      }
    }
  }

  /// What fails here is the part's failure: rank 0 may have a better host for it.
  Status begin(const OrderMessage& order, const std::string& journal) {
    auto lease = start(order, journal);
    if (!lease) return tell(EndMessage{.lease = order.lease, .reason = lease.error().message});
    leases_.push_back(*std::move(lease));
    return {};
  }

  Result<Lease> start(const OrderMessage& order, const std::string& journal) {
    const auto device = static_cast<std::size_t>(order.device);
    if (device >= hello_.devices.size())
      return environment_error(
          fmt::format("an order for device {} of {}", device, hello_.devices.size()));
    const std::string name = fmt::format("lease-{}", order.lease);
    const PartPlace place{.folder = scratch_.path() / name,
                          .log = scratch_.path() / (name + ".log"),
                          .device = hello_.devices[device].name,
                          .jobs = jobs_,
                          .resumed = !journal.empty(),
                          .remote_jobs = static_cast<std::size_t>(order.remote_jobs)};
    const std::filesystem::path file = place.folder / "journal.jsonl";
    if (place.resumed) {
      FATUNE_TRY_STATUS(make_directories(place.folder));
      FATUNE_TRY_STATUS(replace_file(file, journal));
    }
    FATUNE_TRY(PartProcess process,
               PartProcess::start(options_.command(order.words, place), &desk_));
    return Lease{order.lease, order.device,       place.folder,
                 place.log,   std::move(process), Tail(file, journal.size())};
  }

  Status look_at_leases() {
    for (auto lease = leases_.begin(); lease != leases_.end();) {
      FATUNE_TRY(const HandReport report, lease->process.look());
      const std::string lines = lease->journal.next();
      if (report.state == HandReport::State::kRuns) {
        if (!lines.empty()) FATUNE_TRY_STATUS(tell(LinesMessage{lease->number}, lines));
        ++lease;
        continue;
      }
      FATUNE_TRY_STATUS(tell(EndMessage{.lease = lease->number,
                                        .reason = report.reason,
                                        .best = text_of(lease->folder / "best.json", kLargeFile),
                                        .log = text_of(lease->log, kMostLog)},
                             lines));
      std::error_code ignored;
      std::filesystem::remove_all(lease->folder, ignored);
      std::filesystem::remove(lease->log, ignored);
      lease = leases_.erase(lease);
    }
    return {};
  }

  Status send_compiled() {
    FATUNE_TRY(const auto answers, server_.pump());
    for (const CompiledMessage& answer : answers) FATUNE_TRY_STATUS(tell(answer));
    return {};
  }

  Status beat() {
    if (clock_.now_s() - beaten_s_ < kBeatEvery_s) return {};
    beaten_s_ = clock_.now_s();
    BeatMessage beat;
    for (const Lease& each : leases_)
      beat.running.push_back({each.number, each.device, each.process.said()});
    return tell(beat);
  }

  Transport& transport_;
  FleetClock& clock_;
  const AgentOptions& options_;
  HelloMessage hello_;
  std::size_t jobs_ = 1;
  ScratchFolder scratch_;
  CompileDesk desk_;
  CompileServer server_;
  std::list<Lease> leases_;  ///< ends before the folder that they write into
  double heard_s_ = 0, beaten_s_ = 0;
  bool heard_ = false;  ///< rank 0, ever
};

}  // namespace

Result<AgentEnd> run_agent(Transport& transport, FleetClock& clock, const AgentOptions& options) {
  return Agent(transport, clock, options).run();
}

}  // namespace fatune
