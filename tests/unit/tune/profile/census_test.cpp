// census_test.cpp: Checks that SASS of any disassembler is counted by class.
#include "tune/profile/census.hpp"

#include <algorithm>

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/file.hpp"
#include "core/text.hpp"
#include "support/temporary_folder.hpp"

using namespace fatune;

namespace {

std::string data(const std::string& name) {
  return *read_file(std::string(FATUNE_TEST_DATA_DIR) + "/profile/" + name);
}

constexpr const char* kEveryClass = R"(
.text.everything:
        /*0000*/                   LDG.E.128.CONSTANT R4, desc[UR4][R2.64] ;
        /*0010*/              @!P0 LDG.E.64 R4, desc[UR4][R2.64] ;
        /*0020*/                   LDG.E R0, desc[UR4][R2.64] ;
        /*0030*/                   LDG.E.U16 R0, desc[UR4][R2.64] ;
        /*0040*/                   STG.E.128 desc[UR4][R2.64], R4 ;
        /*0050*/                   STG.E.U8 desc[UR4][R2.64], R4 ;
        /*0060*/                   LDS.U.128 R8, [R9] ;
        /*0070*/                   LDS.U16 R8, [R9] ;
        /*0080*/                   STS.64 [R9], R8 ;
        /*0090*/                   LDSM.16.MT88.4 R8, [R9] ;
        /*00a0*/                   LDGSTS.E.BYPASS.128 [R9], desc[UR4][R2.64] ;
        /*00b0*/                   HMMA.16816.F32 R8, R4, R2, R8 ;
        /*00c0*/                   HGMMA.64x64x16.F32 R24, gdesc[UR4], R24, gsb0 ;
        /*00d0*/              @UP0 UTMALDG.4D [UR8], [UR4] ;
        /*00e0*/                   MUFU.EX2 R0, R1 ;
        /*00f0*/                   MUFU.RCP R0, R1 ;
        /*0100*/                   FFMA R0, R1, R2, R3 ;
        /*0110*/                   BAR.SYNC.DEFER_BLOCKING 0x0 ;
        /*0120*/                   SYNCS.ARRIVE.TRANS64 RZ, [UR4], RZ ;
        /*0130*/                   LDL.LU R0, [R1+0x10] ;
        /*0140*/                   STL [R1+0x10], R0 ;
        /*0150*/                   EXIT ;
        /*0160*/                   NOP;
)";

}  // namespace

TEST_CASE("each instruction counts in its class, padding in none") {
  const auto found = parse_sass(kEveryClass);
  REQUIRE(found.size() == 1);
  const Census& census = found.front();
  CHECK(census.entry == "everything");
  CHECK(census.instructions == 22);
  const std::string all =
      "global_load_128 global_load_64 global_load_32 global_load_narrow global_store_128 "
      "global_store_narrow shared_load_128 shared_load_narrow shared_store_64 ldmatrix "
      "cp_async mma wgmma tma exp2 special fma barrier mbarrier spill_load spill_store";
  for (const std::string& once : split(all, ' ')) {
    INFO(once);
    CHECK(census.count(once) == 1);
  }
  CHECK(census.count("global_store_64") == 0);
}

TEST_CASE("both disassemblers' pages of one cubin give the same census") {
  const auto a = parse_sass(data("copy4.nvdisasm.txt"));
  const auto b = parse_sass(data("copy4.cuobjdump.txt"));
  CHECK(a == b);
  REQUIRE(a.size() == 2);
  CHECK(a[0].entry == "two");
  CHECK(a[1].entry == "copy4");
  CHECK(a[1].count("global_load_128") == 1);
  CHECK(a[1].count("global_store_128") == 1);
  CHECK(a[1].count("global_load_32") == 1);
  CHECK(a[1].count("barrier") == 1);
  CHECK(a[1].count("exp2") == 1);
  CHECK(to_json(a[0])["counts"]["global_store_32"] == 1);
}

TEST_CASE("lines are instructions without addresses and padding, entries and labels") {
  const auto lines = sass_lines(data("copy4.nvdisasm.txt"));
  REQUIRE(lines.size() > 12);
  CHECK(lines[0] == "two:");
  CHECK(lines[1] == "LDC R1, c[0x0][0x28]");
  CHECK(lines[9] == ".L_x_2:");
  CHECK(std::count(lines.begin(), lines.end(), "copy4:") == 1);
  CHECK(std::count(lines.begin(), lines.end(), "NOP") == 0);
  const auto bare = sass_lines(data("copy4.cuobjdump.txt"));  // has no labels
  CHECK(bare.front() == "two:");
  CHECK(sass_lines("        /*0010*/  @!P0 LDG.E R0, [R2] ;\n").empty());  // outside a function
}

TEST_CASE("text without functions has no census") {
  CHECK(parse_sass("").empty());
  CHECK(parse_sass("nvdisasm fatal   : Unsupported ELF\n").empty());
  CHECK(parse_sass("        /*0000*/  EXIT ;\n").empty());  // outside a function
}

TEST_CASE("keys of classes are unique") {
  std::vector<std::string_view> keys;
  for (const InstructionClass& each : instruction_classes()) keys.push_back(each.key);
  std::sort(keys.begin(), keys.end());
  CHECK(std::adjacent_find(keys.begin(), keys.end()) == keys.end());
}

TEST_CASE("a disassembler is run, and its failure is told") {
  const test::TemporaryFolder folder;
  const auto script = [&](const std::string& name, const std::string& body) {
    const auto path = folder / name;
    REQUIRE(replace_file(path, "#!/bin/sh\n" + body));
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  };
  const std::string page = std::string(FATUNE_TEST_DATA_DIR) + "/profile/copy4.nvdisasm.txt";
  const auto good = script("nvdisasm", "[ \"$1 $2\" = '-c a.cubin' ] && cat '" + page + "'\n");
  const auto text = disassemble(good, "a.cubin");
  REQUIRE(text);
  CHECK(parse_sass(*text).size() == 2);

  const auto bad = script("cuobjdump", "echo \"cuobjdump fatal : $1 unknown\" >&2; exit 1\n");
  const auto failure = disassemble(bad, "a.cubin");
  REQUIRE_FALSE(failure);
  CHECK(failure.error().message == bad.string() +
                                       " cannot disassemble a.cubin: cuobjdump fatal : -sass "
                                       "unknown");
  CHECK_FALSE(disassemble(folder / "nothing", "a.cubin"));
}
