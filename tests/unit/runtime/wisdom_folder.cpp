// wisdom_folder.cpp: Writes folders of wisdom for tests.
#include "wisdom_folder.hpp"

#include <set>
#include <utility>

#include "core/file.hpp"
#include "core/hash.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "model/problem/tensor.hpp"
#include "model/wisdom/kernel_facts.hpp"

namespace fatune::test {
namespace {

std::string cubin_of(const KernelFacts& facts) {
  return "machine code of " + facts.kernel + " for " + describe(facts.problem) + " on " +
         facts.arch;
}

TensorMapFacts placed_map(const std::string& tensor, const Attention& p) {
  TensorMapFacts map = map_of(tensor, p);
  map.name = "map_" + tensor;
  map.box = {64, 16, 1, 1};
  map.swizzle_bytes = 128;
  return map;
}

}  // namespace

fatune_rt_problem c_problem(const Attention& p) {
  static std::set<std::string> texts;  // as long as any problem
  const auto kept = [](const std::string& text) {
    return text.empty() ? nullptr : texts.insert(text).first->c_str();
  };
  const auto strides = [&p](const char* tensor) -> fatune_rt_strides {
    if (p.layouts.plain()) return {};
    const Strides told = strides_of(p, tensor);
    return {told.batch, told.head, told.row};
  };
  std::vector<std::string> declarations;
  for (const NamedTensor& each : p.tensors) declarations.push_back(declaration_of(each));
  return {p.batch,
          p.heads,
          p.kv_heads,
          p.seq_q,
          p.seq_kv,
          p.head_dim,
          static_cast<std::int32_t>(p.dtype),
          p.lse ? 1 : 0,
          kept(p.mask == Mask::kNone ? "" : name(p.mask)),
          kept(p.bias ? name(*p.bias) : ""),
          kept(p.score),
          kept(join(declarations, " ")),
          p.softcap.value_or(0),
          0,
          p.value_dim.value_or(0),
          p.alibi ? 1 : 0,
          p.sink ? 1 : 0,
          strides("q"),
          strides("k"),
          strides("v"),
          strides("out")};
}

KernelFacts facts_of(const Attention& p) {
  KernelFacts facts;
  facts.kernel = "fa_test";
  facts.config = R"({"BLOCK_M":128})";
  facts.id = "0123456789abcdef";
  facts.problem = p;
  facts.arch = "sm_90a";
  facts.compute_major = 9;
  facts.exact_compute = true;
  StageFacts stage;
  stage.entry = "attend";
  stage.grid = {p.batch * p.heads, 1, 1};
  stage.block = {128, 1, 1};
  stage.arguments = {"q", "k", "v", "out", "lse"};
  for (const TensorPlan& each : optional_tensors(p)) {
    stage.entry += "_more";
    stage.arguments.push_back(each.name);
  }
  facts.stages.push_back(std::move(stage));
  facts.scale = 0.125;
  facts.verified = true;
  facts.measured.emplace().hot_us = 10;
  facts.device_name = "NVIDIA H200";
  facts.fatune = "0.1.0";
  facts.command = "fatune sweep";
  return stored(std::move(facts)).facts;
}

KernelFacts elaborate_facts(const Attention& p) {
  KernelFacts facts = facts_of(p);
  facts.kernel = "fa_elaborate";
  facts.tensor_maps = {placed_map("q", p), placed_map("k", p), placed_map("v", p),
                       placed_map("out", p)};
  facts.scratch = {{"partial", 1000}, {"stats", 300}};
  StageFacts& first = facts.stages[0];
  first.grid = {4, 2, 1};
  first.cluster = {2, 1, 1};
  first.shared_bytes = 100000;
  first.dependent = true;
  first.arguments = {"map_q", "map_k", "map_v", "partial", "stats"};
  StageFacts second;
  second.entry = "combine";
  second.grid = {16, 1, 1};
  second.cluster = {16, 1, 1};
  second.block = {64, 2, 1};
  second.arguments = {"stats", "partial", "map_out", "lse"};
  facts.stages.push_back(std::move(second));
  return stored(std::move(facts)).facts;
}

rt::StoredKernel stored(KernelFacts facts) {
  std::string cubin = cubin_of(facts);
  facts.cubin = {sha256_hex(cubin).substr(0, 16) + ".cubin", sha256_hex(cubin),
                 static_cast<std::int64_t>(cubin.size())};
  return {std::move(facts), std::move(cubin)};
}

void write_folder(const std::filesystem::path& folder, const std::vector<KernelFacts>& kernels) {
  std::vector<KernelFacts> listed;
  FATUNE_CHECK(make_directories(folder / "cubins"), "tests can write temporary files");
  for (const KernelFacts& facts : kernels) {
    const rt::StoredKernel kernel = stored(facts);
    const auto path = wisdom_cubin_path(folder, kernel.facts);
    FATUNE_CHECK(replace_file(path, kernel.cubin), "tests can write temporary files");
    listed.push_back(kernel.facts);
  }
  const std::string index = write_wisdom_index(listed, "0.1.0");
  FATUNE_CHECK(replace_file(wisdom_index_path(folder), index), "tests can write temporary files");
}

std::unique_ptr<fatune_rt> open_folder(const std::filesystem::path& folder, FakeDriver& driver) {
  using Address = CUdeviceptr;
  driver.define("attend", std::function([](Address, Address, Address, Address, Address) {}));
  driver.define("attend_more",
                std::function([](Address, Address, Address, Address, Address, Address) {}));
  driver.define("attend_more_more", std::function([](Address, Address, Address, Address, Address,
                                                     Address, Address) {}));
  driver.define("attend_more_more_more", std::function([](Address, Address, Address, Address,
                                                          Address, Address, Address, Address) {}));
  driver.define("combine", std::function([](Address, Address, Address, Address) {}));
  auto opened = fatune_rt::open(folder, [&] { return rt::Outcome(driver.symbols()); });
  FATUNE_CHECK(static_cast<bool>(opened), "a folder of the tests can be opened");
  return *std::move(opened);
}

}  // namespace fatune::test
