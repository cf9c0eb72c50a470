// known_configs_test.cpp: Compiles the tile shapes known to be best on Ampere and Ada. Each must be
// in the space, spill nothing, and fit as many CTAs on a multiprocessor as expected.
#include <algorithm>
#include <map>

#include <catch2/catch_test_macros.hpp>

#include "model/kernel/kernel.hpp"
#include "model/space/rules.hpp"
#include "model/space/space.hpp"
#include "support/pool_fixture.hpp"
#include "support/temporary_folder.hpp"

using namespace fatune;

namespace {

/// Tiles of FlashAttention 2 and 3 for head dims, masks and architectures (their launch tables).
struct Known {
  const char* arch;
  std::int64_t head_dim;
  Mask mask;
  std::int64_t block_m, block_n, warps;
  bool q_in_registers;
  const char* rescale;
  std::int64_t blocks;  ///< that a multiprocessor must hold at least
};

const Mask kFull = Mask::kNone;
const Mask kCausal = Mask::kCausal;
constexpr Known kKnown[] = {
    {"sm_80", 64, kFull, 128, 128, 4, false, "lazy", 2},
    {"sm_80", 64, kCausal, 128, 128, 4, false, "lazy", 2},
    {"sm_80", 64, kFull, 128, 112, 4, false, "lazy", 2},
    {"sm_80", 96, kFull, 128, 64, 4, false, "lazy", 2},
    {"sm_80", 128, kFull, 128, 64, 4, false, "lazy", 2},
    {"sm_80", 128, kCausal, 128, 64, 4, false, "late", 2},
    {"sm_80", 192, kFull, 128, 64, 8, false, "lazy", 1},
    {"sm_80", 192, kFull, 128, 96, 8, false, "lazy", 1},
    {"sm_80", 256, kFull, 128, 64, 8, false, "lazy", 1},
    {"sm_80", 256, kFull, 128, 96, 8, false, "lazy", 1},
    {"sm_86", 64, kFull, 128, 128, 4, false, "lazy", 2},
    {"sm_86", 96, kFull, 128, 64, 4, false, "lazy", 2},
    {"sm_86", 96, kCausal, 64, 64, 4, false, "lazy", 2},
    {"sm_86", 128, kFull, 128, 32, 4, false, "lazy", 2},
    {"sm_86", 128, kCausal, 64, 64, 4, false, "lazy", 2},
    {"sm_86", 256, kFull, 64, 64, 4, false, "lazy", 1},
    {"sm_89", 64, kFull, 128, 128, 4, false, "lazy", 2},
    {"sm_89", 128, kFull, 128, 32, 4, false, "lazy", 2},
    {"sm_89", 128, kCausal, 64, 64, 4, false, "lazy", 2},
    {"sm_89", 128, kFull, 128, 128, 8, true, "lazy", 1},
    {"sm_89", 256, kFull, 64, 64, 4, false, "lazy", 1},
};

struct KnownAttempt {
  Known known;
  Candidate candidate;
  DeviceLimits limits;
};

std::string describe(const KnownAttempt& attempt) {
  return describe(attempt.candidate.config) + " at " + describe(attempt.candidate.problem) +
         " on " + name(attempt.limits.arch);
}

void choose(Config& config, const Manifest& manifest, const std::string& name,
            const std::string& word) {
  for (std::size_t i = 0; i < config.settings.size(); ++i) {
    if (config.settings[i].name != name) continue;
    for (const Value& value : manifest.parameters[i].values) {
      if (fatune::describe(value) == word) config.settings[i].value = value;
    }
  }
}

KnownAttempt attempt_of(const KernelRef& kernel, const Known& known) {
  Attention problem{.batch = 4, .heads = 16, .kv_heads = 16, .seq_q = 2688, .seq_kv = 2688};
  problem.head_dim = known.head_dim;
  problem.mask = known.mask;
  const auto limits = typical_limits(*parse_arch(known.arch));
  REQUIRE(limits);
  const Manifest& manifest = kernel->manifest;
  Config config = default_config(manifest);
  choose(config, manifest, "BLOCK_M", std::to_string(known.block_m));
  choose(config, manifest, "BLOCK_N", std::to_string(known.block_n));
  choose(config, manifest, "NUM_WARPS", std::to_string(known.warps));
  choose(config, manifest, "Q_IN_REGS", known.q_in_registers ? "true" : "false");
  choose(config, manifest, "RESCALE", known.rescale);
  return {known, {kernel, config, problem}, *limits};
}

KernelRef fa_mma() {
  const auto kernels = embedded_kernels();
  REQUIRE(kernels);
  for (const KernelRef& kernel : *kernels) {
    if (kernel->manifest.name == "fa_mma") return kernel;
  }
  FAIL("fa_mma is not built in");
  return {};
}

/// How many blocks registers, shared memory and threads let a multiprocessor hold.
std::int64_t blocks_of(const KnownAttempt& attempt, const StagePlan& stage, const Resources& used) {
  constexpr std::int64_t kReservedShared = 1024;  // of each block, by the driver
  const std::int64_t threads = stage.block[0];
  const std::int64_t registers = (used.registers + 7) / 8 * 8 * threads;
  return std::min({attempt.limits.max_registers_sm / registers,
                   attempt.limits.max_shared_sm / (stage.shared_bytes + kReservedShared),
                   attempt.limits.max_threads_sm / threads});
}

}  // namespace

TEST_CASE("the known best tiles are in fa_mma's space, spill nothing and fit as often as known") {
  const test::TemporaryFolder folder;
  CompilePool pool = test::real_pool(folder.path());
  const KernelRef kernel = fa_mma();
  std::map<Ticket, KnownAttempt> submitted;
  for (const Known& known : kKnown) {
    KnownAttempt attempt = attempt_of(kernel, known);
    INFO(describe(attempt));
    const auto reason = infeasible_reason(attempt.candidate, attempt.limits);
    REQUIRE(reason);
    CHECK(*reason == "");
    if (!pool.check_arch(attempt.limits.arch)) continue;
    submitted.emplace(pool.submit(compile_request(attempt.candidate, attempt.limits)),
                      std::move(attempt));
  }
  for (const auto& [ticket, attempt] : submitted) {
    while (!pool.ready(ticket)) REQUIRE(pool.pump(std::chrono::seconds(1)));
    const Compiled compiled = pool.take(ticket);
    INFO(describe(attempt) << "\n" << compiled.problem << "\n" << compiled.log);
    REQUIRE(compiled.ok);
    const auto plan = launch_plan(attempt.candidate, attempt.limits);
    REQUIRE(plan);
    const Resources& used = compiled.entries.at("fa_mma");
    CHECK(used.spill_store_bytes + used.spill_load_bytes == 0);
    CHECK(used.stack_bytes == 0);
    CHECK(blocks_of(attempt, plan->stages[0], used) >= attempt.known.blocks);
  }
}
