// problem_test.cpp: Checks shapes from text, the validity of problems, and their text and JSON.
#include "model/problem/problem.hpp"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "model/problem/tensor.hpp"

using namespace fatune;

namespace {

std::string shape_fault(std::string_view text) {
  const auto problem = parse_shape(text);
  return problem ? "none" : problem.error().message;
}

Attention mission() { return *parse_shape("4,8,512,64"); }

std::string read_fault(std::string_view text) {
  const auto problem = read_value<Problem>(*parse_json(text, "x"), "x.json");
  return problem ? "none" : problem.error().message;
}

}  // namespace

TEST_CASE("a shape gives all sizes") {
  const Attention p = mission();
  CHECK(p == Attention{.batch = 4, .heads = 8, .kv_heads = 8, .seq_q = 512, .seq_kv = 512});
  CHECK(p.query_elements() == 4 * 8 * 512 * 64);
  CHECK(*parse_shape(" 4, 8,512 ,64") == p);
}

TEST_CASE("a wrong shape names the part and what is wrong with it") {
  CHECK(shape_fault("4,8,0,64") == "--shape 4,8,0,64: seq must be at least 1 (third part)");
  CHECK(shape_fault("4,-8,512,64") ==
        "--shape 4,-8,512,64: heads must be at least 1 (second part)");
  CHECK(shape_fault("4,8,,64") == "--shape 4,8,,64: seq is missing (third part)");
  CHECK(shape_fault("4,8,512,") == "--shape 4,8,512,: head_dim is missing (fourth part)");
  CHECK(shape_fault("x4,8,512,64") ==
        "--shape x4,8,512,64: batch must be a whole number, not 'x4' (first part)");
  CHECK(shape_fault("4,8,51.2,64") ==
        "--shape 4,8,51.2,64: seq must be a whole number, not '51.2' (third part)");
  CHECK(shape_fault("4,8,2147483648,64") ==
        "--shape 4,8,2147483648,64: seq must be at most 2147418112 (third part)");
  CHECK(shape_fault("4,8,99999999999999999999,64") ==
        "--shape 4,8,99999999999999999999,64: seq must be at most 2147418112 (third part)");
  CHECK(shape_fault("4,8,-99999999999999999999,64") ==
        "--shape 4,8,-99999999999999999999,64: seq must be at least 1 (third part)");
  CHECK(shape_fault("4,8,512") ==
        "--shape 4,8,512: has 3 parts, but a shape is batch,heads,seq,head_dim");
  CHECK(shape_fault("4,8,512,64,2").find("has 5 parts") != std::string::npos);
  CHECK(shape_fault("") == "--shape : has 1 part, but a shape is batch,heads,seq,head_dim");
  CHECK(shape_fault("65536,65536,65536,65536").find("larger than 1 TiB") != std::string::npos);
  CHECK(parse_shape("1").error().kind == ErrorKind::kUsage);
}

TEST_CASE("another origin of the shape is named instead of the flag") {
  CHECK(parse_shape("1,1,0,1", "").error().message ==
        "1,1,0,1: seq must be at least 1 (third part)");
}

TEST_CASE("validate looks at what the shape does not say") {
  Attention p = mission();
  p.kv_heads = 3;
  CHECK(validate(p).error().message == "kv_heads must divide heads, but 3 does not divide 8");
  p.kv_heads = 0;
  CHECK(validate(p).error().message == "kv_heads must be at least 1, but is 0");
  p.kv_heads = 2;
  CHECK(validate(p));
  p.seq_kv = std::int64_t{1} << 31;
  CHECK(validate(p).error().message == "seq_kv must be at most 2147418112, but is 2147483648");
  p.seq_kv = kLargestSize;
  CHECK(validate(p).error().message == "k and v would be larger than 1 TiB each");
}

