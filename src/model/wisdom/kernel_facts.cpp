// kernel_facts.cpp: Reads and writes fatune.launch/1, and checks every value that a launch relies
// on. A file may be damaged or forged; a wrong extent would access memory outside the tensors.
#include "model/wisdom/kernel_facts.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/hash.hpp"
#include "core/text.hpp"
#include "model/problem/tensor.hpp"
#include "model/wisdom/scalar.hpp"

namespace fatune {
namespace {

constexpr const char* kWisdomFamily = "fatune.wisdom";
constexpr std::int64_t kMost32 = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMostThreads = 1024;      ///< of a block, on every architecture so far
constexpr std::int64_t kMostClusterBlocks = 16;  ///< CUDA: with the non-portable size
constexpr std::int64_t kMostBytes = std::int64_t{1} << 40;  ///< as of a tensor: validate()
constexpr std::int64_t kMostConstantBytes = 65536;          ///< CUDA: of a module
constexpr std::int64_t kMostBox = 256;                      ///< cuTensorMapEncodeTiled
constexpr std::size_t kMostTensorMaps = 256;  ///< chosen: parameters of a kernel have 4 or 32 KB
/// Restricts names of entries, scratch and tensor maps: exporters write them into programs.
constexpr const char* kIdentifier = "[A-Za-z_][A-Za-z0-9_]*";

/// Restricts expressions over run-time sizes for the same reason.
constexpr const char* kExpression = "[A-Za-z0-9_ .,+*/()-]+";

std::string cluster_fault(const StageFacts& stage) {
  for (std::size_t i = 0; i < stage.grid.size(); ++i) {
    if (stage.grid[i] % stage.cluster[i] != 0) return "does not divide the grid";
  }
  return product(stage.cluster) > kMostClusterBlocks ? "has over 16 blocks" : "";
}

std::string scratch_map_fault(const TensorMapFacts& map, const ScratchFacts& scratch, Dtype dtype) {
  double bytes = size_of(dtype);
  for (const std::int64_t size : map.sizes) bytes *= static_cast<double>(size);
  if (bytes > static_cast<double>(scratch.bytes)) return ".sizes exceed " + map.tensor;
  const TensorMapFacts wanted = scratch_map_of(map.tensor, map.sizes, dtype);
  if (map.element == wanted.element && map.strides_bytes == wanted.strides_bytes) return {};
  return fmt::format(" is not of a contiguous tensor in {}", name(dtype));
}

/// The map must cover exactly the named tensor, or at most the scratch.
std::string map_fault(const TensorMapFacts& map, const KernelFacts& facts) {
  const Attention& problem = facts.problem.as_attention();
  const auto scratch = std::ranges::find(facts.scratch, map.tensor, &ScratchFacts::name);
  if (scratch != facts.scratch.end()) return scratch_map_fault(map, *scratch, problem.dtype);
  constexpr std::array<std::string_view, 4> kMapped = {"q", "k", "v", "out"};
  if (std::ranges::count(kMapped, map.tensor) == 0)
    return ".tensor is neither q, k, v, out nor a scratch";
  const TensorMapFacts wanted = map_of(map.tensor, problem);
  if (map.element != wanted.element) {
    return fmt::format(".element is '{}', which a problem in {} has not", name(map.element),
                       name(problem.dtype));
  }
  if (map.sizes != wanted.sizes)
    return fmt::format(".sizes are not those of {} in the problem", map.tensor);
  if (map.strides_bytes == wanted.strides_bytes) return {};
  return fmt::format(".strides_bytes are not those of {} in {}", map.tensor, name(problem.layouts));
}

std::string maps_fault(const KernelFacts& facts) {
  if (facts.tensor_maps.size() > kMostTensorMaps)
    return fmt::format(" has more than {}", kMostTensorMaps);
  for (std::size_t i = 0; i < facts.tensor_maps.size(); ++i) {
    const std::string fault = map_fault(facts.tensor_maps[i], facts);
    if (!fault.empty()) return fmt::format("[{}]{}", i, fault);
  }
  return {};
}

std::size_t bytes_of_type(std::string_view word) {
  if (const auto plain = plain_type_named(word)) return plain_facts(*plain).bytes;
  const auto dtype = parse_dtype(word);
  return dtype ? static_cast<std::size_t>(size_of(*dtype)) : 0;
}

/// Every argument is a tensor, a scratch, a map or, of a custom operation, a value. Names are
/// unique. Errors begin with the field.
std::string names_fault(const KernelFacts& facts) {
  std::set<std::string> known;
  const Attention* const attention = facts.problem.attention();
  if (attention != nullptr) {
    const std::vector<std::string> tensors = attention_tensors(*attention);
    known.insert(tensors.begin(), tensors.end());
  }
  std::string fault;
  const auto add = [&](std::string_view field, const auto& list) {
    for (const auto& each : list) {
      const bool twice = !known.insert(each.name).second;
      if (twice && fault.empty()) fault = fmt::format("{} {} is named twice", field, each.name);
    }
  };
  if (attention == nullptr) add("tensors", facts.tensors);
  add("scratch", facts.scratch);
  add("tensor_maps", facts.tensor_maps);
  for (const StageFacts& stage : facts.stages) {
    for (const std::string& argument : stage.arguments) {
      if (!fault.empty() || known.contains(argument)) continue;
      if (attention == nullptr && read_scalar(argument)) continue;
      if (!facts.runtime_sizes.empty() && split_scalar(argument) && matches(argument, kExpression))
        continue;
      fault = fmt::format("stages argument '{}' of {} is no tensor, scratch or tensor map",
                          argument, stage.entry);
    }
  }
  return fault;
}

/// Each constant copies a whole input. Errors begin with the field.
std::string constants_fault(const KernelFacts& facts) {
  for (const ConstantFacts& each : facts.constants) {
    const auto tensor = std::ranges::find(facts.tensors, each.tensor, &TensorFacts::name);
    if (facts.problem.attention() || tensor == facts.tensors.end() || tensor->output)
      return fmt::format("constants tensor '{}' is no input of a custom operation", each.tensor);
    double bytes = static_cast<double>(bytes_of_type(tensor->type));
    for (const std::int64_t size : tensor->shape) bytes *= static_cast<double>(size);
    if (bytes != static_cast<double>(each.bytes))
      return fmt::format("constants {} has {} bytes, {} has {}", each.symbol, each.bytes,
                         each.tensor, bytes);
  }
  return {};
}

bool is_plain_file_name(const std::string& text) {
  return !text.empty() && text.front() != '.' && text.find_first_of("/\\") == std::string::npos;
}

}  // namespace

static constexpr std::array kMapElements = {MapElement::kF16, MapElement::kBf16, MapElement::kByte};

std::string_view name(MapElement element) {
  constexpr std::array kNames = {"f16", "bf16", "byte"};
  return kNames.at(static_cast<std::size_t>(element));
}

static MapElement element_of(Dtype dtype) {
  if (dtype == Dtype::kF16) return MapElement::kF16;
  return dtype == Dtype::kBf16 ? MapElement::kBf16 : MapElement::kByte;
}

TensorMapFacts map_of(const std::string& tensor, const Attention& problem) {
  const TensorSizes sizes = sizes_of(problem, tensor);
  const Strides strides = strides_of(problem, tensor), plain = bhsd_strides(sizes);
  TensorMapFacts map;
  map.tensor = tensor;
  const Dtype dtype = dtype_of(problem, tensor);
  map.element = element_of(dtype);
  map.sizes = {sizes.columns, sizes.rows, sizes.heads, sizes.batch};
  // A dimension of size one may have any stride: unused, but it must be aligned.
  map.strides_bytes = {sizes.rows == 1 ? plain.row : strides.row,
                       sizes.heads == 1 ? plain.head : strides.head,
                       sizes.batch == 1 ? plain.batch : strides.batch};
  for (std::int64_t& stride : map.strides_bytes) stride *= size_of(dtype);
  return map;
}

TensorMapFacts scratch_map_of(const std::string& scratch, const std::array<std::int64_t, 4>& sizes,
                              Dtype dtype) {
  TensorMapFacts map;
  map.tensor = scratch;
  map.element = element_of(dtype);
  map.sizes = sizes;
  std::int64_t stride = size_of(dtype);
  for (std::size_t i = 0; i < map.strides_bytes.size(); ++i)
    map.strides_bytes[i] = stride *= sizes[i];
  return map;
}

bool runs_on(const KernelFacts& facts, int major, int minor) {
  if (major != facts.compute_major) return false;
  return facts.exact_compute ? minor == facts.compute_minor : minor >= facts.compute_minor;
}

static Result<MapElement> parse_map_element(std::string_view text) {
  for (const MapElement each : kMapElements) {
    if (name(each) == text) return each;
  }
  return file_error(fmt::format("element '{}' is unknown; known are f16, bf16, byte", text));
}

FieldWord<MapElement> word_of(const MapElement*) { return {parse_map_element, kMapElements}; }

void fields(TensorFacts& x, FieldList& f) {
  f.record("tensor");
  f("name", x.name).required().matching(kIdentifier, "an identifier");
  f("type", x.type)
      .required()
      .one_of("f16, bf16, e4m3, e5m2, f32, f64, i8, u8, i16, u16, i32, u32, i64, u64, bool");
  f("shape", x.shape).required().filled().at_least(1);
  f("strides", x.strides).required().filled().at_least(1).about("Elements");
  f("output", x.output);
  f("filled", x.filled).omitted().about("The kernel reads this output, too");
  f("shape_expressions", x.extents)
      .omitted()
      .matching(kExpression, "an expression")
      .about("The shape over run-time sizes");
}

void fields(StageFacts& x, FieldList& f) {
  f.record("stage");
  f("entry", x.entry).required().matching(kIdentifier, "an identifier");
  f("grid", x.grid).required().range(1, kMost32).about("Blocks");
  f("grid_expressions", x.extents)
      .omitted()
      .matching(kExpression, "an expression")
      .about("The grid over run-time sizes");
  f("block", x.block).required().range(1, kMostThreads).about("Threads");
  f("cluster", x.cluster).required().range(1, kMostClusterBlocks).about("Blocks");
  f("shared_bytes", x.shared_bytes).required().range(0, kMost32).about("Dynamic");
  f("static_shared_bytes", x.static_shared_bytes).required().range(0, kMost32);
  f("dependent", x.dependent).about("Programmatic stream serialization is allowed");
  f("arguments", x.arguments)
      .about(
          "In the order of the kernel's parameters: names, or values as i32 1024, f32 0.5 and i64 "
          "n");
  f.rule("block", [&x] { return product(x.block) > kMostThreads ? "has over 1024 threads" : ""; });
  f.rule("cluster", [&x] { return cluster_fault(x); });
}

void fields(TensorMapFacts& x, FieldList& f) {
  f.record("tensor_map");
  f("name", x.name).required().matching(kIdentifier, "an identifier");
  f("tensor", x.tensor).required().matching(kIdentifier, "an identifier");
  f("element", x.element).required();
  f("sizes", x.sizes).required().range(1, kMost32);
  f("strides_bytes", x.strides_bytes).required().range(1, kMostBytes);
  f("box", x.box).required().range(1, kMostBox);
  f("swizzle_bytes", x.swizzle_bytes)
      .required()
      .schema(R"({"type":"integer","enum":[0,32,64,128]})");
  f.rule("swizzle_bytes", [&x] {
    const int bytes = x.swizzle_bytes;
    const bool known = bytes == 0 || bytes == 32 || bytes == 64 || bytes == 128;
    return known ? std::string() : fmt::format("is {}, not 0, 32, 64 or 128", bytes);
  });
}

void fields(ScratchFacts& x, FieldList& f) {
  f.record("scratch");
  f("name", x.name).required().matching(kIdentifier, "an identifier");
  f("bytes", x.bytes).required().range(0, kMostBytes);
  f("bytes_expression", x.extent)
      .omitted()
      .matching(kExpression, "an expression")
      .about("The bytes over run-time sizes");
}

void fields(ConstantFacts& x, FieldList& f) {
  f("symbol", x.symbol).required().matching("[A-Za-z_][A-Za-z0-9_:]*", "a variable's name");
  f("tensor", x.tensor).required().matching(kIdentifier, "an identifier");
  f("bytes", x.bytes).required().range(1, kMostConstantBytes);
}

void fields(CubinFacts& x, FieldList& f) {
  f("file", x.file).required();
  f("sha256", x.sha256).required().matching("[0-9a-f]{64}", "64 lower-case hex digits");
  f("bytes", x.bytes).required().range(1, kMost32);
  f.rule("file", [&x] {
    if (is_plain_file_name(x.file)) return std::string();
    return fmt::format("is '{}', not a plain file name", x.file);
  });
}

void fields(MeasuredFacts& x, FieldList& f) {
  f("hot_us", x.hot_us).required().finite().positive();
  f("ci95_us", x.ci95_us).finite().positive();
  f("baseline", x.baseline).omitted();
  f("ratio", x.ratio).finite().positive();
  f("time", x.time).about("That the ratio is of; hot unless told");
  f("us", x.us).omitted().finite().positive().about("That time");
}

std::pair<bool, double> speed_rank(const std::optional<MeasuredFacts>& measured) {
  if (!measured) return {true, std::numeric_limits<double>::infinity()};
  const bool in_layer = measured->time == Time::kInLayer && measured->us;
  return {!in_layer, in_layer ? *measured->us : measured->hot_us};
}

void fields(KernelFacts& x, FieldList& f) {
  f.record("kernel");
  f.document("fatune.launch");
  f("fatune", x.fatune);
  f("kernel", x.kernel).required().matching(kIdentifier, "an identifier");
  f.packed("config", x.config).required().object();
  f("id", x.id).required();
  f("problem", x.problem).required();
  f("arch", x.arch).required();
  f.pair("min_compute", x.compute_major, x.compute_minor).required().range(0, 99);
  f("exact_compute", x.exact_compute).about("Not on later minor versions");
  f("cubin", x.cubin).required();
  f("runtime_sizes", x.runtime_sizes)
      .omitted()
      .matching(kIdentifier, "an identifier")
      .about("Sizes of a custom operation that a launch takes, each 1 or more");
  f("tensors", x.tensors)
      .omitted()
      .about(
          "Of a custom operation, and of attention in layouts other than bhsd or with a bias, "
          "lengths, alibi or sink");
  f("stages", x.stages).required().filled();
  f("tensor_maps", x.tensor_maps);
  f("scratch", x.scratch).about("Written before it is read; aligned to 256 bytes");
  f("constants", x.constants)
      .omitted()
      .about("__constant__ variables, each filled by a copy of an input before the launches");
  f("scale", x.scale).omitted().finite().about("Of attention's scores, compiled in");
  f("verified", x.verified);
  f("own_yardstick", x.own_yardstick)
      .omitted()
      .about("Verified against the default config's outputs: there is no reference");
  f("measured", x.measured).required().or_null();
  f("recorded", x.recorded);
  f.group("device", [&x](FieldList& device) {
     device("name", x.device_name);
     device("driver", x.driver);
     device("sm_count", x.sm_count).at_least(0);
   }).required();
  f("nvrtc", x.nvrtc);
  f("command", x.command);
  f.rule("problem.operation", [&x] {
    const bool unknown = x.problem.custom() && (x.tensors.empty() || !x.tensor_maps.empty());
    return unknown ? "is none that can be launched: its tensors are not told" : "";
  });
  f.rule("scale", [&x] { return x.problem.attention() && x.scale == 0 ? "is missing" : ""; });
  f.rule_within("tensor_maps", [&x] { return maps_fault(x); });
  f.rule_within("", [&x] { return names_fault(x); });
  f.rule_within("", [&x] { return constants_fault(x); });
}

void fields(WisdomFile& x, FieldList& f) {
  f.document(kWisdomFamily);
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

std::string why_not_in_wisdom(const KernelFacts& facts) {
  const Problem& problem = facts.problem;
  if (problem.custom())
    return fmt::format("computes {}, but libfatune_rt launches attention alone",
                       operation_name(problem));
  if (problem.is(has_descales)) return "is for fp8, but libfatune_rt passes no factors";
  if (problem.is(is_fused)) return "quantizes, but libfatune_rt has no word for that";
  for (const TensorMapFacts& map : facts.tensor_maps) {
    if (std::ranges::count(facts.scratch, map.tensor, &ScratchFacts::name) > 0)
      return fmt::format("maps its scratch {}, but libfatune_rt maps tensors alone", map.tensor);
  }
  return "";
}

Result<WisdomIndex> read_wisdom_index(std::string_view text, const std::string& where) {
  FATUNE_TRY(const Json document, parse_json(text, where));
  const Fields root(document, where);
  FATUNE_TRY_STATUS(check_version(document, where, kWisdomFamily));
  FATUNE_TRY(const std::string sha256, root.text("sha256"));
  FATUNE_TRY(const Json* list, root.value("kernels"));
  if (!list->is_array()) return root.error("kernels", "must be a list of launch facts");
  WisdomIndex index;
  index.intact = sha256_hex(dump(*list)) == sha256;
  if (!index.intact) return index;
  index.kernels.reserve(list->size());
  for (const Json& entry : *list) {
    const std::string place = field_place(where, fmt::format("kernels[{}]", index.kernels.size()));
    FATUNE_TRY(KernelFacts facts, read_value<KernelFacts>(entry, place));
    if (const std::string why = why_not_in_wisdom(facts); !why.empty())
      return file_error(place + ": " + why);
    index.kernels.push_back(std::move(facts));
  }
  return index;
}

}  // namespace fatune
