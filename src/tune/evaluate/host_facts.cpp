// host_facts.cpp - asks the system for its kernel, processor and cores.
#include "tune/evaluate/host_facts.hpp"

#include <algorithm>
#include <string_view>
#include <thread>

#include <sys/utsname.h>

#include "core/file.hpp"
#include "core/text.hpp"

namespace fatune {

std::string cpu_model(const std::string& cpuinfo) {
  constexpr std::string_view kField = "model name";
  for (const std::string& line : split(cpuinfo, '\n')) {
    const std::size_t colon = line.find(':');
    if (line.starts_with(kField) && colon != std::string::npos)
      return std::string(trim(line.substr(colon + 1)));
  }
  return "";
}

std::string host_description() {
  utsname system{};
  std::string text =
      ::uname(&system) == 0 ? std::string(system.sysname) + " " + system.release : "unknown system";
  const auto cpuinfo = read_file("/proc/cpuinfo");
  const std::string model = cpuinfo ? cpu_model(*cpuinfo) : "";
  return model.empty() ? text : text + ", " + model;
}

int host_cores() { return static_cast<int>(std::max(1U, std::thread::hardware_concurrency())); }

std::string program_version() { return FATUNE_VERSION; }

}  // namespace fatune
