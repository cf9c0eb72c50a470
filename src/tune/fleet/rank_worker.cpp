// rank_worker.cpp: Turns orders of rank 0 into sweeps, and sends the new journal lines back.
#include "tune/fleet/rank_worker.hpp"

#include <algorithm>
#include <atomic>
#include <list>
#include <mutex>
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

namespace fatune {
namespace {

/// Reads the whole lines by which a file has grown.
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

/// A problem that this rank sweeps.
struct Lease {
  std::int64_t number = 0, device = 0;
  std::filesystem::path folder;
  Tail journal;
  bool dropped = false;
};

class RankWorker {
 public:
  RankWorker(Transport& transport, FleetClock& clock, const RankWorkerOptions& options)
      : transport_(transport), clock_(clock), options_(options) {
    make_ = [this](Evaluator& evaluator, const std::string&, const Say& say) -> SweepPart {
      return [this, &evaluator, say](std::size_t lease) -> Result<ProblemResult> {
        FATUNE_TRY_STATUS(options_.sweep(
            folder_of(lease), evaluator, [this, lease] { return is_dropped(lease); }, say));
        return ProblemResult();
      };
    };
  }
  ~RankWorker() {
    all_dropped_ = true;
    lanes_.clear();
  }
  RankWorker(const RankWorker&) = delete;
  RankWorker& operator=(const RankWorker&) = delete;

  Result<RankWorkerEnd> run() {
    heard_s_ = clock_.now_s();
    FATUNE_TRY_STATUS(tell(BeatMessage{}));
    hello_ = options_.hello();
    FATUNE_TRY_STATUS(tell(hello_));
    FATUNE_TRY(scratch_, ScratchFolder::make());
    for (std::size_t i = 0; i < hello_.devices.size(); ++i) {
      lanes_.push_back(std::make_unique<DeviceLane>(
          hello_.devices[i].name, [this, i] { return options_.open(hello_, i); }, make_));
    }
    for (;;) {
      if (interrupted()) return Error(ErrorKind::kInterrupted, "interrupted");
      FATUNE_TRY(const std::optional<RankWorkerEnd> end, hear());
      if (end) return *end;
      const double silence_s = clock_.now_s() - heard_s_;
      if (silence_s > options_.silence_s * (heard_ ? 1 : kGreetingTimes)) {
        return environment_error(
            fmt::format("rank 0 on {} was silent for {:.0f} s", transport_.host(0), silence_s));
      }
      FATUNE_TRY_STATUS(look_at_leases());
      FATUNE_TRY_STATUS(beat());
      clock_.pause();
    }
  }

 private:
  Status tell(const RankMessage& message, std::string_view body = {}) {
    return transport_.send(0, to_bytes(message, body));
  }

  Result<std::optional<RankWorkerEnd>> hear() {
    for (;;) {
      FATUNE_TRY(const std::optional<Parcel> parcel, transport_.poll());
      if (!parcel) return std::optional<RankWorkerEnd>();
      heard_s_ = clock_.now_s();
      heard_ = true;
      const auto read = read_message(parcel->bytes, "rank 0");
      if (!read) {  // perhaps an order: an empty message makes rank 0 withdraw the leases
        FATUNE_TRY_STATUS(transport_.send(0, ""));
      } else if (const auto* order = std::get_if<OrderMessage>(&read->message)) {
        FATUNE_TRY_STATUS(begin(*order, read->body));
      } else if (const auto* drop = std::get_if<DropMessage>(&read->message)) {
        note_drop(drop->lease);
      } else if (const auto* stop = std::get_if<StopMessage>(&read->message)) {
        return std::optional(stop->together ? RankWorkerEnd::kTogether : RankWorkerEnd::kAlone);
      }
    }
  }

  /// Reports a failure to start as the part's failure, because rank 0 may have a better host.
  Status begin(const OrderMessage& order, const std::string& journal) {
    const Status started = start(order, journal);
    if (started) return {};
    return tell(EndMessage{.lease = order.lease, .reason = started.error().message});
  }

  Status start(const OrderMessage& order, const std::string& journal) {
    const auto device = static_cast<std::size_t>(order.device);
    if (device >= lanes_.size())
      return environment_error(fmt::format("an order for device {} of {}", device, lanes_.size()));
    const auto folder = folder_of(static_cast<std::size_t>(order.lease));
    FATUNE_TRY_STATUS(write_below(folder, "journal.jsonl", journal));
    FATUNE_TRY_STATUS(lanes_[device]->begin(static_cast<std::size_t>(order.lease)));
    const std::lock_guard lock(mutex_);
    leases_.push_back(
        {order.lease, order.device, folder, Tail(folder / "journal.jsonl", journal.size())});
    return {};
  }

  std::filesystem::path folder_of(std::size_t lease) const {
    return scratch_.path() / fmt::format("lease-{}", lease);
  }

  void note_drop(std::int64_t lease) {
    const std::lock_guard lock(mutex_);
    for (Lease& each : leases_) each.dropped = each.dropped || each.number == lease;
  }
  bool is_dropped(std::size_t lease) const {
    const std::lock_guard lock(mutex_);
    return all_dropped_ || std::ranges::any_of(leases_, [&](const Lease& each) {
             return each.dropped && each.number == static_cast<std::int64_t>(lease);
           });
  }

  Status look_at_leases() {
    for (auto lease = leases_.begin(); lease != leases_.end();) {
      FATUNE_TRY(const PartReport report, lanes_[static_cast<std::size_t>(lease->device)]->look());
      const std::string lines = lease->journal.next();
      if (report.state == PartReport::State::kRuns) {
        if (!lines.empty()) FATUNE_TRY_STATUS(tell(LinesMessage{lease->number}, lines));
        ++lease;
        continue;
      }
      FATUNE_TRY_STATUS(tell(EndMessage{.lease = lease->number, .reason = report.reason}, lines));
      std::error_code ignored;
      std::filesystem::remove_all(lease->folder, ignored);
      const std::lock_guard lock(mutex_);
      lease = leases_.erase(lease);
    }
    return {};
  }

  Status beat() {
    if (clock_.now_s() - beaten_s_ < kBeatEvery_s) return {};
    beaten_s_ = clock_.now_s();
    BeatMessage beat;
    for (const Lease& each : leases_) {
      beat.running.push_back(
          {each.number, each.device, lanes_[static_cast<std::size_t>(each.device)]->said()});
    }
    return tell(beat);
  }

  Transport& transport_;
  FleetClock& clock_;
  const RankWorkerOptions& options_;
  HelloMessage hello_;
  ScratchFolder scratch_;
  MakeSweepPart make_;
  std::atomic<bool> all_dropped_ = false;
  mutable std::mutex mutex_;  ///< guards leases_, which lane threads read
  std::list<Lease> leases_;
  std::vector<std::unique_ptr<DeviceLane>> lanes_;
  double heard_s_ = 0, beaten_s_ = 0;
  bool heard_ = false;  ///< whether rank 0 has ever sent a message
};

}  // namespace

Result<RankWorkerEnd> run_rank_worker(Transport& transport, FleetClock& clock,
                                      const RankWorkerOptions& options) {
  return RankWorker(transport, clock, options).run();
}

}  // namespace fatune
