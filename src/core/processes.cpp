// processes.cpp: Finds the descendants of a process through /proc.
#include "core/processes.hpp"

#include <fstream>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include <unistd.h>

#include "core/text.hpp"

namespace fatune {
namespace {

namespace fs = std::filesystem;

struct ProcessFacts {
  pid_t parent = 0;
  std::int64_t resident_bytes = 0;
  bool gone = false;  ///< a zombie
};

/// Reads /proc/PID/stat. State and parent follow the name, which may contain any character.
bool read_facts(const fs::path& folder, ProcessFacts& facts) {
  std::ifstream file(folder / "stat");
  std::string text;
  // After the process has ended getline reports a failure; an istreambuf_iterator throws.
  if (!std::getline(file, text, '\0')) return false;
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return false;
  const std::vector<std::string> rest = split(text.substr(name_end + 1), ' ');
  constexpr std::size_t kState = 1, kParent = 2, kResident = 22;  // proc(5), counted after the name
  if (rest.size() <= kResident) return false;
  facts.gone = rest[kState] == "Z" || rest[kState] == "X";
  facts.parent = static_cast<pid_t>(parse_integer(rest[kParent]).value_or(0));
  facts.resident_bytes = parse_integer(rest[kResident]).value_or(0) * ::sysconf(_SC_PAGESIZE);
  return true;
}

std::map<pid_t, ProcessFacts> processes(const fs::path& proc) {
  std::map<pid_t, ProcessFacts> all;
  std::error_code failed;
  for (fs::directory_iterator entry(proc, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const auto pid = parse_integer(entry->path().filename().string());
    ProcessFacts facts;
    if (pid && read_facts(entry->path(), facts)) all[static_cast<pid_t>(*pid)] = facts;
  }
  return all;
}

}  // namespace

std::map<pid_t, std::int64_t> living_below(pid_t top, const fs::path& proc) {
  const std::map<pid_t, ProcessFacts> all = processes(proc);
  std::map<pid_t, std::int64_t> found;
  std::set<pid_t> parents = {top};
  for (bool grown = true; grown;) {
    grown = false;
    for (const auto& [pid, facts] : all) {
      if (parents.contains(pid) || !parents.contains(facts.parent)) continue;
      parents.insert(pid);
      if (!facts.gone) found[pid] = facts.resident_bytes;
      grown = true;
    }
  }
  return found;
}

}  // namespace fatune
