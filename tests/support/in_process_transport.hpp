// in_process_transport.hpp: Connects ranks in one process by a network that tests can cut.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "transport/transport.hpp"

namespace fatune::test {

class InProcessNetwork {
 public:
  explicit InProcessNetwork(int size) : boxes_(static_cast<std::size_t>(size)) {}
  int size() const { return static_cast<int>(boxes_.size()); }
  std::function<void(std::string& bytes)> change;  ///< what happens to messages on their way

  void send(int from, int to, std::string bytes) {
    const std::lock_guard lock(mutex_);
    if (change) change(bytes);
    std::deque<Parcel>& box = is_cut(from, to) ? held_[to] : boxes_[static_cast<std::size_t>(to)];
    box.push_back({from, std::move(bytes)});
  }
  std::optional<Parcel> poll(int rank) {
    const std::lock_guard lock(mutex_);
    std::deque<Parcel>& box = boxes_[static_cast<std::size_t>(rank)];
    if (box.empty()) return std::nullopt;
    Parcel parcel = std::move(box.front());
    box.pop_front();
    return parcel;
  }
  /// Holds back messages from and to this rank until the network is mended.
  void cut(int rank) {
    const std::lock_guard lock(mutex_);
    cut_.insert(rank);
  }
  void mend(int rank) {
    const std::lock_guard lock(mutex_);
    cut_.erase(rank);
    for (auto& [to, parcels] : held_) {
      for (Parcel& parcel : parcels) boxes_[static_cast<std::size_t>(to)].push_back(parcel);
    }
    held_.clear();
  }

 private:
  bool is_cut(int from, int to) const { return cut_.contains(from) || cut_.contains(to); }

  std::mutex mutex_;
  std::vector<std::deque<Parcel>> boxes_;
  std::map<int, std::deque<Parcel>> held_;
  std::set<int> cut_;
};

class InProcessTransport final : public Transport {
 public:
  InProcessTransport(InProcessNetwork& network, int rank) : network_(network), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return network_.size(); }
  std::string host(int rank) const override { return std::string("host-") + char('a' + rank % 26); }
  Status send(int to, std::string bytes) override {
    network_.send(rank_, to, std::move(bytes));
    return {};
  }
  Result<std::optional<Parcel>> poll() override { return network_.poll(rank_); }

 private:
  InProcessNetwork& network_;
  int rank_;
};

}  // namespace fatune::test
