// write_wisdom_test.cpp: Tests a wisdom folder after one export and after several.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "core/file.hpp"
#include "core/hash.hpp"
#include "export/formats.hpp"
#include "model/wisdom/kernel_facts.hpp"
#include "support/captured_stderr.hpp"
#include "support/temporary_folder.hpp"

using namespace fatune;
using Catch::Matchers::ContainsSubstring;

namespace {

const Attention kProblem{.batch = 4, .heads = 8, .kv_heads = 8, .seq_q = 512, .seq_kv = 512};

struct Kernel {
  std::string id = "first";
  double us = 10;
  double in_layer_us = 0;
  bool verified = true;
  Problem problem = kProblem;
  std::string arch = "sm_90a";
};

ExportedKernel exported(const Kernel& kernel) {
  ExportedKernel result;
  result.name = "fa_test_" + key(kernel.problem);
  result.cubin = "machine code of " + kernel.id + " for " + key(kernel.problem) + kernel.arch;
  KernelFacts& facts = result.facts;
  facts.kernel = "fa_test";
  facts.config = R"({"BLOCK_M":128})";
  facts.id = kernel.id;
  facts.problem = kernel.problem;
  facts.arch = kernel.arch;
  facts.compute_major = 9;
  facts.cubin = {result.name + ".cubin", sha256_hex(result.cubin),
                 static_cast<std::int64_t>(result.cubin.size())};
  facts.stages.emplace_back().entry = "attend";
  facts.scale = 0.125;
  facts.verified = kernel.verified;
  if (kernel.us > 0) facts.measured.emplace().hot_us = kernel.us;
  if (kernel.in_layer_us > 0) {
    facts.measured->time = Time::kInLayer;
    facts.measured->us = kernel.in_layer_us;
  }
  facts.fatune = "0.1.0";
  return result;
}

struct Folder {
  test::TemporaryFolder place;

  std::vector<std::filesystem::path> add(const std::vector<Kernel>& kernels) {
    std::vector<ExportedKernel> list;
    for (const Kernel& kernel : kernels) list.push_back(exported(kernel));
    const auto written = write_wisdom(list, place.path());
    REQUIRE(written);
    return *written;
  }
  /// The ids of the kernels, after their cubins' hashes were compared.
  std::vector<std::string> ids() const {
    const auto index = read_wisdom_index(*read_file(wisdom_index_path(place.path())), "index");
    REQUIRE(index);
    REQUIRE(index->intact);
    std::vector<std::string> ids;
    for (const KernelFacts& facts : index->kernels) {
      const auto cubin = read_file(wisdom_cubin_path(place.path(), facts));
      REQUIRE(cubin);
      REQUIRE(sha256_hex(*cubin) == facts.cubin.sha256);
      ids.push_back(facts.id);
    }
    return ids;
  }
  std::size_t cubins() const {
    const std::filesystem::directory_iterator files(place / "cubins");
    return static_cast<std::size_t>(std::distance(begin(files), end(files)));
  }
};

using Ids = std::vector<std::string>;

}  // namespace

TEST_CASE("one export makes an index and a cubin for each kernel") {
  Folder folder;
  Attention causal = kProblem;
  causal.mask = Mask::kCausal;
  const auto written = folder.add({{}, {.id = "second", .problem = causal}});
  CHECK(written.size() == 3);
  CHECK(written[0] == folder.place / "index.json");
  CHECK(folder.ids() == Ids{"second", "first"});  // by problem, whatever the order of the export
  CHECK(folder.cubins() == 2);
}

TEST_CASE("another export adds problems and architectures") {
  Folder folder;
  folder.add({{}});
  Attention other = kProblem;
  other.seq_q = other.seq_kv = 1024;
  folder.add({{.id = "longer", .problem = other}, {.id = "elsewhere", .arch = "sm_80"}});
  CHECK(folder.ids() == Ids{"elsewhere", "longer", "first"});
}

TEST_CASE("kernels whose biases differ in sizes, type or strides stay beside each other") {
  Folder folder;
  const auto biases = {"4,1,1,512", "4,1,1,512:bool", "4,1,1,512:f32",
                       "1,1,1,512", "1,8,512,512",    "1,8,512,512@0:1:4096:8"};
  for (const char* again : {"first", "second"}) {
    for (const char* bias : biases) {
      Attention problem = kProblem;
      problem.bias = *parse_bias(bias);
      folder.add({{.id = again, .problem = problem}});
    }
  }
  CHECK(folder.ids().size() == biases.size());
}

