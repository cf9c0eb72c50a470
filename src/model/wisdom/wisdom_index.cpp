// wisdom_index.cpp - the index of a folder of wisdom: one hash over the facts, which hold the
// others.
#include "model/wisdom/wisdom_index.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/hash.hpp"

namespace fatune {
namespace {

constexpr const char* kFamily = "fatune.wisdom";
constexpr int kVersion = 1;

}  // namespace

void fields(WisdomFile& x, FieldList& f) {
  f.document(kFamily, kVersion);
  f("fatune", x.fatune);
  f("sha256", x.sha256).looks_like("[0-9a-f]{64}").about("Of `kernels` written on one line");
  f("kernels", x.kernels);
}

std::filesystem::path wisdom_index_path(const std::filesystem::path& folder) {
  return folder / "index.json";
}

std::filesystem::path wisdom_cubin_path(const std::filesystem::path& folder,
                                        const KernelFacts& facts) {
  return folder / "cubins" / facts.cubin.file;
}

std::string write_wisdom_index(std::span<const KernelFacts> kernels, const std::string& fatune) {
  Json index = to_json(WisdomFile{fatune, "", {kernels.begin(), kernels.end()}});
  index["sha256"] = sha256_hex(dump(index["kernels"]));
  return dump_pretty(index);
}

Result<WisdomIndex> read_wisdom_index(std::string_view text, const std::string& where) {
  FATUNE_TRY(const Json document, parse_json(text, where));
  const Fields root(document, where);
  FATUNE_TRY([[maybe_unused]] const int version,
             document_version(document, where, kFamily, kVersion, kVersion));
  FATUNE_TRY(const std::string sha256, root.text("sha256"));
  FATUNE_TRY(const Json* list, root.value("kernels"));
  if (!list->is_array()) return root.error("kernels", "must be a list of launch facts");
  WisdomIndex index;
  index.intact = sha256_hex(dump(*list)) == sha256;
  if (!index.intact) return index;
  index.kernels.reserve(list->size());
  for (const Json& entry : *list) {
    const std::string place = field_place(where, fmt::format("kernels[{}]", index.kernels.size()));
    FATUNE_TRY(KernelFacts facts, from_json<KernelFacts>(entry, place));
    if (facts.problem.custom) {
      return file_error(fmt::format("{}: computes {}, but libfatune_rt launches attention alone",
                                    place, facts.problem.custom->operation));
    }
    index.kernels.push_back(std::move(facts));
  }
  return index;
}

}  // namespace fatune