TEST_CASE("out has a type of its own exactly where q, k and v are fp8") {
  Attention p = mission();
  p.out_dtype = Dtype::kF16;
  CHECK(validate(p).error().message == "out_dtype is for e4m3 and e5m2; out of f16 is f16 itself");
  p.dtype = Dtype::kE4m3;
  CHECK(validate(p));
  p.out_dtype = Dtype::kE5m2;
  CHECK(validate(p).error().message == "out_dtype of e4m3 must be f16 or bf16, not e5m2");
  p.out_dtype.reset();
  CHECK(validate(p).error().message == "out_dtype of e4m3 must be f16 or bf16");
  CHECK(default_out_dtype(Dtype::kE5m2) == Dtype::kBf16);
  CHECK_FALSE(default_out_dtype(Dtype::kF16));
}

TEST_CASE("fp8 in words, keys, bytes and arguments") {
  Attention p = mission();
  p.kv_heads = 2;
  p.dtype = Dtype::kE4m3;
  p.out_dtype = Dtype::kF16;
  CHECK(describe(p) == "4,8(kv 2),512,64 e4m3 to f16");
  CHECK(key(p) == "b4-h8-kv2-sq512-skv512-d64-e4m3-f16-none");
  const std::uint64_t queries = 4ULL * 8 * 512 * 64, keys = 4ULL * 2 * 512 * 64;
  CHECK(least_bytes(p) == Bytes(queries + 2 * keys + 2 * queries + 3 * 4 * 2 * sizeof(float)));
  CHECK(attention_tensors(p) == std::vector<std::string>{"q", "k", "v", "q_descale", "k_descale",
                                                         "v_descale", "out", "lse"});
  const Attention plain = unquantized(p);
  CHECK(plain.dtype == Dtype::kF16);
  CHECK_FALSE(has_descales(plain));
}

TEST_CASE("a fused problem has 16-bit inputs without factors, and names that no other has") {
  Attention p = mission();
  p.quant = Quant::kFused;
  CHECK(validate(p).error().message ==
        "quant fused is for e4m3 and e5m2; nothing of f16 is quantized");
  p.dtype = Dtype::kE4m3;
  p.out_dtype = Dtype::kBf16;
  REQUIRE(validate(p));
  CHECK(describe(p) == "4,8,512,64 e4m3 to bf16 fused");
  CHECK(key(p) == "b4-h8-kv8-sq512-skv512-d64-e4m3-bf16-fused-none");
  CHECK(attention_tensors(p) == std::vector<std::string>{"q", "k", "v", "out", "lse"});
  CHECK(dtype_of(p, "k") == Dtype::kBf16);
  CHECK(least_bytes(p) == least_bytes(unquantized(p)));
  CHECK(in_given_types(p) == unquantized(p));
  CHECK(unquantized(p).quant == Quant::kGiven);
  CHECK(dump(to_json(p)).find(R"("out_dtype":"bf16","quant":"fused")") != std::string::npos);
  Attention smooth = p;
  smooth.quant = Quant::kSmoothK;
  CHECK((is_fused(smooth) && smooths_k(smooth) && !smooths_k(p)));
  CHECK(key(smooth).find("-e4m3-bf16-smooth_k-") != std::string::npos);
  CHECK(key(smooth) != key(p));
  CHECK(describe(smooth).ends_with("e4m3 to bf16 smooth_k"));
  CHECK(*read_value<Problem>(to_json(smooth), "x") == smooth);
  CHECK(*read_value<Problem>(to_json(p), "x") == p);
  CHECK(has_descales(with_given_factors(p)));
  CHECK(in_given_types(with_given_factors(p)) == with_given_factors(p));
  CHECK(parse_quant("both").error().message ==
        "quant 'both' is unknown; known are given, fused, smooth_k");
}

TEST_CASE("a tensor of exactly 1 TiB is still valid") {
  CHECK(parse_shape("65536,64,2048,64"));
  CHECK_FALSE(parse_shape("65537,64,2048,64"));
}

