// wisdom_index.cpp - the index of a folder of wisdom: one hash over the facts, which hold the
// others.
#include "model/wisdom/wisdom_index.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/hash.hpp"

namespace fatune {
namespace {

constexpr std::string_view kFamily = "fatune.wisdom/";
constexpr std::string_view kSchema = "fatune.wisdom/1";

Status check_schema(const Fields& index) {
  FATUNE_TRY(const std::string schema, index.text("schema"));
  if (schema == kSchema) return {};
  if (schema.starts_with(kFamily)) {
    return index.error("schema", fmt::format("is {}, of a newer fatune; this one reads {}: export "
                                             "the folder again",
                                             schema, kSchema));
  }
  return index.error("schema", fmt::format("is '{}', not {}", schema, kSchema));
}

}  // namespace

std::filesystem::path wisdom_index_path(const std::filesystem::path& folder) {
  return folder / "index.json";
}

std::filesystem::path wisdom_cubin_path(const std::filesystem::path& folder,
                                        const KernelFacts& facts) {
  return folder / "cubins" / facts.cubin.file;
}

std::string write_wisdom_index(std::span<const KernelFacts> kernels, const std::string& fatune) {
  Json list = Json::array();
  for (const KernelFacts& facts : kernels) list.push_back(to_json(facts));
  const std::string sha256 = sha256_hex(dump(list));
  return dump_pretty(
      {{"schema", kSchema}, {"fatune", fatune}, {"sha256", sha256}, {"kernels", std::move(list)}});
}

Result<WisdomIndex> read_wisdom_index(std::string_view text, const std::string& where) {
  FATUNE_TRY(const Json document, parse_json(text, where));
  const Fields root(document, where);
  FATUNE_TRY_STATUS(check_schema(root));
  FATUNE_TRY(const std::string sha256, root.text("sha256"));
  FATUNE_TRY(const Json* list, root.value("kernels"));
  if (!list->is_array()) return root.error("kernels", "must be a list of launch facts");
  WisdomIndex index;
  index.intact = sha256_hex(dump(*list)) == sha256;
  if (!index.intact) return index;
  index.kernels.reserve(list->size());
  for (const Json& entry : *list) {
    const std::string place = fmt::format("{}: field 'kernels[{}]'", where, index.kernels.size());
    FATUNE_TRY(KernelFacts facts, kernel_facts_from_json(entry, place));
    index.kernels.push_back(std::move(facts));
  }
  return index;
}

}  // namespace fatune
