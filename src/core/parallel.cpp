// parallel.cpp - starts the threads of a range and joins them.
#include "core/parallel.hpp"

#include <algorithm>
#include <system_error>
#include <thread>
#include <vector>

namespace fatune {
namespace {

constexpr std::size_t kMostThreads = 16;  // chosen: memory is saturated by then

}  // namespace

void parallel_for(std::size_t count, std::size_t least, const RangeWork& work) {
  const std::size_t cores =
      std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, kMostThreads);
  const std::size_t pieces =
      std::clamp<std::size_t>(count / std::max<std::size_t>(least, 1), 1, cores);
  const auto start_of = [&](std::size_t piece) {
    return count / pieces * piece + std::min(piece, count % pieces);
  };
  std::vector<std::jthread> threads;
  try {
    for (std::size_t piece = pieces; piece > 1; --piece) {
      threads.emplace_back(
          [&work, begin = start_of(piece - 1), end = start_of(piece)] { work(begin, end); });
    }
  } catch (const std::system_error&) {
    // No more threads: what is left runs here.
  }
  work(0, start_of(pieces - threads.size()));
}

}  // namespace fatune