TEST_CASE("words for people and keys for lookups") {
  Attention p = mission();
  CHECK(describe(p) == "4,8,512,64 f16");
  CHECK(key(p) == "b4-h8-kv8-sq512-skv512-d64-f16-none");
  p.kv_heads = 2;
  p.seq_q = 1;
  p.dtype = Dtype::kBf16;
  p.mask = Mask::kCausal;
  CHECK(describe(p) == "4,8(kv 2),1x512,64 bf16 causal");
  CHECK(key(p) == "b4-h8-kv2-sq1-skv512-d64-bf16-causal");
  p.lse = true;
  CHECK(describe(p) == "4,8(kv 2),1x512,64 bf16 causal lse");
  CHECK(key(p) == "b4-h8-kv2-sq1-skv512-d64-bf16-causal-lse");
}

TEST_CASE("optional tensors in words, keys, bytes, arguments and JSON") {
  Attention p = mission();
  CHECK(optional_tensors(p).empty());
  const std::uint64_t bytes = least_bytes(p).value;
  p.alibi = p.sink = true;
  p.mask = *parse_mask("causal+padding:128,0");
  CHECK(describe(p) == "4,8,512,64 f16 causal+padding:128,0 alibi sink");
  CHECK(key(p) == "b4-h8-kv8-sq512-skv512-d64-f16-causal+padding:128,0-alibi-sink");
  CHECK(attention_tensors(p) ==
        std::vector<std::string>{"q", "k", "v", "lengths", "alibi", "sink", "out", "lse"});
  // Half of the entries see a quarter of the keys, the others none.
  CHECK(least_bytes(p).value == bytes - key_bytes(p).value * 2 * 7 / 8 + 4 * 4 + 8 * 4 + 8 * 2);
  CHECK(flops(p) == Flops(4.0 * 8 * 64 * 2 * (128 * 129 / 2 + (512 - 128) * 128)));
  const auto read = read_value<Attention>(to_json(p), "p");
  REQUIRE(read);
  CHECK(*read == p);
  const std::vector<TensorPlan> tensors = attention_plan(p).tensors;
  CHECK(tensors[3].type_word() == "i32");
  CHECK(tensors[3].shape == std::vector<std::int64_t>{4});
  CHECK(tensors[4].type_word() == "f32");
  CHECK(tensors[5].type_word() == "f16");
}

TEST_CASE("optional tensors that a problem cannot have are refused") {
  Attention p = mission();
  p.sink = true;
  p.dtype = Dtype::kE4m3;
  p.out_dtype = Dtype::kBf16;
  CHECK(validate(p).error().message == "the tensor sink is for f16 and bf16, not for e4m3");
  p = mission();
  p.alibi = true;
  p.seq_q = 100;
  p.mask = *parse_mask("causal-upper-left");
  CHECK(validate(p).error().message ==
        "alibi counts positions from the last query and key, mask causal-upper-left from the "
        "first");
}

TEST_CASE("JSON both ways") {
  Attention p{.batch = 2,
              .heads = 8,
              .kv_heads = 4,
              .seq_q = 17,
              .seq_kv = 33,
              .head_dim = 96,
              .dtype = Dtype::kE5m2,
              .mask = Mask::kCausal,
              .out_dtype = Dtype::kBf16};
  CHECK(dump(to_json(p)) ==
        R"({"batch":2,"heads":8,"kv_heads":4,"seq_q":17,"seq_kv":33,"head_dim":96,)"
        R"("dtype":"e5m2","out_dtype":"bf16","mask":"causal"})");
  CHECK(*read_value<Problem>(to_json(p), "x") == p);
  CHECK(*read_value<Problem>(
            *parse_json(R"({"batch":4,"heads":8,"seq_q":512,"head_dim":64,"later":1})", "x"),
            "x") == mission());
}

TEST_CASE("the log-sum-exp is in JSON when it is wanted") {
  Attention p = mission();
  CHECK(to_json(p).count("lse") == 0);
  p.lse = true;
  CHECK(to_json(p)["lse"] == true);
  CHECK(*read_value<Problem>(to_json(p), "x") == p);
  CHECK_FALSE(p == mission());
  CHECK(p.rows() == 4 * 8 * 512);
}

