// bias_test.cpp: Checks texts of the tensor that is added to scores, what is refused, and its form
// at other sizes.
#include "model/problem/bias.hpp"

#include <catch2/catch_test_macros.hpp>

#include "model/problem/problem.hpp"
#include "model/problem/tensor.hpp"

namespace fatune {
namespace {

Attention t5() { return {.batch = 2, .heads = 4, .kv_heads = 4, .seq_q = 32, .seq_kv = 48}; }

std::string fault_of(std::string_view text) {
  Attention problem = t5();
  const auto bias = parse_bias(text);
  if (!bias) return bias.error().message;
  problem.bias = *bias;
  return bias_fault(problem);
}

}  // namespace

TEST_CASE("a bias's name is read back as the same bias") {
  for (const std::string_view text :
       {"1,16,512,512", "32,1,1,128:bool", "1,16,512,512:f32@0:1:8192:16", "2,4,8,8@512:64:8:1"}) {
    const Bias bias = *parse_bias(text);
    CHECK(*parse_bias(name(bias)) == bias);
  }
  CHECK(name(*parse_bias("1,4,8,8@0:64:8:1")) == "1,4,8,8");
  CHECK(slug(*parse_bias("1,1,1,8:bool")) == "1-1-1-8-bool");
}

TEST_CASE("a wrong bias is refused with what would be right") {
  CHECK(fault_of("1,4,32") ==
        "bias '1,4,32' is no shape batch,heads,seq_q,seq_kv: four whole numbers of at least 1");
  CHECK(fault_of("1,4,32,48:f64") == "bias type 'f64' is not one of input, f32, bool");
  CHECK(fault_of("1,3,32,48") == "bias 1,3,32,48 has 3 heads, but must have 4 or 1");
  CHECK(fault_of("1,1,32,1") == "bias 1,1,32,1 has 1 seq_kv, but must have 48");
  CHECK(fault_of("1,1,32,48@0:0:48:0") == "bias 1,1,32,48@0:0:48:0 has keys in one place");
  CHECK(fault_of("2,4,32,48@6144:1536:47:1") ==
        "bias 2,4,32,48@6144:1536:47:1 has several elements in one place");
  CHECK(fault_of("1,1,32,48@0:0:1099511627776:1") == "bias would be larger than 1 TiB");
  CHECK(fault_of("1,4,32,48@0:8589934592:48:1").empty());
  CHECK(name(*parse_bias("2,4,32,48@0:1536:48:1")) == "1,4,32,48");
  CHECK(fault_of("1,1,32,48").empty());
  CHECK(fault_of("2,4,1,48:f32").empty());
}

TEST_CASE("at other sizes a bias keeps what it broadcasts and its order in memory") {
  Attention from = t5(), to = t5();
  to.batch = 3, to.heads = to.kv_heads = 2, to.seq_q = 5, to.seq_kv = 7;
  const auto at = [&](std::string_view text) { return name(resized(*parse_bias(text), from, to)); };
  CHECK(at("1,4,32,48") == "1,2,5,7");
  CHECK(at("2,1,1,48:bool") == "3,1,1,7:bool");
  CHECK(at("1,4,32,48@0:1:192:4") == "1,2,5,7@0:1:14:2");
}

TEST_CASE("a bias is an input in its own type, with keys as rows where they are no neighbours") {
  Attention problem = t5();
  problem.bias = *parse_bias("1,4,32,48:f32");
  TensorPlan plan = attention_plan(problem).tensors[3];
  CHECK(plan.name == "bias");
  CHECK_FALSE(plan.type);
  CHECK(plan.shape == std::vector<std::int64_t>{1, 4, 32, 48});
  CHECK(plan.strides.empty());
  problem.bias = *parse_bias("1,4,32,48@0:1:192:4");
  plan = attention_plan(problem).tensors[3];
  CHECK(plan.columns() == 1);
  CHECK(plan.row_offset(1) == 4);
  CHECK(plan.row_offset(48) == 192);
}

TEST_CASE("expressions and templates know a bias by its type and strides") {
  Attention problem = t5();
  const auto value = [&](std::string_view wanted) {
    for (const NamedSize& size : named_sizes(problem))
      if (size.name == wanted) return size.value;
    return std::int64_t{-1};
  };
  CHECK(value("BIAS") == 0);
  CHECK(value("BIAS_ROW_STRIDE") == -1);
  problem.bias = *parse_bias("2,1,1,48:bool");
  CHECK(value("BIAS") == 3);
  CHECK(value("BIAS_BATCH_STRIDE") == 48);
  CHECK(value("BIAS_HEAD_STRIDE") == 0);
  CHECK(value("BIAS_KEY_STRIDE") == 1);
  CHECK(value("BIAS_ROWS") == 1);
  CHECK(value("BIAS_ALIGN") == 16);
}

TEST_CASE("rows of a bias are as far apart as their strides say") {
  const auto alignment = [](const char* bias, Dtype input = Dtype::kF16) {
    return row_alignment(*parse_bias(bias), input);
  };
  CHECK(alignment("1,4,32,48") == 16);
  CHECK(alignment("1,4,32,46") == 4);
  CHECK(alignment("1,4,32,46:f32") == 8);
  CHECK(alignment("1,1,32,47:bool") == 1);
  CHECK(alignment("1,1,1,47") == 16);
  CHECK(alignment("1,4,32,48@0:1:192:4") == 0);
}

}  // namespace fatune
