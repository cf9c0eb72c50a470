// wisdom.cpp - looks plans up, and makes them: choice, loading, and the driver's own loading.
#include "runtime/wisdom.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

using fatune::rt::check;
using fatune::rt::Choice;
using fatune::rt::DeviceFacts;
using fatune::rt::Done;
using fatune::rt::Driver;
using fatune::rt::Failure;
using fatune::rt::Outcome;
using fatune::rt::Program;
using fatune::rt::Wish;

namespace {

constexpr std::int32_t kUsualMostLaunches = 16;  ///< see fatune_rt.h

}  // namespace

namespace fatune::rt {

double scale_of(const fatune_rt_problem& problem) {
  if (problem.scale != 0) return static_cast<double>(problem.scale);
  return static_cast<double>(
      static_cast<float>(1.0 / std::sqrt(static_cast<double>(problem.head_dim))));
}

Outcome<Problem> problem_of(const fatune_rt_problem& given) {
  const auto bad = [](std::string message) -> Failure {
    return {FATUNE_RT_BAD_ARGUMENT, "problem." + std::move(message)};
  };
  if (given.dtype < FATUNE_RT_F16 || given.dtype > FATUNE_RT_E5M2) {
    return bad(fmt::format("dtype is {}, not a fatune_rt_dtype", given.dtype));
  }
  if (given.mask != FATUNE_RT_MASK_NONE && given.mask != FATUNE_RT_MASK_CAUSAL) {
    return bad(fmt::format("mask is {}, not a fatune_rt_mask", given.mask));
  }
  if (!std::isfinite(given.scale)) return bad("scale is not finite");
  const Problem problem{.batch = given.batch,
                        .heads = given.heads,
                        .kv_heads = given.kv_heads,
                        .seq_q = given.seq_q,
                        .seq_kv = given.seq_kv,
                        .head_dim = given.head_dim,
                        .dtype = static_cast<Dtype>(given.dtype),  // the numbers are the same
                        .mask = given.mask == FATUNE_RT_MASK_CAUSAL ? Mask::kCausal : Mask::kNone,
                        .lse = given.lse != 0};
  if (const Status valid = validate(problem); !valid) return bad(valid.error().message);
  return problem;
}

}  // namespace fatune::rt

bool fatune_rt::Query::operator==(const Query& other) const {
  static_assert(sizeof(problem) == 64 && sizeof(options) == 8, "no padding: bytes decide");
  return std::memcmp(&problem, &other.problem, sizeof(problem)) == 0 &&
         std::memcmp(&options, &other.options, sizeof(options)) == 0 && device == other.device;
}

std::size_t fatune_rt::QueryHash::operator()(const Query& query) const {
  static_assert(sizeof(Query) == 80, "problem, options and device, and 4 bytes of padding");
  std::array<char, sizeof(query.problem) + sizeof(query.options) + sizeof(query.device)> bytes;
  char* end = bytes.data();
  const auto add = [&end](const auto& part) {
    std::memcpy(end, &part, sizeof(part));
    end += sizeof(part);
  };
  add(query.problem);
  add(query.options);
  add(query.device);
  return std::hash<std::string_view>()({bytes.data(), bytes.size()});
}

Outcome<std::unique_ptr<fatune_rt>> fatune_rt::open(const std::filesystem::path& folder,
                                                    std::function<Outcome<SymbolSource>()> driver) {
  auto wisdom = std::make_unique<fatune_rt>();
  FATUNE_TRY(wisdom->kernels_, fatune::rt::load_wisdom(folder));
  wisdom->open_driver_ = std::move(driver);
  return wisdom;
}

Outcome<const Driver*> fatune_rt::driver() {
  if (driver_ready_.load(std::memory_order_acquire)) return &driver_;
  const std::lock_guard guard(driver_lock_);
  if (!driver_ready_.load(std::memory_order_relaxed)) {
    FATUNE_TRY(const SymbolSource symbols, open_driver_());
    FATUNE_TRY(driver_, fatune::rt::load_driver(symbols));
    driver_ready_.store(true, std::memory_order_release);
  }
  return &driver_;
}

Outcome<DeviceFacts> fatune_rt::device_facts(CUdevice device) const {
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

Outcome<const Program*> fatune_rt::program(const KernelOnDevice& place) {
  if (const auto found = programs_.find(place); found != programs_.end()) {
    return found->second.get();
  }
  FATUNE_TRY(std::unique_ptr<Program> loaded,
             Program::load(driver_, kernels_[place.first], place.second));
  return programs_.emplace(place, std::move(loaded)).first->second.get();
}

Outcome<std::unique_ptr<fatune_rt_plan>> fatune_rt::make_plan(const Query& query) {
  Wish wish;
  FATUNE_TRY(wish.problem, fatune::rt::problem_of(query.problem));
  wish.scale = fatune::rt::scale_of(query.problem);
  wish.max_launches =
      query.options.max_launches == 0 ? kUsualMostLaunches : query.options.max_launches;
  wish.unverified = query.options.allow_unverified != 0;
  if (wish.max_launches < 1) {
    return Failure{FATUNE_RT_BAD_ARGUMENT, fmt::format("options.max_launches is {}, but must be at "
                                                       "least 1, or 0 for the usual {}",
                                                       wish.max_launches, kUsualMostLaunches)};
  }
  FATUNE_TRY(const DeviceFacts device, device_facts(query.device));
  FATUNE_TRY(const Choice choice, fatune::rt::choose(kernels_, wish, device));
  auto plan = std::make_unique<fatune_rt_plan>();
  FATUNE_TRY(plan->program, program({choice.kernel, query.device}));
  plan->driver = &driver_;
  plan->kernel = choice.kernel;
  plan->device = query.device;
  plan->fit = choice.fit;
  plan->parts = fatune::rt::part_bytes(kernels_[choice.kernel].facts.problem);
  plan->lse = wish.problem.lse;
  return plan;
}

Outcome<const fatune_rt_plan*> fatune_rt::find(const fatune_rt_problem& problem,
                                               const fatune_rt_options& options) {
  Query query{problem, options, 0};
  FATUNE_TRY(const Driver* driver_table, driver());
  FATUNE_TRY(query.device, fatune::rt::current_device(*driver_table));
  {
    const std::shared_lock reading(plans_lock_);
    if (const auto found = plans_.find(query); found != plans_.end()) return found->second.get();
  }
  const std::unique_lock writing(plans_lock_);
  if (const auto found = plans_.find(query); found != plans_.end()) return found->second.get();
  FATUNE_TRY(std::unique_ptr<fatune_rt_plan> plan, make_plan(query));
  return plans_.emplace(query, std::move(plan)).first->second.get();
}

Outcome<std::size_t> fatune_rt::nearest(const fatune_rt_problem& given) const {
  FATUNE_TRY(const fatune::Problem problem, fatune::rt::problem_of(given));
  if (const auto found = fatune::rt::nearest(kernels_, problem)) return *found;
  return Failure{FATUNE_RT_NO_KERNEL, fmt::format("none of the {} kernels is for {}",
                                                  kernels_.size(), fatune::name(problem.dtype))};
}