TEST_CASE("v and out may have another head dim, which is written where it differs") {
  const Attention usual = mission(), other = with_value_dim(usual, 128);
  CHECK(with_value_dim(other, 64) == usual);
  CHECK(describe(other) == "4,8,512,64(v 128) f16");
  CHECK(key(other) == "b4-h8-kv8-sq512-skv512-d64-v128-f16-none");
  CHECK(to_json(usual).count("value_dim") == 0);
  CHECK(*read_value<Problem>(to_json(other), "x") == other);
  Json same = to_json(usual);
  same["value_dim"] = 64;
  CHECK(*read_value<Problem>(same, "x") == usual);
  for (const char* tensor : {"q", "k"}) CHECK(sizes_of(other, tensor).columns == 64);
  for (const char* tensor : {"v", "out"}) {
    CHECK(sizes_of(other, tensor).columns == 128);
    CHECK(strides_of(other, tensor).row == 128);
  }
}

TEST_CASE("another head dim of v is refused where it cannot be") {
  Attention p = with_value_dim(mission(), 0);
  CHECK(validate(p).error().message == "value_dim must be at least 1, but is 0");
  p = with_value_dim(mission(), 32);
  p.layouts = *parse_layouts("packed");
  CHECK(validate(p).error().message ==
        "packed q, k and v have no value_dim: give q, k and v layouts of their own");
  p.layouts = {};
  p.dtype = Dtype::kE4m3;
  p.out_dtype = Dtype::kBf16;
  CHECK(validate(p).error().message ==
        "value_dim is for f16 and bf16; v of e4m3 has the columns of q");
  p = with_value_dim({.batch = 1 << 10, .seq_q = 1 << 19, .seq_kv = 1, .head_dim = 8}, 1 << 11);
  CHECK(validate(p).error().message == "q and out would be larger than 1 TiB each");
}

TEST_CASE("a scale counts where it is not the usual one") {
  const Attention usual = mission(), unscaled = with_scale(usual, 1);
  CHECK(with_scale(unscaled, static_cast<double>(0.125F)) == usual);
  CHECK(scale_of(usual) == 0.125);
  CHECK(scale_of(unscaled) == 1);
  CHECK(describe(unscaled) == "4,8,512,64 f16 scale 1");
  CHECK(key(unscaled) == "b4-h8-kv8-sq512-skv512-d64-f16-none-scale1");
  CHECK(to_json(usual).count("scale") == 0);
  CHECK(*read_value<Problem>(to_json(unscaled), "x") == unscaled);
  CHECK(validate(with_scale(usual, -1)).error().message ==
        "scale must be a number greater than 0, not -1");
  CHECK(validate(with_scale(usual, 1e39)).error().message ==
        "scale must be from 1e-30 to 100000 for f16, not 1e+39");
  CHECK_FALSE(validate(with_scale(usual, 1e-40)));
}

TEST_CASE("wrong JSON names the field") {
  CHECK(read_fault(R"({"heads":8,"seq_q":512,"head_dim":64})") ==
        "x.json: field 'batch' is missing");
  CHECK(read_fault(R"({"batch":1,"heads":8,"seq_q":"512","head_dim":64})") ==
        "x.json: field 'seq_q' must be a whole number, but is string");
  CHECK(read_fault(R"({"batch":1,"heads":8,"seq_q":5,"head_dim":64,"dtype":"f1"})") ==
        "x.json: field 'dtype' is wrong: dtype 'f1' is unknown; did you mean 'f16'?");
  CHECK(read_fault(R"({"batch":1,"heads":8,"seq_q":5,"head_dim":64,"mask":"x"})") ==
        "x.json: field 'mask' is wrong: mask 'x' is not one of none, causal, causal-upper-left, "
        "window:L,R, causal-window:N, prefix:N, padding:N,..., padding-left:N,..., "
        "document:N,... or an expression of b, h, q and k");
  CHECK(read_fault(R"({"batch":0,"heads":8,"seq_q":5,"head_dim":64})") ==
        "x.json: field 'batch' must be at least 1, but is 0");
  CHECK(read_fault(R"({"batch":1,"heads":8,"seq_q":5,"head_dim":64,"lse":1})") ==
        "x.json: field 'lse' must be true or false, but is number");
  CHECK(read_fault("3") == "x.json: must be an object, but is number");
}
