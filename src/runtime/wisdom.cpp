// wisdom.cpp: Finds plans and makes them: chooses a kernel, loads the driver and the kernel.
#include "runtime/wisdom.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "core/file.hpp"
#include "core/hash.hpp"
#include "core/text.hpp"
#include "model/problem/scores.hpp"

namespace fatune::rt {
namespace {

/// Limit of cached failures, 1 MB of messages, for programs whose sizes never repeat. Chosen.
constexpr std::size_t kMostMisses = 4096;

Failure tampered(const std::filesystem::path& file, const std::string& why) {
  return {FATUNE_RT_TAMPERED,
          fmt::format("{}: {}; export the folder again, or restore the file", file.string(), why)};
}

Outcome<std::string> load_cubin(const std::filesystem::path& path, const CubinFacts& wanted) {
  FATUNE_TRY(std::string cubin, read_found_file(path));
  if (cubin.size() != static_cast<std::size_t>(wanted.bytes)) {
    return tampered(path, fmt::format("has {} bytes instead of {}: it was cut or changed",
                                      cubin.size(), wanted.bytes));
  }
  if (sha256_hex(cubin) != wanted.sha256) {
    return tampered(path, "its SHA-256 is not the index's: it was changed after the export");
  }
  return cubin;
}

constexpr std::int32_t kUsualMostLaunches = 16;  ///< see fatune_rt.h

/// Returns the problem's scale; the default if it is 0.
double scale_of(const fatune_rt_problem& problem) {
  if (problem.scale != 0) return problem.scale;
  return 1.0 / std::sqrt(static_cast<double>(problem.head_dim));
}

Layout layout_of(const fatune_rt_strides& given) {
  const Strides strides{given.batch, given.head, given.row};
  return strides == Strides() ? Layout() : Layout{LayoutKind::kStrides, strides};
}

Failure bad_field(std::string_view message) {
  return {FATUNE_RT_BAD_ARGUMENT, fmt::format("problem: {}", message)};
}

/// Returns the text of a field, which may be null.
std::string_view text_of(const char* field) { return field == nullptr ? "" : field; }

/// Reads a mask, whose padding may have no numbers.
Outcome<Mask> mask_of(const fatune_rt_problem& given) {
  std::string text(text_of(given.mask));
  if (text.empty()) return Mask::kNone;
  if (text.ends_with("padding") || text.ends_with("padding-left"))
    text += fmt::format(":{}", given.seq_kv);
  const Result<Mask> mask = parse_mask(text);
  if (!mask) return bad_field(mask.error().message);
  return canonical(*mask, given.seq_q, given.seq_kv);
}

Outcome<std::optional<Bias>> bias_of(const fatune_rt_problem& given) {
  if (text_of(given.bias).empty()) return std::optional<Bias>();
  const Result<Bias> bias = parse_bias(given.bias);
  if (!bias) return bad_field(bias.error().message);
  return std::optional(*bias);
}

Outcome<std::vector<NamedTensor>> tensors_of(const fatune_rt_problem& given) {
  std::vector<NamedTensor> tensors;
  for (const std::string& text : split(text_of(given.tensors), ' ')) {
    if (text.empty()) continue;
    Result<NamedTensor> tensor = parse_declaration(text);
    if (!tensor) return bad_field(tensor.error().message);
    tensors.push_back(*std::move(tensor));
  }
  return tensors;
}

/// Converts and checks sizes and types; errors name the field.
Outcome<Attention> checked_sizes(const fatune_rt_problem& given) {
  if (given.dtype < FATUNE_RT_F16 || given.dtype > FATUNE_RT_E5M2)
    return bad_field(fmt::format("dtype is {}, not a fatune_rt_dtype", given.dtype));
  if (!std::isfinite(given.scale)) return bad_field("scale is not finite");
  Attention problem{.batch = given.batch,
                    .heads = given.heads,
                    .kv_heads = given.kv_heads,
                    .seq_q = given.seq_q,
                    .seq_kv = given.seq_kv,
                    .head_dim = given.head_dim,
                    .dtype = static_cast<Dtype>(given.dtype),  // both enums have equal numbers
                    .lse = given.lse != 0,
                    .out_dtype = default_out_dtype(static_cast<Dtype>(given.dtype)),
                    .alibi = given.alibi != 0,
                    .sink = given.sink != 0};
  if (given.value_dim != 0) problem = with_value_dim(problem, given.value_dim);
  if (given.softcap != 0) problem.softcap = given.softcap;
  if (const Status valid = validate(problem); !valid) return bad_field(valid.error().message);
  return problem;
}

/// Converts and checks a problem and names its layouts; errors name the field.
Outcome<Attention> problem_of(const fatune_rt_problem& given) {
  FATUNE_TRY(Attention problem, checked_sizes(given));
  FATUNE_TRY(problem.mask, mask_of(given));
  FATUNE_TRY(problem.bias, bias_of(given));
  FATUNE_TRY(problem.tensors, tensors_of(given));
  if (const Status set = set_score(problem, text_of(given.score)); !set)
    return bad_field(set.error().message);
  problem.layouts = {layout_of(given.q), layout_of(given.k), layout_of(given.v),
                     layout_of(given.out)};
  problem = with_named_layouts(problem);
  if (const Status valid = validate(problem); !valid) return bad_field(valid.error().message);
  return problem;
}

Outcome<std::vector<StoredKernel>> load_kernels(const std::filesystem::path& folder,
                                                const std::string& text) {
  const std::filesystem::path path = wisdom_index_path(folder);
  FATUNE_TRY(WisdomIndex index, read_wisdom_index(text, path.string()));
  if (!index.intact) {
    return tampered(path,
                    "its SHA-256 is not that of its kernels: they were changed after the "
                    "export");
  }
  std::vector<StoredKernel> kernels;
  kernels.reserve(index.kernels.size());
  for (KernelFacts& each : index.kernels) {
    FATUNE_TRY(std::string cubin, load_cubin(wisdom_cubin_path(folder, each), each.cubin));
    each.problem.as_attention().scale.reset();  // compared separately, as facts.scale
    const Attention& tuned = each.problem.as_attention();
    std::string mask = tuned.mask == Mask::kNone ? "" : name(tuned.mask);
    std::string bias = tuned.bias ? name(*tuned.bias) : "";
    std::vector<std::string> named;
    for (const NamedTensor& tensor : tuned.tensors) named.push_back(declaration_of(tensor));
    kernels.push_back(
        {std::move(each), std::move(cubin), std::move(mask), std::move(bias), join(named, " ")});
  }
  return kernels;
}

}  // namespace

Outcome<std::vector<StoredKernel>> load_wisdom(const std::filesystem::path& folder) {
  constexpr int kMostReadings = 100;  // chosen; one is enough, unless exports replace the folder
  const std::filesystem::path path = wisdom_index_path(folder);
  FATUNE_TRY(std::string text, read_found_file(path));
  for (int reading = 1;; ++reading) {
    auto kernels = load_kernels(folder, text);
    if (kernels || reading == kMostReadings) return kernels;
    FATUNE_TRY(std::string now, read_found_file(path));
    if (now == text) return kernels;
    text = std::move(now);
  }
}

/// Returns the bytes of a problem, with its texts in place of their addresses, of options and of
/// the device.
static std::string query_of(fatune_rt_problem problem, const fatune_rt_options& options,
                            CUdevice device) {
  static_assert(sizeof(problem) == 216 && sizeof(options) == 8, "no padding: bytes decide");
  std::string query;
  for (const char** text : {&problem.mask, &problem.bias, &problem.score, &problem.tensors}) {
    query += text_of(*text);
    query += '\0';
    *text = nullptr;
  }
  const auto add = [&query](const auto& part) {
    query.append(reinterpret_cast<const char*>(&part), sizeof(part));
  };
  add(problem);
  add(options);
  add(device);
  return query;
}

Outcome<std::unique_ptr<fatune_rt>> Wisdom::open(const std::filesystem::path& folder,
                                                 std::function<Outcome<SymbolSource>()> driver) {
  auto wisdom = std::make_unique<fatune_rt>();
  FATUNE_TRY(wisdom->kernels_, load_wisdom(folder));
  wisdom->open_driver_ = std::move(driver);
  return wisdom;
}

Outcome<const Driver*> Wisdom::driver() {
  if (driver_ready_.load(std::memory_order_acquire)) return &driver_;
  const std::lock_guard guard(driver_lock_);
  if (!driver_ready_.load(std::memory_order_relaxed)) {
    FATUNE_TRY(const SymbolSource symbols, open_driver_());
    FATUNE_TRY(driver_, load_driver(symbols));
    driver_ready_.store(true, std::memory_order_release);
  }
  return &driver_;
}

Outcome<DeviceFacts> Wisdom::device_facts(CUdevice device) const {
  DeviceFacts facts;
  std::array<char, 256> name{};
  FATUNE_TRY_STATUS(check(driver_,
                          driver_.device_name(name.data(), static_cast<int>(name.size()), device),
                          "cannot ask the device for its name"));
  facts.name = name.data();
  const auto ask = [&](int& value, CUdevice_attribute attribute) {
    return check(driver_, driver_.device_attribute(&value, attribute, device),
                 "cannot ask the device for its compute capability and shared memory");
  };
  FATUNE_TRY_STATUS(ask(facts.major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
  FATUNE_TRY_STATUS(ask(facts.minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  FATUNE_TRY_STATUS(
      ask(facts.most_shared_bytes, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
  return facts;
}

Outcome<const Program*> Wisdom::program(const KernelOnDevice& place) {
  if (const auto found = programs_.find(place); found != programs_.end()) {
    return found->second.get();
  }
  FATUNE_TRY(std::unique_ptr<Program> loaded,
             Program::load(driver_, kernels_[place.first], place.second));
  return programs_.emplace(place, std::move(loaded)).first->second.get();
}

Outcome<std::unique_ptr<fatune_rt_plan>> Wisdom::make_plan(const fatune_rt_problem& problem,
                                                           const fatune_rt_options& options,
                                                           CUdevice device) {
  Wish wish;
  FATUNE_TRY(wish.problem, problem_of(problem));
  wish.scale = scale_of(problem);
  wish.max_launches = options.max_launches == 0 ? kUsualMostLaunches : options.max_launches;
  wish.unverified = options.allow_unverified != 0;
  if (wish.max_launches < 1) {
    return Failure{FATUNE_RT_BAD_ARGUMENT, fmt::format("options.max_launches is {}, but must be at "
                                                       "least 1, or 0 for the usual {}",
                                                       wish.max_launches, kUsualMostLaunches)};
  }
  FATUNE_TRY(const DeviceFacts facts, device_facts(device));
  FATUNE_TRY(const Choice choice, choose(kernels_, wish, facts));
  auto plan = std::make_unique<fatune_rt_plan>();
  FATUNE_TRY(plan->program, program({choice.kernel, device}));
  plan->driver = &driver_;
  plan->kernel = choice.kernel;
  plan->device = device;
  plan->fit = choice.fit;
  plan->parts = part_bytes(kernels_[choice.kernel].facts.problem.as_attention());
  const std::vector<std::string> tensors = attention_tensors(wish.problem);
  for (std::size_t i = 0; i < kTensors; ++i)
    plan->has[i] = i == kLse ? wish.problem.lse : std::ranges::count(tensors, kTensorNames[i]) > 0;
  for (const NamedTensor& each : kernels_[choice.kernel].facts.problem.as_attention().tensors) {
    const auto& asked = wish.problem.tensors;
    const auto found = std::ranges::find(asked, each.name, &NamedTensor::name);
    plan->named.push_back(static_cast<std::size_t>(found - asked.begin()));
  }
  return plan;
}

const Outcome<const fatune_rt_plan*>* Wisdom::known(const std::string& query) const {
  const auto found = answers_.find(query);
  return found == answers_.end() ? nullptr : &found->second;
}

Outcome<const fatune_rt_plan*> Wisdom::find(const fatune_rt_problem& problem,
                                            const fatune_rt_options& options) {
  FATUNE_TRY(const Driver* driver_table, driver());
  FATUNE_TRY(const CUdevice device, current_device(*driver_table));
  const std::string query = query_of(problem, options, device);
  {
    const std::shared_lock reading(plans_lock_);
    if (const auto* answer = known(query)) return *answer;
  }
  const std::unique_lock writing(plans_lock_);
  if (const auto* answer = known(query)) return *answer;
  auto plan = make_plan(problem, options, device);
  if (plan) {
    plans_.push_back(*std::move(plan));
    return answers_.emplace(query, plans_.back().get()).first->second;
  }
  const bool lasts = plan.error().status == FATUNE_RT_NO_KERNEL;
  if (lasts && misses_++ < kMostMisses) answers_.emplace(query, plan.error());
  return plan.error();
}

Outcome<std::size_t> Wisdom::nearest(const fatune_rt_problem& given) const {
  FATUNE_TRY(const Attention problem, problem_of(given));
  if (const auto found = rt::nearest(kernels_, problem)) return *found;
  return Failure{FATUNE_RT_NO_KERNEL, fmt::format("none of the {} kernels is for {}",
                                                  kernels_.size(), name(problem.dtype))};
}

}  // namespace fatune::rt
