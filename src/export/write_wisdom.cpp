// write_wisdom.cpp: Merges kernels into an index: cubins first, the index atomically, cleanup last.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include "core/descriptor.hpp"
#include "core/file.hpp"
#include "core/interrupt.hpp"
#include "core/log.hpp"
#include "export/formats.hpp"
#include "model/wisdom/kernel_facts.hpp"

namespace fatune {
namespace {

namespace fs = std::filesystem;

Result<std::vector<KernelFacts>> kernels_there(const fs::path& folder) {
  const fs::path path = wisdom_index_path(folder);
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return std::vector<KernelFacts>();
  FATUNE_TRY(const std::string text, read_found_file(path));
  FATUNE_TRY(WisdomIndex index, read_wisdom_index(text, path.string()));
  if (index.intact) return std::move(index.kernels);
  return file_error(
      fmt::format("{}: its SHA-256 is not that of its kernels: it was changed after it was "
                  "exported. Remove the "
                  "folder, or choose another one with -o, and export all results again",
                  path.string()));
}

/// Returns the look-up key of a kernel; an index has one kernel per key.
auto look_up_key(const KernelFacts& facts) {
  return std::tuple(facts.arch, key(facts.problem), facts.scale);
}

/// Ranks kernels, smallest first: verified before unverified, then by time.
auto rank(const KernelFacts& facts) {
  return std::tuple(!facts.verified, speed_rank(facts.measured));
}

/// Returns whether facts may replace earlier facts of equal machine code without losing knowledge.
bool may_replace(const KernelFacts& later, const KernelFacts& earlier) {
  return later.verified >= earlier.verified &&
         later.measured.has_value() >= earlier.measured.has_value();
}

std::string describe(const KernelFacts& facts) {
  return fmt::format("{} {} ({}{})", facts.kernel, facts.id,
                     facts.measured ? describe_time(*facts.measured) : "not measured",
                     facts.verified ? "" : ", not verified");
}

/// Names a cubin by content, so that a new kernel never overwrites a file that a reader has open.
std::string cubin_name(const ExportedKernel& kernel) {
  return fmt::format("{}-{}-{}.cubin", kernel.name, kernel.facts.arch,
                     kernel.facts.cubin.sha256.substr(0, 8));
}

/// Adds the facts unless the existing kernel is better; returns whether the facts were added.
bool add(std::vector<KernelFacts>& kernels, KernelFacts facts) {
  const auto same = std::ranges::find(kernels, look_up_key(facts), look_up_key);
  if (same == kernels.end()) {
    kernels.push_back(std::move(facts));
    return true;
  }
  const bool again = same->cubin.sha256 == facts.cubin.sha256 && same->id == facts.id;
  if (again && may_replace(facts, *same)) {
    *same = std::move(facts);
    return true;
  }
  const bool better = rank(facts) <= rank(*same);
  const KernelFacts& winner = better ? facts : *same;
  const KernelFacts& loser = better ? *same : facts;
  log::info(fmt::format("{} on {}: {} stays, {} does not", describe(facts.problem), facts.arch,
                        describe(winner), describe(loser)));
  if (better) *same = std::move(facts);
  return better;
}

/// Locks FOLDER/.lock until the descriptor closes; a second export merges with the first's result.
Result<Descriptor> wait_for_lock(const fs::path& folder) {
  const fs::path path = folder / ".lock";
  Descriptor file = open_file(path, O_RDWR | O_CREAT | O_NOFOLLOW);
  const auto failure = [&] {
    return file_error(fmt::format("{}: cannot be locked: {}", path.string(),
                                  std::generic_category().message(errno)));
  };
  if (!file.open()) return failure();
  for (bool told = false; ::flock(file.raw(), LOCK_EX | LOCK_NB) != 0; told = true) {
    if (errno != EWOULDBLOCK && errno != EINTR) return failure();
    if (interrupted()) return Error{ErrorKind::kInterrupted, "interrupted"};
    if (!told) log::info(path.string() + ": waiting for another process to release it");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return file;
}

std::set<fs::path> cubins_of(const fs::path& folder, const std::vector<KernelFacts>& kernels) {
  std::set<fs::path> paths;
  for (const KernelFacts& facts : kernels) paths.insert(wisdom_cubin_path(folder, facts));
  return paths;
}

Status check_launchable(const ExportedKernel& kernel) {
  const std::string why = why_not_in_wisdom(kernel.facts);
  if (why.empty()) return {};
  return usage_error(
      fmt::format("--to wisdom: {} {}; export it --to header or cubin", kernel.name, why));
}

}  // namespace

Result<std::vector<fs::path>> write_wisdom(std::span<const ExportedKernel> kernels,
                                           const fs::path& folder) {
  for (const ExportedKernel& kernel : kernels) FATUNE_TRY_STATUS(check_launchable(kernel));
  FATUNE_TRY_STATUS(make_directories(folder));
  FATUNE_TRY(const Descriptor lock, wait_for_lock(folder));
  FATUNE_TRY(std::vector<KernelFacts> merged, kernels_there(folder));
  std::set<fs::path> cubins = cubins_of(folder, merged);
  std::vector<fs::path> files = {wisdom_index_path(folder)};
  std::string version;
  for (const ExportedKernel& kernel : kernels) {
    KernelFacts facts = kernel.facts;
    facts.cubin.file = cubin_name(kernel);
    version = facts.fatune;
    const fs::path path = wisdom_cubin_path(folder, facts);
    if (!add(merged, std::move(facts))) continue;
    FATUNE_TRY_STATUS(write_below(folder, path.lexically_relative(folder), kernel.cubin));
    files.push_back(path);
    cubins.insert(path);
  }
  std::ranges::sort(merged, {}, look_up_key);
  FATUNE_TRY_STATUS(
      write_below(folder, files.front().filename(), write_wisdom_index(merged, version)));
  // Removes unreferenced files of earlier exports only. A cubin that stays does no harm.
  const std::set<fs::path> named = cubins_of(folder, merged);
  std::error_code ignored;
  for (const fs::path& cubin : cubins) {
    if (!named.contains(cubin)) fs::remove(cubin, ignored);
  }
  std::erase_if(files, [](const fs::path& file) { return !fs::exists(file); });
  return files;
}

}  // namespace fatune
