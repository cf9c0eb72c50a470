// posterior.cpp - a Cholesky factor that grows, and the columns solved with it.
#include "search/strategies/posterior.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "core/check.hpp"

namespace fatune {

void Posterior::reset(double noise) {
  noise_ = noise;
  points_.clear();
  solved_ = 0;
}

void Posterior::append(const Point& point) {
  const Index count = signed_size(points_.size());
  if (factor_.rows() <= count) {
    const Index room = std::max<Index>(64, 2 * count);
    Eigen::MatrixXd larger = Eigen::MatrixXd::Zero(room, room);
    larger.topLeftCorner(count, count) = factor_.topLeftCorner(count, count);
    factor_ = std::move(larger);
  }
  const Eigen::ArrayXXf distances = squared_distances(metric_, points_, {&point, 1});
  Eigen::VectorXd row = correlation(distances).matrix().col(0).cast<double>();
  factor_.topLeftCorner(count, count).triangularView<Eigen::Lower>().solveInPlace(row);
  factor_.row(count).head(count) = row.transpose();
  const double left = 1 + noise_ - row.squaredNorm();
  factor_(count, count) = std::sqrt(std::max(left, kLeastVariance));
  points_.push_back(point);
}

void Posterior::observe(std::span<const Point> points, std::span<const double> values) {
  FATUNE_CHECK(!values.empty() && points.size() >= values.size(), "every value has a point");
  const auto same = std::mismatch(points_.begin(), points_.end(), points.begin(), points.end());
  points_.erase(same.first, points_.end());
  solved_ = std::min(solved_, signed_size(points_.size()));
  if (points_.empty()) {
    const Eigen::ArrayXXf distances = squared_distances(metric_, points, points);
    Eigen::MatrixXd matrix = correlation(distances.cast<double>()).matrix();
    matrix.diagonal().array() += noise_;
    factor_ = Eigen::LLT<Eigen::MatrixXd>(matrix).matrixL();
    points_.assign(points.begin(), points.end());
  }
  for (const Point& point : points.subspan(points_.size())) append(point);

  const Index count = signed_size(values.size());
  surprises_ = Eigen::Map<const Eigen::VectorXd>(values.data(), count);
  mean_ = surprises_.mean();
  surprises_.array() -= mean_;
  const auto lower = factor_.topLeftCorner(count, count).triangularView<Eigen::Lower>();
  lower.solveInPlace(surprises_);
  variance_ = std::max(kLeastVariance, surprises_.squaredNorm() / static_cast<double>(count));
}

std::uint64_t Posterior::code_of(const Point& point) const {
  std::uint64_t code = 0;
  for (std::size_t i = 0; i < point.size(); ++i) code = code * axes_[i].size + point[i];
  return code;
}

/// Which of the points each column is of, the columns that are kept first: they move together.
std::vector<std::size_t> Posterior::arrange(std::span<const Point> points) {
  std::unordered_map<std::uint64_t, std::size_t> wanted;
  for (std::size_t i = 0; i < points.size(); ++i) wanted.emplace(code_of(points[i]), i);
  FATUNE_CHECK(wanted.size() == points.size(), "no point is asked about twice");
  std::vector<std::uint64_t> codes;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; solved_ > 0 && i < codes_.size(); ++i) {
    const auto found = wanted.extract(codes_[i]);
    if (found.empty()) continue;
    const Index from = signed_size(i), to = signed_size(order.size());
    if (to < from) shares_.col(to).head(solved_) = shares_.col(from).head(solved_);
    codes.push_back(codes_[i]);
    order.push_back(found.mapped());
  }
  kept_ = signed_size(order.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::uint64_t code = code_of(points[i]);
    if (!wanted.contains(code)) continue;
    codes.push_back(code);
    order.push_back(i);
  }
  codes_ = std::move(codes);
  return order;
}

void Posterior::make_room(Index columns) {
  if (shares_.rows() >= factor_.rows() && shares_.cols() >= columns) return;
  Eigen::MatrixXf larger(std::max(shares_.rows(), factor_.rows()),
                         std::max(shares_.cols(), 2 * columns));
  larger.topLeftCorner(solved_, kept_) = shares_.topLeftCorner(solved_, kept_);
  shares_ = std::move(larger);
}

/// The rows from `first_row` on of these points' columns, which lie side by side. Single precision:
/// half the time, and exact enough to rank candidates.
void Posterior::solve(std::span<const Point> points, Index first_column, Index first_row) {
  const Index rows = signed_size(points_.size()) - first_row;
  const Index columns = signed_size(points.size());
  if (rows == 0 || columns == 0) return;
  const auto observed =
      std::span<const Point>(points_).subspan(static_cast<std::size_t>(first_row));
  Eigen::MatrixXf block = correlation(squared_distances(metric_, observed, points)).matrix();
  if (first_row > 0) {
    const Eigen::MatrixXf before = factor_.block(first_row, 0, rows, first_row).cast<float>();
    block.noalias() -= before * shares_.block(0, first_column, first_row, columns);
  }
  const Eigen::MatrixXf factor = factor_.block(first_row, first_row, rows, rows).cast<float>();
  factor.triangularView<Eigen::Lower>().solveInPlace(block);
  shares_.block(first_row, first_column, rows, columns) = block;
}

std::vector<Belief> Posterior::predict(std::span<const Point> points) {
  FATUNE_CHECK(!points_.empty(), "something must have been observed");
  const std::vector<std::size_t> order = arrange(points);
  make_room(signed_size(order.size()));
  std::vector<Point> arranged;
  for (const std::size_t number : order) arranged.push_back(points[number]);
  const auto kept = static_cast<std::size_t>(kept_);
  solve(std::span(arranged).first(kept), 0, solved_);
  solve(std::span(arranged).subspan(kept), kept_, 0);
  solved_ = signed_size(points_.size());

  const auto shares = shares_.topLeftCorner(solved_, signed_size(order.size()));
  const Eigen::VectorXf surprises = surprises_.cast<float>();
  const Eigen::VectorXf means = shares.topRows(surprises.size()).transpose() * surprises;
  const Eigen::VectorXf explained = shares.colwise().squaredNorm();
  std::vector<Belief> beliefs(points.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Index column = signed_size(i);
    const double left = 1 - static_cast<double>(explained(column));
    beliefs[order[i]] = {mean_ + static_cast<double>(means(column)),
                         std::sqrt(variance_ * std::max(left, kLeastVariance))};
  }
  return beliefs;
}

}  // namespace fatune
