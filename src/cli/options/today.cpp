// today.cpp - the system's clock to a date.
#include "cli/options/today.hpp"

#include <chrono>
#include <ctime>

namespace fatune::cli {

std::string today() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm local{};
  localtime_r(&now, &local);
  char text[16];
  return std::string(text, std::strftime(text, sizeof text, "%Y-%m-%d", &local));
}

}  // namespace fatune::cli