TEST_CASE("of two kernels for a problem the faster stays, and the log says so") {
  Folder folder;
  folder.add({{}});
  const std::string text = test::captured_stderr([&] {
    folder.add({{.id = "slower", .us = 11}});
    CHECK(folder.ids() == Ids{"first"});
    folder.add({{.id = "faster", .us = 9}});
    CHECK(folder.ids() == Ids{"faster"});
  });
  CHECK(folder.cubins() == 1);
  CHECK_THAT(text, ContainsSubstring("fa_test first (10.00 us) stays, fa_test slower (11.00 us)"));
  CHECK_THAT(text, ContainsSubstring("fa_test faster (9.00 us) stays, fa_test first (10.00 us)"));
}

TEST_CASE("what is faster in a layer stays, and before what has no such time") {
  Folder folder;
  folder.add({{.id = "hot", .us = 8}});
  const std::string text = test::captured_stderr([&] {
    folder.add({{.id = "slower", .us = 9, .in_layer_us = 12}});
    folder.add({{.id = "faster", .us = 10, .in_layer_us = 11}});
  });
  CHECK(folder.ids() == Ids{"faster"});
  CHECK_THAT(text, ContainsSubstring("fa_test faster (11.00 us in layer) stays, fa_test slower "
                                     "(12.00 us in layer) does not"));
}

TEST_CASE("a verified kernel stays, however fast another one is, and a measured one, too") {
  Folder folder;
  folder.add({{}});
  folder.add({{.id = "unverified", .us = 1, .verified = false}});
  CHECK(folder.ids() == Ids{"first"});
  folder.add({{.id = "unmeasured", .us = 0}});
  CHECK(folder.ids() == Ids{"first"});
}

TEST_CASE("the same machine code exported again keeps what was known of it") {
  Folder folder;
  const auto known = [&] {
    const auto index = read_wisdom_index(*read_file(wisdom_index_path(folder.place.path())), "i");
    REQUIRE(index);
    REQUIRE(index->kernels.size() == 1);
    return index->kernels[0];
  };
  folder.add({{}});
  folder.add({{.us = 0, .verified = false}});
  CHECK(known().verified);
  CHECK(known().measured->hot_us == 10);
  folder.add({{.us = 11}});  // measured once more
  CHECK(known().measured->hot_us == 11);
}

TEST_CASE("a problem that is twice in one export is once in the folder") {
  Folder folder;
  const auto written = folder.add({{}, {.id = "faster", .us = 5}, {.id = "slower", .us = 7}});
  CHECK(written.size() == 2);
  CHECK(folder.ids() == Ids{"faster"});
  CHECK(folder.cubins() == 1);
}

TEST_CASE("machine code that is no wisdom's is left alone") {
  Folder folder;
  REQUIRE(make_directories(folder.place / "cubins"));
  REQUIRE(replace_file(folder.place / "cubins" / "mine.cubin", "of another program"));
  folder.add({{}});
  folder.add({{.id = "faster", .us = 9}});
  CHECK(folder.ids() == Ids{"faster"});
  CHECK(folder.cubins() == 2);
  CHECK(*read_file(folder.place / "cubins" / "mine.cubin") == "of another program");
}

TEST_CASE("the same kernel again changes nothing") {
  Folder folder;
  folder.add({{}});
  const std::string before = *read_file(folder.place / "index.json");
  folder.add({{}});
  CHECK(*read_file(folder.place / "index.json") == before);
  CHECK(folder.cubins() == 1);
}

TEST_CASE("an index that was changed or cut is not built upon") {
  Folder folder;
  folder.add({{}});
  std::string text = *read_file(folder.place / "index.json");
  SECTION("changed") {
    text.replace(text.find("\"hot_us\": 10"), 12, "\"hot_us\": 11");
    REQUIRE(replace_file(folder.place / "index.json", text));
    const auto written = write_wisdom(std::vector{exported({})}, folder.place.path());
    REQUIRE_FALSE(written);
    CHECK_THAT(written.error().message,
               ContainsSubstring("index.json") && ContainsSubstring("SHA-256"));
  }
  SECTION("cut") {
    REQUIRE(replace_file(folder.place / "index.json", text.substr(0, text.size() / 2)));
    const auto written = write_wisdom(std::vector{exported({})}, folder.place.path());
    REQUIRE_FALSE(written);
    CHECK_THAT(written.error().message, ContainsSubstring("not valid JSON"));
  }
}

TEST_CASE("a kernel of a custom operation is not for libfatune_rt") {
  const test::TemporaryFolder folder;
  const CustomProblem problem{.operation = "rmsnorm", .sizes = {{"ROWS", 8}}};
  const std::vector<ExportedKernel> kernels = {exported({.problem = problem})};
  const auto written = write_wisdom(kernels, folder.path());
  REQUIRE_FALSE(written);
  CHECK_THAT(written.error().message,
             ContainsSubstring("computes rmsnorm, but libfatune_rt launches attention alone"));
}
