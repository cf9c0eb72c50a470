// candidates_test.cpp: Tests the table of all candidates.
#include <catch2/catch_test_macros.hpp>

#include "report/text/report_text.hpp"
#include "sample_candidates.hpp"

namespace fatune {
namespace {

TEST_CASE("every candidate has a row, the measured ones first and by place") {
  CHECK(candidates_table(test::sample_candidates(), Time::kHot).csv() ==
        "place,kernel,config,outcome,in_layer_median_us,hot_median_us,cold_median_us,margin,"
        "registers,shared_bytes,"
        "spill_bytes,id,reason\n"
        "1,fa_mma,TILE=64,measured,,9.800,,,128,32768,0,id64,\n"
        "1,fa_mma,TILE=256,measured,,9.810,,,,,,id256,\n"
        "3,fa_mma,TILE=16,measured,,12.000,,,,,,id16,\n"
        ",fa_mma,TILE=32,compile_error,,,,,,,,id32,\"too many registers, it said\nmore\"\n"
        ",fa_mma,TILE=128,wrong_result,,,,,,,,id128,margin 3.1\n");
}

TEST_CASE("CSV has a column for each parameter and each member of the problem") {
  std::vector<CandidateRecord> candidates = test::sample_candidates();
  candidates.resize(2);
  candidates[0].config = {{"TILE", 16}, {"REDUCE", "warp"}};
  candidates[1].config = {{"STAGES", 2}, {"TILE", 32}};
  CHECK(candidates_csv(candidates, Time::kHot) ==
        "place,kernel,batch,heads,kv_heads,seq_q,seq_kv,head_dim,dtype,mask,TILE,REDUCE,STAGES,"
        "recorded,gates,outcome,in_layer_median_us,hot_median_us,cold_median_us,margin,registers,"
        "shared_bytes,"
        "spill_bytes,id,reason\n"
        "1,fa_mma,1,1,1,1,1,64,f16,none,16,warp,,false,,measured,,12.000,,,,,,id16,\n"
        ",fa_mma,1,1,1,1,1,64,f16,none,32,,2,false,,compile_error,,,,,,,,id32,\"too many "
        "registers, it "
        "said\nmore\"\n");
  candidates[0].recorded = true;
  candidates[0].verification = Verification{.passed = true, .margin = 0.25};
  CHECK(candidates_csv(candidates, Time::kHot).find(",true,passed,measured,,12.000,,0.250,") !=
        std::string::npos);
  candidates[0].verification->skipped = true;
  CHECK(candidates_csv(candidates, Time::kHot).find(",true,skipped,measured,,12.000,,,") !=
        std::string::npos);
  candidates[0].problem.as_attention().layouts = *parse_layouts("packed");
  CHECK(candidates_csv(candidates, Time::kHot)
            .starts_with("place,kernel,batch,heads,kv_heads,seq_q,seq_kv,head_dim,dtype,mask,"
                         "layout,TILE,"));
  CHECK(
      candidates_csv(candidates, Time::kHot).find("\n1,fa_mma,1,1,1,1,1,64,f16,none,packed,16,") !=
      std::string::npos);
}

}  // namespace
}  // namespace fatune
