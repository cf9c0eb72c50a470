// compilation.cpp: Makes compiler options and keys, reads compiler logs, and stores results.
#include "worker/protocol/compilation.hpp"

#include <algorithm>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "core/fields.hpp"
#include "core/file.hpp"
#include "core/hash.hpp"
#include "core/text.hpp"
#include "model/kernel/entry.hpp"

namespace fatune {
namespace {

/// The text between two quotes after `marker`: "function 'k'" gives k.
std::optional<std::string> quoted_after(const std::string& line, std::string_view marker) {
  std::size_t at = line.find(marker);
  if (at == std::string::npos) return std::nullopt;
  at = line.find('\'', at + marker.size());
  if (at == std::string::npos) return std::nullopt;
  const std::size_t end = line.find('\'', at + 1);
  if (end == std::string::npos) return std::nullopt;
  return line.substr(at + 1, end - at - 1);
}

/// The whole number right before `unit`, as in "272 bytes stack frame". 0 if there is none, or if
/// an int cannot hold it.
std::int64_t number_before(const std::string& line, std::string_view unit) {
  const std::size_t at = line.find(unit);
  if (at == std::string::npos) return 0;
  std::size_t end = at;
  while (end > 0 && line[end - 1] == ' ') --end;
  std::size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  const auto number = parse_integer(line.substr(begin, end - begin));
  return number && std::in_range<int>(*number) ? *number : 0;
}

void read_resources(const std::string& line, Resources& entry) {
  // Functions that the entry calls have lines of their own. Their spills count for the entry.
  entry.stack_bytes = std::max(entry.stack_bytes, number_before(line, "bytes stack frame"));
  entry.stack_bytes =
      std::max(entry.stack_bytes, number_before(line, "bytes cumulative stack size"));
  entry.spill_store_bytes += number_before(line, "bytes spill stores");
  entry.spill_load_bytes += number_before(line, "bytes spill loads");
  if (line.find(": Used ") == std::string::npos) return;
  entry.registers = static_cast<int>(number_before(line, "registers"));
  entry.static_shared_bytes = number_before(line, "bytes smem");
}

/// Spills, stack frames, and the notes C7500 to C7599 (wgmma made serial, setmaxnreg ignored, ...).
bool is_kept_warning(const std::string& line) {
  return line.starts_with("ptxas warning") || line.find("(C75") != std::string::npos;
}

/// A compilation as its file in the cache.
struct CacheEntry : Compiled {};

void fields(CacheEntry& x, FieldList& f) {
  f.document("fatune.cubin");
  fields(static_cast<Compiled&>(x), f);
}

std::string without_prefix(const std::string& line) {
  const std::size_t colon = line.find(": ");
  return colon == std::string::npos ? line : line.substr(colon + 2);
}

namespace fs = std::filesystem;

/// Chosen: the next runs need not prune again.
constexpr double kShareKept = 0.9;

/// The files of one key: an entry, machine code, or both.
struct StoredKey {
  fs::path files;  ///< without their extensions
  fs::file_time_type used = fs::file_time_type::min();
  std::uintmax_t bytes = 0;
};

/// The entries of a shard. Files with other names are not the cache's.
void add_stored(const fs::path& shard, std::vector<StoredKey>& stored) {
  std::map<std::string, StoredKey> found;
  std::error_code failed;
  for (fs::directory_iterator each(shard, failed), end; !failed && each != end;
       each.increment(failed)) {
    const fs::path& file = each->path();
    const std::string key = file.stem().string();
    const bool known = file.extension() == ".json" || file.extension() == ".cubin";
    if (!known || !matches(key, "[0-9a-f]{64}")) continue;
    std::error_code gone;
    const auto bytes = each->file_size(gone);
    const auto used = each->last_write_time(gone);
    if (gone) continue;
    StoredKey& entry = found[key];
    entry.files = shard / key;
    entry.bytes += bytes;
    entry.used = std::max(entry.used, used);
  }
  for (auto& [key, entry] : found) stored.push_back(std::move(entry));
}

}  // namespace

CompileRequest compile_request(const Candidate& candidate, const DeviceLimits& limits,
                               const std::vector<std::string>& extra_macros) {
  CompileRequest request;
  request.label = candidate.kernel->manifest.name + " " + describe(candidate.config);
  request.source = candidate.kernel->source;
  request.headers = candidate.kernel->headers;
  request.macros = macros_of(candidate, limits);
  request.macros.insert(request.macros.end(), extra_macros.begin(), extra_macros.end());
  for (const StageSpec& stage : candidate.kernel->manifest.stages)
    if (is_instance(stage.entry)) request.instances.push_back(instance_of(candidate, stage.entry));
  request.options = candidate.kernel->manifest.compiler_options;
  request.arch = limits.arch;
  request.toolkit_headers = candidate.kernel->manifest.needs_toolkit_headers;
  request.submitted = candidate.kernel->author == Author::kStranger;
  return request;
}

std::vector<std::string> code_options(const CompileRequest& request) {
  std::vector<std::string> options = {"--std=c++17", "--gpu-architecture=" + name(request.arch)};
  const auto is_language = [](std::string_view option) { return option.find("-std=") < 2; };
  if (std::ranges::any_of(request.options, is_language)) options.erase(options.begin());
  options.insert(options.end(), request.options.begin(), request.options.end());
  return options;
}

std::vector<std::string> compile_options(const CompileRequest& request) {
  std::vector<std::string> options = code_options(request);
  for (const char* report : {
           "--ptxas-options=-v",                            // registers and memory, into the log
           "--ptxas-options=--warn-on-spills",              // each in a flag of its own: NVRTC
           "--ptxas-options=--warn-on-local-memory-usage",  // refuses lists
       })
    options.emplace_back(report);
  for (const auto& macro : request.macros) options.push_back("--define-macro=" + macro);
  return options;
}

std::string cache_key(const CompileRequest& request, const std::string& compiler_identity) {
  Hasher hasher;
  hasher.add(compiler_identity).add(request.source.path).add(request.source.text);
  hasher.add(std::to_string(request.headers.size()));
  for (const auto& header : request.headers) hasher.add(header.path).add(header.text);
  for (const auto& option : compile_options(request)) hasher.add(option);
  hasher.add(request.toolkit_headers ? "toolkit headers" : "");
  if (request.submitted) hasher.add("submitted");
  for (const auto& instance : request.instances) hasher.add(instance);
  return hasher.hex();
}

std::string id_options(const Arch& arch, const std::string& compiler_identity) {
  return name(arch) + " " + compiler_identity;
}

static void fields(SourceFile& x, FieldList& f) {
  f("path", x.path).required();
  f("text", x.text).required();
}

void fields(CompileRequest& x, FieldList& f) {
  f("label", x.label).required();
  f("source", x.source).required();
  f("headers", x.headers);
  f("macros", x.macros);
  f("options", x.options).omitted();
  f("instances", x.instances).omitted();
  f("arch", x.arch).required();
  f("toolkit_headers", x.toolkit_headers);
  f("submitted", x.submitted);
}

const Resources* Compiled::resources_of(std::string_view entry) const {
  std::vector<std::string> symbols;
  for (const auto& [symbol, resources] : entries) symbols.push_back(symbol);
  const std::optional<std::string> symbol = symbol_of(entry, symbols);
  return symbol ? &entries.at(*symbol) : nullptr;
}

std::map<std::string, Resources> parse_compile_log(std::string_view log) {
  std::map<std::string, Resources> entries;
  std::vector<std::string> warnings;
  Resources* current = nullptr;
  for (const auto& line : split(log, '\n')) {
    if (is_kept_warning(line)) {
      warnings.push_back(line);
    } else if (const auto entry = quoted_after(line, "Compiling entry function")) {
      current = &entries[*entry];
    } else if (current != nullptr) {
      read_resources(line, *current);
    }
  }
  for (const auto& warning : warnings) {
    const auto function = quoted_after(warning, "function ");
    for (auto& [entry, resources] : entries) {
      const bool meant = !function || !entries.contains(*function) || *function == entry;
      if (meant) resources.warnings.push_back(without_prefix(warning));
    }
  }
  return entries;
}

void fields(Compiled& x, FieldList& f) {
  f("ok", x.ok).required();
  f("problem", x.problem).required();
  f("log", x.log).required();
  f("cubin_path", x.cubin_path).required();
  f("cubin_sha256", x.cubin_hash).required();
  f("entries", x.entries).required();
  f("seconds", x.seconds).required().finite();
  f("from_cache", x.from_cache);
}

std::filesystem::path CubinCache::name(const std::string& key, const char* extension) {
  return fs::path(key.substr(0, 2)) / (key + extension);
}

std::optional<Compiled> CubinCache::find(const std::string& key) const {
  const auto path = folder_ / name(key, ".json");
  const auto text = read_own_file(path);
  if (!text) return std::nullopt;
  const auto json = parse_json(*text, path.string());
  if (!json) return std::nullopt;
  auto entry = read_value<CacheEntry>(*json, path.string());
  if (!entry) return std::nullopt;
  entry->cubin_path.clear();
  if (entry->ok) {
    entry->cubin_path = folder_ / name(key, ".cubin");
    const auto cubin = read_own_file(entry->cubin_path);
    if (!cubin || sha256_hex(*cubin) != entry->cubin_hash) return std::nullopt;
  }
  entry->from_cache = true;
  entry->seconds = 0;
  // The time of use is for prune(). A cache that cannot be written cannot be pruned either.
  static_cast<void>(::utimensat(AT_FDCWD, path.c_str(), nullptr, 0));
  return *std::move(entry);
}

Result<Compiled> CubinCache::store(const std::string& key, Compiled compiled,
                                   std::string_view cubin) const {
  CacheEntry entry{compiled};
  entry.cubin_path.clear();  // it is beside the entry, wherever the folder is
  if (compiled.ok) {
    compiled.cubin_path = folder_ / name(key, ".cubin");
    FATUNE_TRY_STATUS(write_below(folder_, name(key, ".cubin"), cubin, Access::kPrivate));
  }
  FATUNE_TRY_STATUS(
      write_below(folder_, name(key, ".json"), dump_pretty(to_json(entry)), Access::kPrivate));
  return compiled;
}

bool is_of_a_machine(const Compiled& compiled) {
  return !compiled.ok && (compiled.log.empty() || lacks_memory(compiled));
}

bool lacks_memory(const Compiled& compiled) {
  // The words of NVRTC 13.0 and ptxas under `ulimit -v`. Without memory, ptxas gives no reason.
  constexpr std::array kSigns = {"Ptx assembly aborted", "ut of memory", "OUT_OF_MEMORY",
                                 "emory allocation", "bad_alloc"};
  return !compiled.ok && std::ranges::any_of(kSigns, [&](const char* sign) {
    return compiled.problem.find(sign) != std::string::npos;
  });
}

Reply stored_reply(const std::string& key, Compiled compiled, std::string_view cubin,
                   const WorkerOptions& options) {
  Reply reply;
  reply.compiled = std::move(compiled);
  if (is_of_a_machine(reply.compiled)) return reply;
  auto stored = CubinCache(options.cache).store(key, reply.compiled, cubin);
  if (!stored) {
    reply.cache_problem = stored.error().message;
    if (!reply.compiled.ok) return reply;
    stored = options.fallback.empty()
                 ? file_error("there is no temporary folder either")
                 : CubinCache(options.fallback).store(key, reply.compiled, cubin);
  }
  if (stored) {
    reply.compiled = *std::move(stored);
  } else {
    reply.failure = reply.cache_problem + "; " + stored.error().message;
  }
  return reply;
}

void fields(WorkerOptions& x, FieldList& f) {
  f("nvrtc", x.toolchain.nvrtc);
  f("include", x.toolchain.include_folders);
  f("cache", x.cache).required().filled();
  f("fallback", x.fallback);
}

void fields(Greeting& x, FieldList& f) {
  f("problem", x.problem).required();
  f("path", x.path).required();
  f("version", x.version).required();
  f("identity", x.identity).required();
  f("archs", x.archs).required();
}

void fields(CompileOrder& x, FieldList& f) {
  f("key", x.key).required();
  f("request", x.request).required();
}

void fields(Reply& x, FieldList& f) {
  f("compiled", x.compiled).required();
  f("cache_problem", x.cache_problem).required();
  f("failure", x.failure).required();
}

std::string unsupported_arch(const Arch& arch, const std::string& version,
                             const std::vector<int>& archs) {
  if (std::find(archs.begin(), archs.end(), arch.number) != archs.end()) return "";
  return fmt::format(
      "NVRTC {} cannot compile for {} (it knows {}); name another with --nvrtc PATH, or pip "
      "install nvidia-cuda-nvrtc",
      version, name(arch), fmt::join(archs, ", "));
}

void CubinCache::prune(std::uint64_t limit) const {
  std::vector<StoredKey> stored;
  std::error_code failed;
  for (fs::directory_iterator each(folder_, failed), end; !failed && each != end;
       each.increment(failed)) {
    if (matches(each->path().filename().string(), "[0-9a-f]{2}")) add_stored(each->path(), stored);
  }
  std::uintmax_t bytes = 0;
  for (const StoredKey& entry : stored) bytes += entry.bytes;
  if (bytes <= limit) return;
  std::ranges::sort(stored, {}, &StoredKey::used);
  for (const StoredKey& entry : stored) {
    if (static_cast<double>(bytes) <= kShareKept * static_cast<double>(limit)) return;
    // The entry goes first: without it, machine code is not found.
    for (const char* extension : {".json", ".cubin"})
      fs::remove(fs::path(entry.files) += extension, failed);
    bytes -= entry.bytes;
  }
}

}  // namespace fatune
