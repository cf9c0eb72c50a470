// warm_start.cpp: Reads best configs from files of every kind, and sorts them by distance.
#include "tune/sweep/warm_start.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "core/fields.hpp"
#include "core/log.hpp"
#include "tune/evaluate/implementations.hpp"
#include "tune/sweep/best.hpp"

namespace fatune {
namespace {

constexpr std::string_view kKnownFamily = "fatune.known/";
constexpr std::string_view kBestSchemas = "fatune.best/";

// Chosen: a problem at a smaller distance is more likely to share its best tile. The head dim
// decides most of a tile's size.
constexpr double kHeadDimWeight = 4, kMaskWeight = 1, kLayoutWeight = 0.25;
constexpr double kDtypeWeight = 1, kDtypeSizeWeight = 3;
constexpr double kArchWeight = 2, kGenerationWeight = 6;

constexpr std::size_t kKeptByPlan = 8;  // some may be invalid for the problem; chosen

double octaves(std::int64_t a, std::int64_t b) {
  return std::abs(std::log2(static_cast<double>(a)) - std::log2(static_cast<double>(b)));
}

double arch_distance(const Arch& a, const Arch& b) {
  if (a.number == b.number) return 0;
  return a.number / 10 == b.number / 10 ? kArchWeight : kGenerationWeight;
}

double dtype_distance(Dtype a, Dtype b) {
  if (a == b) return 0;
  return size_of(a) == size_of(b) ? kDtypeWeight : kDtypeSizeWeight;
}

Result<std::vector<SavedConfig>> read_known(const Json& json, const std::string& where) {
  FATUNE_TRY(KnownFile file, read_value<KnownFile>(json, where));
  for (SavedConfig& each : file.configs) each.arch = file.arch;
  return std::move(file.configs);
}

/// Finalists are sorted by rank, so the first of a kernel is its best.
void add_finalists(const BestProblem& problem, const Arch& arch, const std::string& source,
                   std::vector<SavedConfig>& known) {
  std::set<std::string> seen;
  for (const BestRow& finalist : problem.finalists) {
    if (finalist.outcome != Outcome::kMeasured || !seen.insert(finalist.kernel).second) continue;
    known.push_back(
        {finalist.kernel, finalist.config, problem.problem, problem.name, arch, source});
  }
}

Result<std::vector<SavedConfig>> read_best(const Json& json, const std::string& where) {
  FATUNE_TRY(const BestFile file, best_file_from_json(json, where));
  if (!file.device) return file_error(field_place(where, "device") + " is missing");
  std::vector<SavedConfig> known;
  for (std::size_t i = 0; i < file.problems.size(); ++i) {
    if (!file.problems[i].problem) return file_error(file.place(i, "problem") + " is missing");
    add_finalists(file.problems[i], file.device->limits.arch, where, known);
  }
  return known;
}

/// Prefers final records to search records, which are measured less precisely.
std::vector<SavedConfig> known_of(const Journal& journal, const std::string& where) {
  using Rank = std::pair<bool, double>;  // whether from the search; time
  std::map<std::pair<Problem, std::string>, std::pair<Rank, Json>> leaders;
  const auto consider = [&](const auto& record, bool searched) {
    const auto& timing = searched_timing(record, search_time(journal.header.plan.objective));
    if (record.outcome != Outcome::kMeasured || !timing || record.kernel.empty()) return;
    const Rank rank(searched, timing->median_us);
    const auto placed = leaders.try_emplace({record.problem, record.kernel});
    auto& leader = placed.first->second;
    if (placed.second || rank < leader.first) leader = {rank, record.config};
  };
  for (const Record& record : journal.records) {
    if (const auto* candidate = std::get_if<CandidateRecord>(&record)) consider(*candidate, true);
    const auto* final = std::get_if<FinalRecord>(&record);
    if (final != nullptr && !final->is_baseline()) consider(*final, false);
  }
  std::vector<SavedConfig> known;
  for (const auto& [key, leader] : leaders) {
    known.push_back(
        {key.second, leader.second, key.first, "", journal.header.environment.limits.arch, where});
  }
  return known;
}

Result<std::vector<SavedConfig>> load_file(const std::filesystem::path& path) {
  const std::string where = path.string();
  if (where.ends_with(".jsonl") || where.ends_with(".jsonl.gz")) {
    FATUNE_TRY(const Journal journal, load_journal(path));
    return known_of(journal, where);
  }
  FATUNE_TRY(const Json json, load_json(path));
  if (!json.is_object()) return file_error(where + ": is not a JSON object");
  const Fields file(json, where);
  FATUNE_TRY(const std::string schema, file.text("schema"));
  if (schema.starts_with(kKnownFamily)) return read_known(json, where);
  if (!schema.starts_with(kBestSchemas)) {
    return file.error("schema", "is '" + schema +
                                    "'; a warm start takes fatune.best/1, fatune.known/1 or a "
                                    "journal");
  }
  return read_best(json, where);
}

/// Returns best.json if there is one, else the journal; empty if both are missing.
std::filesystem::path result_in(const std::filesystem::path& folder) {
  return first_file(folder, {"best.json", "journal.jsonl", "journal.jsonl.gz"});
}

}  // namespace

/// Names all fields of a known config but the architecture.
static void entry_fields(SavedConfig& x, FieldList& f) {
  f("problem", x.problem).required();
  f("kernel", x.kernel).required();
  f("config", x.config).required().object().schema(kConfigSchema);
  f("source", x.source).required();
  f("time", x.time).about("That median_us is of");
  f("median_us", x.median_us).finite().positive();
}

void fields(KnownFile& x, FieldList& f) {
  f.document("fatune.known");
  f("arch", x.arch).required();
  f("device", x.device);
  f.as<&entry_fields>("configs", x.configs);
}

double distance(const Problem& a, const Arch& a_arch, const Problem& b, const Arch& b_arch) {
  double sizes = 0;  // for two operations, as kernels already separate them
  if (const CustomProblem* p = a.custom(), *q = b.custom(); p && q) {
    for (const NamedSize& size : p->sizes) {
      if (const NamedSize* other = find_named(q->sizes, size.name))
        sizes += octaves(size.value, other->value);
    }
  }
  if (const Attention* p = a.attention(), *q = b.attention(); p && q) {
    sizes = octaves(p->batch * p->heads, q->batch * q->heads) + octaves(p->seq_q, q->seq_q) +
            octaves(p->seq_kv, q->seq_kv) +
            kHeadDimWeight *
                octaves(p->head_dim + p->value_columns(), q->head_dim + q->value_columns()) +
            octaves(p->heads / p->kv_heads, q->heads / q->kv_heads) +
            (p->mask == q->mask ? 0 : kMaskWeight) + (p->layouts == q->layouts ? 0 : kLayoutWeight);
  }
  return sizes + dtype_distance(a.dtype(), b.dtype()) + arch_distance(a_arch, b_arch);
}

std::vector<SavedConfig> nearest_known(const std::vector<SavedConfig>& known,
                                       const std::string& kernel, const Problem& problem,
                                       const Arch& arch) {
  std::vector<std::pair<double, const SavedConfig*>> ranked;
  for (const SavedConfig& each : known) {
    if (each.kernel != kernel) continue;
    ranked.emplace_back(distance(*each.problem, each.arch, problem, arch), &each);
  }
  std::ranges::stable_sort(ranked, {}, [](const auto& each) { return each.first; });
  std::vector<SavedConfig> nearest;
  for (const auto& [away, each] : ranked) {
    if (std::ranges::find(nearest, each->config, &SavedConfig::config) == nearest.end())
      nearest.push_back(*each);
  }
  return nearest;
}

std::vector<SavedConfig> known_exactly(const std::vector<SavedConfig>& known,
                                       const std::vector<std::string>& kernels,
                                       const Problem& problem, const Arch& arch) {
  std::vector<SavedConfig> exact;
  std::ranges::copy_if(known, std::back_inserter(exact), [&](const SavedConfig& each) {
    return each.problem == problem && each.arch.number == arch.number &&
           std::ranges::count(kernels, each.kernel) > 0;
  });
  return exact;
}

void complete_configs(const std::vector<KernelRef>& kernels, std::vector<SavedConfig>& known) {
  for (SavedConfig& each : known) {
    const KernelRef kernel = kernel_named(kernels, each.kernel);
    if (!kernel) continue;
    Json config = to_json(default_config(kernel->manifest));
    for (auto& [name, value] : config.items()) {
      if (each.config.contains(name)) value = each.config.at(name);
    }
    each.config = std::move(config);
  }
}

std::vector<SavedConfig> select_warm_starts(const std::vector<SavedConfig>& known,
                                            const RunPlan& plan, const Arch& arch) {
  std::vector<SavedConfig> selected;
  const auto add = [&](const SavedConfig& each) {
    const bool again = std::ranges::any_of(selected, [&](const SavedConfig& other) {
      return same_config(other, each) && other.problem == each.problem && other.arch == each.arch;
    });
    if (!again) selected.push_back(each);
  };
  for (const NamedProblem& named : plan.problems) {
    for (const std::string& kernel : plan.kernels) {
      const auto nearest = nearest_known(known, kernel, named.problem, arch);
      for (std::size_t i = 0; i < std::min(kKeptByPlan, nearest.size()); ++i) add(nearest[i]);
    }
  }
  return selected;
}

Result<std::vector<SavedConfig>> parse_known(std::string_view text, const std::string& where) {
  FATUNE_TRY(const Json json, parse_json(text, where));
  return read_known(json, where);
}

Result<std::vector<SavedConfig>> load_known(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) return load_file(path);
  const std::filesystem::path file = result_in(path);
  if (!file.empty()) return load_file(file);
  return file_error(path.string() + ": holds neither best.json nor journal.jsonl");
}

std::vector<SavedConfig> known_of_runs(const std::filesystem::path& folder,
                                       const std::filesystem::path& own) {
  std::vector<std::filesystem::path> files;
  std::error_code failed;
  for (auto entry = std::filesystem::directory_iterator(folder, failed);
       !failed && entry != std::filesystem::directory_iterator(); entry.increment(failed)) {
    std::error_code ignored;
    if (!entry->is_directory(ignored) || std::filesystem::equivalent(entry->path(), own, ignored))
      continue;
    const std::filesystem::path file = result_in(entry->path());
    if (!file.empty()) files.push_back(file.lexically_normal());
  }
  std::ranges::sort(files);
  std::vector<SavedConfig> known;
  for (const std::filesystem::path& file : files) {
    auto loaded = load_file(file);
    if (!loaded) {
      log::debug("no warm start from " + loaded.error().message);
      continue;
    }
    // Only the folder's name is stored, so that the text is equal on other machines.
    for (SavedConfig& config : *loaded)
      config.source = file.lexically_relative(folder.parent_path()).string();
    std::move(loaded->begin(), loaded->end(), std::back_inserter(known));
  }
  return known;
}

}  // namespace fatune
