// read_kernel_facts.cpp - fatune.launch/1 to facts that a launch can rely on: a file may be damaged
// or made up, and a wrong extent would read and write outside of the tensors.
#include <algorithm>
#include <limits>

#include <nlohmann/json.hpp>

#include "model/wisdom/kernel_facts.hpp"

namespace fatune {
namespace {

constexpr std::string_view kFamily = "fatune.launch/";
constexpr std::string_view kSchema = "fatune.launch/1";
constexpr std::int64_t kMost32 = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMostThreads = 1024;      ///< of a block, on every architecture so far
constexpr std::int64_t kMostClusterBlocks = 16;  ///< CUDA: with the non-portable size
constexpr std::int64_t kMostBytes = std::int64_t{1} << 40;  ///< as of a tensor, see validate()
constexpr std::int64_t kMostBox = 256;                      ///< cuTensorMapEncodeTiled

Status check_schema(const Fields& facts) {
  FATUNE_TRY(const std::string schema, facts.text("schema"));
  if (schema == kSchema) return {};
  if (schema.starts_with(kFamily)) {
    return facts.error("schema", "is " + schema + ", of a newer fatune; this one reads " +
                                     std::string(kSchema) + ": export the kernel again");
  }
  return facts.error("schema", "is '" + schema + "', not " + std::string(kSchema));
}

Result<std::int64_t> whole(const Fields& fields, std::string_view key, std::int64_t least,
                           std::int64_t most) {
  FATUNE_TRY(const std::int64_t value, fields.integer(key));
  if (value >= least && value <= most) return value;
  return fields.error(key, "is " + std::to_string(value) + ", not within " + std::to_string(least) +
                               " and " + std::to_string(most));
}

template <std::size_t kCount>
Status read_list(const Fields& fields, std::string_view key, std::int64_t least, std::int64_t most,
                 std::array<std::int64_t, kCount>& target) {
  FATUNE_TRY(const Json* list, fields.value(key));
  const bool right = list->is_array() && list->size() == kCount &&
                     std::all_of(list->begin(), list->end(), [&](const Json& item) {
                       if (!item.is_number_integer()) return false;
                       const auto value = item.get<std::int64_t>();
                       return value >= least && value <= most;
                     });
  if (!right) {
    return fields.error(key, "must be " + std::to_string(kCount) + " whole numbers within " +
                                 std::to_string(least) + " and " + std::to_string(most));
  }
  std::transform(list->begin(), list->end(), target.begin(),
                 [](const Json& item) { return item.get<std::int64_t>(); });
  return {};
}

/// Of entries, scratch and tensor maps: they end up as names in programs that others write.
bool is_identifier(std::string_view text) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !text.empty() && letter(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

Result<std::string> identifier(const Fields& fields, std::string_view key) {
  FATUNE_TRY(std::string text, fields.text(key));
  if (!is_identifier(text)) return fields.error(key, "is '" + text + "', not an identifier");
  return text;
}

template <std::size_t kCount>
std::int64_t product(const std::array<std::int64_t, kCount>& values) {
  std::int64_t all = 1;
  for (const std::int64_t value : values) all *= value;
  return all;
}

Result<StageFacts> read_stage(const Fields& fields) {
  StageFacts stage;
  FATUNE_TRY(stage.entry, identifier(fields, "entry"));
  FATUNE_TRY_STATUS(read_list(fields, "grid", 1, kMost32, stage.grid));
  FATUNE_TRY_STATUS(read_list(fields, "block", 1, kMostThreads, stage.block));
  if (product(stage.block) > kMostThreads) return fields.error("block", "has over 1024 threads");
  FATUNE_TRY_STATUS(read_list(fields, "cluster", 1, kMostClusterBlocks, stage.cluster));
  for (std::size_t i = 0; i < 3; ++i) {
    if (stage.grid[i] % stage.cluster[i] != 0) {
      return fields.error("cluster", "does not divide the grid");
    }
  }
  if (product(stage.cluster) > kMostClusterBlocks) {
    return fields.error("cluster", "has over 16 blocks");
  }
  FATUNE_TRY(stage.shared_bytes, whole(fields, "shared_bytes", 0, kMost32));
  FATUNE_TRY(stage.static_shared_bytes, whole(fields, "static_shared_bytes", 0, kMost32));
  FATUNE_TRY(stage.dependent, fields.boolean_or("dependent", false));
  FATUNE_TRY(stage.arguments, fields.texts_or("arguments", {}));
  return stage;
}

Result<MapElement> read_element(const Fields& fields, Dtype dtype) {
  FATUNE_TRY(const std::string text, fields.text("element"));
  const MapElement fitting = dtype == Dtype::kF16    ? MapElement::kF16
                             : dtype == Dtype::kBf16 ? MapElement::kBf16
                                                     : MapElement::kByte;
  if (text == name(fitting)) return fitting;
  return fields.error(
      "element", "is '" + text + "', which a problem in " + std::string(name(dtype)) + " has not");
}

/// The map must cover exactly the contiguous tensor that the problem names.
Status check_extent(const Fields& fields, const TensorMapFacts& map, const Problem& problem) {
  const bool query_like = map.tensor == "q" || map.tensor == "out";
  const std::array<std::int64_t, 4> sizes = {
      problem.head_dim, query_like ? problem.seq_q : problem.seq_kv,
      query_like ? problem.heads : problem.kv_heads, problem.batch};
  if (map.sizes != sizes) {
    return fields.error("sizes", "are not those of " + map.tensor + " in the problem");
  }
  std::int64_t stride = size_of(problem.dtype);
  for (std::size_t i = 0; i < map.strides_bytes.size(); ++i) {
    stride *= sizes[i];
    if (map.strides_bytes[i] != stride) {
      return fields.error("strides_bytes", "are not those of a contiguous " + map.tensor);
    }
  }
  return {};
}

Result<TensorMapFacts> read_map(const Fields& fields, const Problem& problem) {
  TensorMapFacts map;
  FATUNE_TRY(map.name, identifier(fields, "name"));
  FATUNE_TRY(map.tensor, fields.text("tensor"));
  if (map.tensor != "q" && map.tensor != "k" && map.tensor != "v" && map.tensor != "out") {
    return fields.error("tensor", "is '" + map.tensor + "', not q, k, v or out");
  }
  FATUNE_TRY(map.element, read_element(fields, problem.dtype));
  FATUNE_TRY_STATUS(read_list(fields, "sizes", 1, kMost32, map.sizes));
  FATUNE_TRY_STATUS(read_list(fields, "strides_bytes", 1, kMostBytes, map.strides_bytes));
  FATUNE_TRY_STATUS(check_extent(fields, map, problem));
  FATUNE_TRY_STATUS(read_list(fields, "box", 1, kMostBox, map.box));
  FATUNE_TRY(const std::int64_t swizzle, whole(fields, "swizzle_bytes", 0, 128));
  if (swizzle != 0 && swizzle != 32 && swizzle != 64 && swizzle != 128) {
    return fields.error("swizzle_bytes", "must be 0, 32, 64 or 128");
  }
  map.swizzle_bytes = static_cast<int>(swizzle);
  return map;
}

/// Every argument is a tensor, a scratch or a map, and no name means two things.
Status check_arguments(const KernelFacts& facts, const Fields& root) {
  std::vector<std::string> known = {"q", "k", "v", "out", "lse"};
  const auto add = [&](const std::string& name) {
    const bool fresh = std::find(known.begin(), known.end(), name) == known.end();
    known.push_back(name);
    return fresh;
  };
  for (const ScratchFacts& scratch : facts.scratch) {
    if (!add(scratch.name)) return root.error("scratch", scratch.name + " is named twice");
  }
  for (const TensorMapFacts& map : facts.tensor_maps) {
    if (!add(map.name)) return root.error("tensor_maps", map.name + " is named twice");
  }
  for (const StageFacts& stage : facts.stages) {
    for (const std::string& argument : stage.arguments) {
      if (std::find(known.begin(), known.end(), argument) != known.end()) continue;
      return root.error("stages", "argument '" + argument + "' of " + stage.entry +
                                      " is no tensor, scratch or tensor map");
    }
  }
  return {};
}

Status read_launch(const Fields& root, KernelFacts& facts) {
  FATUNE_TRY(const std::vector<Fields> stages, root.objects_or_empty("stages"));
  if (stages.empty()) return root.error("stages", "must have at least one stage");
  for (const Fields& fields : stages) {
    FATUNE_TRY(StageFacts stage, read_stage(fields));
    facts.stages.push_back(std::move(stage));
  }
  FATUNE_TRY(const std::vector<Fields> maps, root.objects_or_empty("tensor_maps"));
  for (const Fields& fields : maps) {
    FATUNE_TRY(TensorMapFacts map, read_map(fields, facts.problem));
    facts.tensor_maps.push_back(std::move(map));
  }
  FATUNE_TRY(const std::vector<Fields> buffers, root.objects_or_empty("scratch"));
  for (const Fields& fields : buffers) {
    ScratchFacts scratch;
    FATUNE_TRY(scratch.name, identifier(fields, "name"));
    FATUNE_TRY(scratch.bytes, whole(fields, "bytes", 0, kMostBytes));
    facts.scratch.push_back(std::move(scratch));
  }
  return check_arguments(facts, root);
}

Result<CubinFacts> read_cubin(const Fields& fields) {
  CubinFacts cubin;
  FATUNE_TRY(cubin.file, fields.text("file"));
  const bool plain = !cubin.file.empty() && cubin.file.front() != '.' &&
                     cubin.file.find_first_of("/\\") == std::string::npos;
  if (!plain) return fields.error("file", "is '" + cubin.file + "', not a plain file name");
  FATUNE_TRY(cubin.sha256, fields.text("sha256"));
  const bool hex = cubin.sha256.size() == 64 &&
                   cubin.sha256.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!hex) return fields.error("sha256", "must be 64 lower-case hex digits");
  FATUNE_TRY(cubin.bytes, whole(fields, "bytes", 1, kMost32));
  return cubin;
}

Result<std::optional<MeasuredFacts>> read_measured(const Fields& root) {
  FATUNE_TRY(const Json* value, root.value("measured"));
  if (value->is_null()) return std::optional<MeasuredFacts>();
  FATUNE_TRY(const Fields fields, root.object("measured"));
  MeasuredFacts measured;
  FATUNE_TRY(measured.hot_us, fields.number("hot_us"));
  FATUNE_TRY(measured.baseline, fields.text_or("baseline", ""));
  if (fields.has("ratio")) {
    FATUNE_TRY(measured.ratio, fields.number("ratio"));
  }
  if (!fields.has("ci95_us")) return std::optional(std::move(measured));
  const Json& ci = fields.json().at("ci95_us");
  const bool pair = ci.is_array() && ci.size() == 2 && ci[0].is_number() && ci[1].is_number();
  if (!pair) return fields.error("ci95_us", "must be two numbers");
  measured.ci95_us = {ci[0].get<double>(), ci[1].get<double>()};
  return std::optional(std::move(measured));
}

Status read_origin(const Fields& root, KernelFacts& facts) {
  FATUNE_TRY(facts.fatune, root.text_or("fatune", ""));
  FATUNE_TRY(facts.verified, root.boolean_or("verified", false));
  FATUNE_TRY(facts.measured, read_measured(root));
  FATUNE_TRY(facts.recorded, root.boolean_or("recorded", false));
  FATUNE_TRY(const Fields device, root.object("device"));
  FATUNE_TRY(facts.device_name, device.text_or("name", ""));
  FATUNE_TRY(facts.driver, device.text_or("driver", ""));
  FATUNE_TRY(facts.sm_count, device.integer_or("sm_count", 0));
  FATUNE_TRY(facts.nvrtc, root.text_or("nvrtc", ""));
  FATUNE_TRY(facts.command, root.text_or("command", ""));
  return {};
}

}  // namespace

Result<KernelFacts> kernel_facts_from_json(const Json& object, const std::string& where) {
  const Fields root(object, where);
  FATUNE_TRY_STATUS(check_schema(root));
  KernelFacts facts;
  FATUNE_TRY(facts.kernel, identifier(root, "kernel"));
  FATUNE_TRY(const Fields config, root.object("config"));
  facts.config = dump(config.json());
  FATUNE_TRY(facts.id, root.text("id"));
  FATUNE_TRY(const Fields problem, root.object("problem"));
  FATUNE_TRY(facts.problem, problem_from_json(problem.json(), problem.where()));
  // Tensors, maps and the choice of a kernel are attention's; its sizes would be made up here.
  if (facts.problem.own) return problem.error("operation", "is none that can be launched");
  FATUNE_TRY(facts.arch, root.text("arch"));
  std::array<std::int64_t, 2> compute{};
  FATUNE_TRY_STATUS(read_list(root, "min_compute", 0, 99, compute));
  facts.compute_major = static_cast<int>(compute[0]);
  facts.compute_minor = static_cast<int>(compute[1]);
  FATUNE_TRY(facts.exact_compute, root.boolean_or("exact_compute", true));
  FATUNE_TRY(const Fields cubin, root.object("cubin"));
  FATUNE_TRY(facts.cubin, read_cubin(cubin));
  FATUNE_TRY_STATUS(read_launch(root, facts));
  FATUNE_TRY(facts.scale, root.number("scale"));
  FATUNE_TRY_STATUS(read_origin(root, facts));
  return facts;
}

}  // namespace fatune
