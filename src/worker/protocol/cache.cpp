// cache.cpp - compilations to files and back.
#include "worker/protocol/cache.hpp"

#include <system_error>

#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/file.hpp"
#include "core/hash.hpp"

namespace fatune {
namespace {

constexpr const char* kCubinSchema = "fatune.cubin/1";

}  // namespace

std::filesystem::path CubinCache::file(const std::string& key, const char* extension) const {
  return folder_ / key.substr(0, 2) / (key + extension);
}

std::optional<Compiled> CubinCache::find(const std::string& key) const {
  const auto path = file(key, ".json");
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return std::nullopt;
  const auto json = load_json(path);
  if (!json || !json->is_object()) return std::nullopt;
  const auto schema = Fields(*json, path.string()).text("schema");
  if (!schema || *schema != kCubinSchema) return std::nullopt;
  auto compiled = from_json<Compiled>(*json, path.string());
  if (!compiled) return std::nullopt;
  compiled->cubin_path.clear();
  if (compiled->ok) {
    compiled->cubin_path = file(key, ".cubin");
    const auto cubin = read_file(compiled->cubin_path);
    if (!cubin || sha256_hex(*cubin) != compiled->cubin_hash) return std::nullopt;
  }
  compiled->from_cache = true;
  compiled->seconds = 0;
  return *std::move(compiled);
}

Result<Compiled> CubinCache::store(const std::string& key, Compiled compiled,
                                   std::string_view cubin) const {
  FATUNE_TRY_STATUS(make_directories(folder_ / key.substr(0, 2)));
  if (compiled.ok) {
    compiled.cubin_path = file(key, ".cubin");
    FATUNE_TRY_STATUS(replace_file(compiled.cubin_path, cubin));
  }
  Json entry = {{"schema", kCubinSchema}};
  const Json fields = to_json(compiled);
  for (const auto& [name, value] : fields.items()) entry[name] = value;
  entry["cubin_path"] = "";  // it is beside the entry, wherever the folder is
  FATUNE_TRY_STATUS(replace_file(file(key, ".json"), dump_pretty(entry)));
  return compiled;
}

}  // namespace fatune
