// point_list.hpp - points given beforehand to a strategy that asks for them in their order.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "search/strategies/strategy.hpp"

namespace fatune {

/// Asks for each point once and learns nothing.
class PointList final : public Strategy {
 public:
  explicit PointList(std::vector<Point> points) : points_(std::move(points)) {}

  std::string_view name() const override { return "list"; }
  std::vector<Point> ask(std::size_t count) override {
    std::vector<Point> asked;
    while (asked.size() < count && next_ < points_.size()) asked.push_back(points_[next_++]);
    return asked;
  }
  void tell(const Told&) override {}

 private:
  std::vector<Point> points_;
  std::size_t next_ = 0;
};

}  // namespace fatune
