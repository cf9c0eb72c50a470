// kernel_names_test.cpp: Tests that names are identifiers and distinct.
#include <catch2/catch_test_macros.hpp>

#include "export/exported_kernel.hpp"

using namespace fatune;

TEST_CASE("a name tells kernel and problem") {
  Attention problem{.batch = 4, .heads = 8, .kv_heads = 8, .seq_q = 512, .seq_kv = 512};
  CHECK(export_name("fa_mma", problem) == "fa_mma_b4_h8_q512_kv512_d64_f16");
  CHECK(export_name("fa_mma", with_value_dim(*parse_shape("4,8,512,64"), 32)) ==
        "fa_mma_b4_h8_q512_kv512_d64_v32_f16");
  problem.kv_heads = 2;
  problem.mask = Mask::kCausal;
  problem.dtype = Dtype::kBf16;
  problem.lse = true;
  CHECK(export_name("my-kernel", problem) == "my_kernel_b4_h8_kvh2_q512_kv512_d64_bf16_causal_lse");
  problem.lse = false;
  problem.layouts = *parse_layouts("packed,out=bhsd");
  CHECK(export_name("fa_mma", problem) ==
        "fa_mma_b4_h8_kvh2_q512_kv512_d64_bf16_causal_packed_out_bhsd");
  problem.layouts = {};
  problem.mask = *parse_mask("causal+padding:9,0");
  problem.softcap = 50;
  problem.bias = *parse_bias("1,1,1,512:f32");
  problem.alibi = problem.sink = true;
  CHECK(export_name("fa_mma", problem) ==
        "fa_mma_b4_h8_kvh2_q512_kv512_d64_bf16_causal_padding_9_0_softcap50_bias_1_1_1_512_f32_"
        "alibi_sink");
}

TEST_CASE("equal names are numbered, and no number is given twice") {
  std::vector<std::string> names = {"a", "a_2", "a", "b", "a"};
  make_distinct(names);
  CHECK(names == std::vector<std::string>{"a", "a_2", "a_3", "b", "a_4"});
}

TEST_CASE("a chosen name must be an identifier") {
  CHECK(check_export_name("attention_2", "--name"));
  for (const char* wrong : {"", "2a", "a-b", "a.b", "../a"}) {
    const Status status = check_export_name(wrong, "--name");
    REQUIRE_FALSE(status);
    CHECK(status.error().message.starts_with("--name: '"));
  }
}

TEST_CASE("the name of a custom problem has its sizes") {
  CustomProblem problem{.operation = "rmsnorm", .sizes = {{"ROWS", 4096}, {"COLUMNS", 1024}}};
  CHECK(export_name("rms", problem) == "rms_rows4096_columns1024");
  problem.dtype = Dtype::kBf16;
  CHECK(export_name("rms", problem) == "rms_rows4096_columns1024_bf16");
}
