// torch_helper_test.cpp: Runs the helper's own files on a stand-in for PyTorch.
#include <algorithm>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "core/file.hpp"
#include "support/temporary_folder.hpp"
#include "worker/baselines/torch_process.hpp"

using namespace fatune;
using namespace std::chrono_literals;

namespace {

const Attention kSixteen{1, 2, 2, 16, 16, 8, Dtype::kF16, Mask::kNone};

/// Python with modules of a test in front.
std::string make_python(const test::TemporaryFolder& folder, const std::string& modules,
                        const std::string& wrong) {
  const auto path = folder / "python";
  REQUIRE(replace_file(path, "#!/bin/sh\nSTAND_IN=" + wrong +
                                 " PYTHONDONTWRITEBYTECODE=1 PYTHONPATH='" + modules +
                                 "' exec python3 \"$@\"\n"));
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path.string();
}

/// The script on the stand-in, which does something wrong if told.
struct Script {
  explicit Script(const std::string& wrong = "", const Attention& problem = kSixteen)
      : setting{
            make_python(folder, FATUNE_SOURCE_DIR "/tests/unit/worker/baselines/stand_in", wrong),
            "", problem, 4096} {}
  /// Every query, hence every output, is a number near 1.
  void fill_queries() {
    const auto q = process.tensors()["q"];
    std::fill(q.begin(), q.end(), std::byte{0x3c});
    process.inputs_are_of({{"q", 1}, {"k", 2}, {"v", 3}, {"out", 4}});
  }
  std::string open_fault(const std::string& backend, ErrorKind kind = ErrorKind::kDevice) {
    const Status opened = process.open(backend, setting);
    REQUIRE_FALSE(opened);
    CHECK(opened.error().kind == kind);
    return opened.error().message;
  }
  std::string refusal(const std::string& backend) { return open_fault(backend, ErrorKind::kUsage); }

  test::TemporaryFolder folder;
  TorchSetting setting;
  TorchProcess process{{20s, 20s}};
};

}  // namespace

TEST_CASE("the script runs a backend, makes its graph and times it") {
  const Dtype dtype = GENERATE(Dtype::kF16, Dtype::kBf16);
  const Mask mask = GENERATE(Mask::kNone, Mask::kCausal);
  const std::string backend = GENERATE("flash", "cudnn", "efficient", "math");
  Attention problem = kSixteen;
  problem.dtype = dtype;
  problem.mask = mask;
  if (mask == Mask::kCausal) problem.seq_kv = 24;
  if (dtype == Dtype::kBf16) problem.kv_heads = 1;
  Script script("", problem);
  REQUIRE(script.process.open(backend, script.setting));
  CHECK(script.process.detail(backend).starts_with("PyTorch 2.99.0+none, " + backend));
  script.fill_queries();
  REQUIRE(script.process.run(backend));
  const auto q = script.process.tensors()["q"];
  const auto out = script.process.tensors()["out"];
  CHECK(std::equal(out.begin(), out.end(), q.begin()));
  const auto launches = script.process.prepare(backend);
  REQUIRE(launches);
  CHECK(*launches == 4);  // 400 us of 125 us each
  const auto times = script.process.turn(backend, 5);
  REQUIRE(times);
  CHECK(times->hot_us == 62.5);
  CHECK(times->cold_us == 125);
  // The products of a layer take as long again each, which its time does not contain.
  const auto in_layer = script.process.layer_turn(backend);
  REQUIRE((in_layer && *in_layer));
  CHECK((*in_layer)->us == 62.5);
  CHECK((*in_layer)->steady);
}

namespace {

/// 16 queries and 24 keys, as bshd has them.
Attention masked(const std::string& mask) {
  Attention problem = kSixteen;
  problem.seq_kv = 24;
  problem.mask = canonical(*parse_mask(mask), problem.seq_q, problem.seq_kv);
  problem.layouts = *parse_layouts("bshd");
  return problem;
}

/// The stand-in refuses a mask of another number of query-key pairs.
std::string pairs_of(const Attention& problem) {
  return "sees:" + std::to_string(static_cast<std::int64_t>(visible_pairs(problem)));
}

}  // namespace

TEST_CASE("PyTorch's backends take any mask, most as a tensor") {
  const std::string mask =
      GENERATE("causal-upper-left", "causal-window:5", "window:4,3", "window:20,0", "prefix:12");
  const std::string backend = GENERATE("cudnn", "efficient", "math", "auto");
  const Attention problem = masked(mask);
  Script script(pairs_of(problem), problem);
  INFO(mask << ' ' << backend);
  REQUIRE(script.process.open(backend, script.setting));
  CHECK(script.process.detail(backend).ends_with("the mask as a tensor") ==
        (mask != "causal-upper-left"));
  REQUIRE(script.process.prepare(backend));
  if (backend != "math") return;
  CHECK(Script("sees:1", problem).open_fault(backend).starts_with("AssertionError"));
  CHECK(Script("", problem).refusal("flash") ==
        "PyTorch's flash cannot do this: of masks it takes none, causal, not " +
            name(problem.mask));
}

TEST_CASE("FlexAttention takes every mask by a block mask, and is compiled for each problem") {
  const std::string mask = GENERATE("none", "causal", "causal-upper-left", "causal-window:5",
                                    "window:4,3", "window:40,3", "window:4,40", "prefix:12");
  Attention problem = masked(mask);
  problem.scale = 0.5;
  problem.kv_heads = 1;
  Script script(pairs_of(problem), problem);
  INFO(mask);
  REQUIRE(script.process.open("flex", script.setting));
  CHECK(script.process.detail("flex") == "FlexAttention 2.99.0, sm_90");
  script.fill_queries();
  REQUIRE(script.process.run("flex"));
  REQUIRE(script.process.prepare("flex"));
  script.setting.problem.as_attention().batch = 2;
  REQUIRE(script.process.open("flex", script.setting));
  CHECK(Script("sees:1", problem).open_fault("flex").starts_with("FlexAttention cannot"));
}

TEST_CASE("packages take windows in numbers of their own, and refuse what they cannot say") {
  const std::string backend = GENERATE("fa3", "fa4", "flashinfer", "sage");
  const auto takes = [&](const std::string& mask, const std::string& told) {
    const Attention problem = masked(mask);
    Script script(told, problem);
    const Status opened = script.process.open(backend, script.setting);
    return opened ? "" : opened.error().message;
  };
  const auto refusal = [&](const std::string& mask) {
    const std::string reason = Script("", masked(mask)).refusal(backend);
    return reason.substr(std::min(reason.size(), reason.find(": ")));
  };
  INFO(backend);
  CHECK(refusal("prefix:12").ends_with(", not prefix:12"));
  CHECK(refusal("causal-upper-left").ends_with(", not causal-upper-left"));
  if (backend == "sage") {
    CHECK(refusal("causal-window:5") == ": of masks it takes none, causal, not causal-window:5");
    return;
  }
  CHECK(takes("none", "window:-1,-1").empty());
  CHECK(takes("causal", "window:-1,0").empty());
  CHECK(takes("causal-window:5", "window:4,0").empty());
  CHECK_FALSE(takes("causal-window:5", "window:5,0").empty());
  if (backend == "flashinfer") {
    CHECK(refusal("window:4,3") == ": of windows it takes causal ones, not window:4,3");
    return;
  }
  CHECK(takes("window:4,3", "window:4,3").empty());
  CHECK(takes("window:40,3", "window:-1,3").empty());
  CHECK(takes("window:4,40", "window:4,-1").empty());
}

TEST_CASE("FlashAttention-4 is told the problem's softcap") {
  Attention problem = masked("causal");
  const auto takes = [&](const std::string& told) {
    Script script(told, problem);
    return static_cast<bool>(script.process.open("fa4", script.setting));
  };
  CHECK(takes("softcap:"));
  problem.softcap = 30;
  CHECK(takes("softcap:30"));
  CHECK_FALSE(takes("softcap:20"));
}

TEST_CASE("optional tensors reach the backends that can be given them") {
  Attention problem = masked("padding:9,7");
  problem.batch = 2;
  problem.sink = true;
  Script script("used:9,7", problem);
  REQUIRE(script.process.open("fa4", script.setting));
  const SharedTensors& tensors = script.process.tensors();
  CHECK(tensors.inputs() == std::vector<std::string>{"k", "lengths", "q", "sink", "v"});
  CHECK(tensors["lengths"].size() == 8);
  CHECK(tensors["sink"].size() == 4);
  TensorAddresses from = {{"q", 1}, {"k", 2}, {"v", 3}, {"out", 4}, {"lengths", 5}, {"sink", 6}};
  script.process.inputs_are_of(from);
  REQUIRE(script.process.run("fa4"));
  CHECK(script.process.has_inputs_of(from));
  from["sink"] = 7;
  CHECK_FALSE(script.process.has_inputs_of(from));
  CHECK(Script("used:9,8", problem).open_fault("fa4").starts_with("FlashAttention-4 cannot"));
}

TEST_CASE("a bias reaches PyTorch with its type and strides") {
  Attention problem = kSixteen;
  const auto takes = [&](const std::string& bias, const std::string& told) {
    problem.bias = *parse_bias(bias);
    Script script(told, problem);
    return static_cast<bool>(script.process.open("math", script.setting));
  };
  CHECK(takes("1,2,16,16", "bias:float16,512,256,16,1"));
  CHECK(takes("1,1,1,16:bool", "bias:bool,16,16,16,1"));
  CHECK(takes("1,2,16,16@0:16:32:1", "bias:float16,0,16,32,1"));  // permuted, without gaps
  CHECK(takes("1,2,16,16:f32@0:24:48:1", "bias:float32,0,24,48,1"));
  CHECK(takes("1,2,16,16@0:1:64:2", "bias:float16,0,1,64,2"));
  CHECK_FALSE(takes("1,2,16,16@0:1:64:2", "bias:float16,0,1,64,1"));
}

TEST_CASE("each backend that cannot be given a tensor refuses the tensor by its name") {
  const std::string backend = GENERATE("flash", "fa3", "fa4", "flashinfer", "sage");
  Attention problem = kSixteen;
  problem.layouts = *parse_layouts("bshd");
  problem.alibi = true;
  CHECK(Script("", problem).refusal(backend) == "it is not given the alibi");
}

TEST_CASE("FlashInfer decodes a window of keys") {
  Attention problem = masked("causal-window:5");
  problem.seq_q = 1;
  Script script("window:4,0", problem);
  REQUIRE(script.process.open("flashinfer", script.setting));
  CHECK(Script("window:3,0", problem).open_fault("flashinfer").starts_with("FlashInfer cannot"));
}

TEST_CASE("the script gives PyTorch tensors where the layout puts them, and brings out there") {
  Attention problem = kSixteen;
  problem.kv_heads = 1;
  SECTION("packed") {
    problem.layouts = *parse_layouts("packed");
    Script script("", problem);
    REQUIRE(script.process.open("flash", script.setting));
    CHECK(script.process.detail("flash") == "PyTorch 2.99.0+none, flash");
    const auto inputs = script.process.tensors()["q"];
    CHECK(script.process.tensors()["k"].empty());
    constexpr std::size_t kTokenBytes = (2 + 1 + 1) * 8 * 2, kQueryBytes = 2 * 8 * 2;
    REQUIRE(inputs.size() == 16 * kTokenBytes);
    for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = static_cast<std::byte>(i);
    script.process.inputs_are_of({{"q", 1}, {"k", 2}, {"v", 3}, {"out", 4}});
    REQUIRE(script.process.run("flash"));
    const auto out = script.process.tensors()["out"];
    REQUIRE(out.size() == 16 * kQueryBytes);
    for (std::size_t i = 0; i < out.size(); ++i)
      CHECK(out[i] == inputs[i / kQueryBytes * kTokenBytes + i % kQueryBytes]);
  }
  SECTION("apart, and out otherwise than PyTorch leaves it") {
    problem.layouts = *parse_layouts("q=512:256:16,out=384:8:24");
    Script script("", problem);
    REQUIRE(script.process.open("flash", script.setting));
    CHECK(script.process.detail("flash") ==
          "PyTorch 2.99.0+none, flash, its output lies otherwise than asked");
    const auto q = script.process.tensors()["q"];
    for (std::size_t i = 0; i < q.size(); ++i) q[i] = static_cast<std::byte>(i % 251);
    const auto out = script.process.tensors()["out"];
    std::fill(out.begin(), out.end(), std::byte{0x5a});
    script.process.inputs_are_of({{"q", 1}, {"k", 2}, {"v", 3}, {"out", 4}});
    REQUIRE(script.process.run("flash"));
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::size_t row = i / 48, head = i % 48 / 16;
      CHECK(out[i] == (head == 2 ? std::byte{0x5a} : q[head * 512 + row * 32 + i % 16]));
    }
  }
}

TEST_CASE("FlashInfer prefills tokens where the layout puts them, by its fastest way") {
  Attention problem = kSixteen;
  problem.batch = 2;
  problem.kv_heads = 1;
  problem.mask = Mask::kCausal;
  problem.layouts = *parse_layouts("packed");
  Script script("", problem);
  REQUIRE(script.process.open("flashinfer", script.setting));
  CHECK(script.process.version_of(kPythonPackages[0]) == "0.7.9");
  CHECK(script.process.version_of(kPythonPackages[2]) == "4.0.9");
  CHECK(script.process.detail("flashinfer") == "FlashInfer 0.7.9, fa3");
  const auto inputs = script.process.tensors()["q"];
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = static_cast<std::byte>(i % 251);
  script.process.inputs_are_of({{"q", 1}, {"k", 2}, {"v", 3}, {"out", 4}});
  REQUIRE(script.process.run("flashinfer"));
  constexpr std::size_t kTokenBytes = (2 + 1 + 1) * 8 * 2, kQueryBytes = 2 * 8 * 2;
  const auto out = script.process.tensors()["out"];
  REQUIRE(out.size() == 2 * 16 * kQueryBytes);
  for (std::size_t i = 0; i < out.size(); ++i)
    CHECK(out[i] == inputs[i / kQueryBytes * kTokenBytes + i % kQueryBytes]);
  REQUIRE(script.process.prepare("flashinfer"));
  const auto times = script.process.turn("flashinfer", 5);
  REQUIRE(times);
  CHECK(times->hot_us == 62.5);
  CHECK(times->cold_us == 125);
  const auto in_layer = script.process.layer_turn("flashinfer");
  REQUIRE((in_layer && *in_layer));
  CHECK((*in_layer)->us == 62.5);

  Script second("no_fa3", problem);
  REQUIRE(second.process.open("flashinfer", second.setting));
  CHECK(second.process.detail("flashinfer") == "FlashInfer 0.7.9, fa2");
}

TEST_CASE("FlashInfer decodes keys as pages of any layout") {
  Attention problem = kSixteen;
  problem.batch = 3;
  problem.seq_q = 1;
  problem.seq_kv = GENERATE(16, 24, 7);
  problem.kv_heads = 2;
  problem.heads = 4;
  const std::string layout = GENERATE("bhsd", "bshd");
  problem.layouts = *parse_layouts(layout);
  Script script("", problem);
  REQUIRE(script.process.open("flashinfer", script.setting));
  CHECK(script.process.detail("flashinfer") == "FlashInfer 0.7.9, decode on tensor cores");
  const auto k = script.process.tensors()["k"];
  for (std::size_t i = 0; i < k.size(); ++i) k[i] = static_cast<std::byte>(i % 251);
  script.process.inputs_are_of({{"q", 1}, {"k", 2}, {"v", 3}, {"out", 4}});
  REQUIRE(script.process.run("flashinfer"));
  const auto out = script.process.tensors()["out"];
  const auto keys = static_cast<std::size_t>(problem.seq_kv);
  REQUIRE(out.size() == 3 * 4 * 16);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t batch = i / 64, head = i % 64 / 32;
    const std::size_t row = layout == "bhsd" ? (batch * 2 + head) * keys + keys - 1
                                             : (batch * keys + keys - 1) * 2 + head;
    CHECK(out[i] == k[row * 16 + i % 16]);
  }
}

TEST_CASE("FlashAttention-4 takes tensors as they lie, and leaves tokens") {
  Attention problem = kSixteen;
  problem.batch = 2;
  problem.layouts = *parse_layouts(GENERATE("bhsd", "bshd,q=512:256:16"));
  Script script("", problem);
  REQUIRE(script.process.open("fa4", script.setting));
  const std::string detail = script.process.detail("fa4");
  CHECK(detail.starts_with("FlashAttention-4 4.0.9, sm_90"));
  CHECK(detail.ends_with("otherwise than asked") ==
        (problem.layouts.out.kind == LayoutKind::kBhsd));
  const auto q = script.process.tensors()["q"];
  for (std::size_t i = 0; i < q.size(); ++i) q[i] = static_cast<std::byte>(i % 251);
  script.process.inputs_are_of({{"q", 1}, {"k", 2}, {"v", 3}, {"out", 4}});
  REQUIRE(script.process.run("fa4"));
  const Strides from = strides_of(problem, "q"), to = strides_of(problem, "out");
  const auto out = script.process.tensors()["out"];
  for (std::int64_t batch = 0; batch < 2; ++batch) {
    for (std::int64_t head = 0; head < 2; ++head) {
      for (std::int64_t row = 0; row < 16; ++row) {
        const auto at = [&](const Strides& lies) {
          return static_cast<std::size_t>(batch * lies.batch + head * lies.head + row * lies.row) *
                 2;
        };
        CHECK(std::equal(&out[at(to)], &out[at(to)] + 16, &q[at(from)]));
      }
    }
  }
  REQUIRE(script.process.prepare("fa4"));
  CHECK(Script("no_fa4", problem).open_fault("fa4") ==
        "FlashAttention-4 cannot do this: head_dim 8 is not supported");
}

TEST_CASE("FlashAttention-3 takes tokens one behind the other, by a schedule that is made once") {
  Attention problem = kSixteen;
  problem.batch = 2;
  problem.scale = 0.5;
  problem.layouts = *parse_layouts(GENERATE("bshd", "packed"));
  Script script("", problem);
  REQUIRE(script.process.open("fa3", script.setting));
  CHECK(script.process.detail("fa3") == "FlashAttention-3 of vLLM 0.24.0, scheduled once");
  const auto q = script.process.tensors()["q"];
  for (std::size_t i = 0; i < q.size(); ++i) q[i] = static_cast<std::byte>(i % 251);
  script.process.inputs_are_of({{"q", 1}, {"k", 2}, {"v", 3}, {"out", 4}});
  REQUIRE(script.process.run("fa3"));
  const auto out = script.process.tensors()["out"];
  const Strides from = strides_of(problem, "q"), to = strides_of(problem, "out");
  for (std::int64_t row = 0; row < 16; ++row) {
    const auto at = [&](const Strides& lies) {
      return static_cast<std::size_t>(lies.batch + lies.head + row * lies.row) * 2;
    };
    CHECK(std::equal(&out[at(to)], &out[at(to)] + 16, &q[at(from)]));
  }
  REQUIRE(script.process.prepare("fa3"));
  REQUIRE(script.process.turn("fa3", 5));
  problem.layouts = {};
  CHECK(Script("", problem).refusal("fa3") ==
        "FlashAttention-3 cannot do this: it takes tokens one behind the other, batch after batch, "
        "as bshd and packed have them; q lies otherwise");
}

TEST_CASE("FlashAttention-3 takes e4m3 with a factor a key head") {
  Attention problem = kSixteen;
  problem.dtype = Dtype::kE4m3;
  problem.out_dtype = Dtype::kBf16;
  problem.kv_heads = 1;
  Script script("", problem);
  REQUIRE(script.process.open("fa3", script.setting));
  const SharedTensors& tensors = script.process.tensors();
  CHECK(tensors.inputs() ==
        std::vector<std::string>{"k", "k_descale", "q", "q_descale", "v", "v_descale"});
  CHECK(tensors["q"].size() == 2 * 16 * 8);
  CHECK(tensors["k_descale"].size() == 4);
  CHECK(tensors["out"].size() == 2 * 16 * 8 * 2);
  for (std::size_t i = 0; i < tensors["q"].size(); ++i)
    tensors["q"][i] = static_cast<std::byte>(i % 251);
  script.process.inputs_are_of({{"q", 1}, {"k", 2}, {"v", 3}, {"out", 4}});
  REQUIRE(script.process.run("fa3"));
  for (std::size_t i = 0; i < tensors["out"].size(); ++i)
    CHECK(tensors["out"][i] == tensors["q"][i / 2]);
  REQUIRE(script.process.prepare("fa3"));
  CHECK_FALSE(*script.process.layer_turn("fa3"));
}

TEST_CASE("without the library of vLLM FlashAttention-3 says what to install") {
  Script script("no_fa3_library");
  const Status opened = script.process.open("fa3", script.setting);
  REQUIRE_FALSE(opened);
  CHECK(opened.error().kind == ErrorKind::kEnvironment);
  CHECK(opened.error().message.ends_with(
      "has no FlashAttention-3 that can be used: libcudart.so.13: cannot open; install it beside "
      "PyTorch with 'pip install vllm'"));
  CHECK(Script("no_fa3_type").open_fault("fa3") ==
        "FlashAttention-3 cannot do this: FlashAttention only support fp16, bf16, and fp8_e4m3 "
        "data type");
}

TEST_CASE("a package that is installed and cannot be imported is not there") {
  Script script("broken_fa4");
  REQUIRE(script.process.greet(script.setting));
  for (const PythonPackage& each : kPythonPackages) {
    CHECK_FALSE(script.process.version_of(each).empty());
    const Status loads = script.process.load(each, script.setting);
    CHECK(loads.operator bool() == (each.impl != "fa4"));
    if (loads) continue;
    CHECK(loads.error().kind == ErrorKind::kEnvironment);
    CHECK(loads.error().message.ends_with(
        "has no FlashAttention-4 that can be used: No module named 'cutlass.cute'; install it "
        "beside PyTorch with 'pip install flash-attn-4'"));
  }
}

TEST_CASE("SageAttention leaves the caller's keys alone, and its output in the layout asked for") {
  Attention problem = kSixteen;
  problem.batch = 2;
  problem.layouts = *parse_layouts(GENERATE("bhsd", "bshd"));
  Script script("", problem);
  REQUIRE(script.process.open("sage", script.setting));
  CHECK(script.process.detail("sage") == "SageAttention 1.0.6, sm_90");
  script.fill_queries();
  REQUIRE(script.process.run("sage"));
  REQUIRE(script.process.prepare("sage"));
  problem.mask = Mask::kCausal;
  problem.seq_kv = 24;
  CHECK(Script("", problem).refusal("sage") == "SageAttention masks as many queries as keys");
}

TEST_CASE("FlashInfer's refusals say what is in the way") {
  Attention problem = kSixteen;
  problem.batch = 2;
  CHECK(Script("", problem).refusal("flashinfer") ==
        "FlashInfer cannot do this: it takes tokens one behind the other, batch after batch, as "
        "bshd and packed have them; q lies otherwise");
  CHECK(Script("no_way").open_fault("flashinfer") ==
        "FlashInfer cannot do this: fa3: fa3 needs another GPU; fa2: fa2 needs another GPU");
  CHECK(Script("compiles").open_fault("flashinfer").starts_with("FlashInfer compiles its kernels"));
  Script without("no_flashinfer");
  const Status opened = without.process.open("flashinfer", without.setting);
  REQUIRE_FALSE(opened);
  CHECK(opened.error().kind == ErrorKind::kEnvironment);
  CHECK(
      opened.error().message.ends_with("has no FlashInfer that can be used: libflash.so: cannot "
                                       "open; install it beside PyTorch with "
                                       "'pip install flashinfer-python'"));
  REQUIRE(without.process.open("flash", without.setting));
}

TEST_CASE("auto leaves the choice to PyTorch and tells it") {
  Script script;
  REQUIRE(script.process.open("auto", script.setting));
  CHECK(script.process.detail("auto") == "PyTorch 2.99.0+none, auto took cudnn (cuDNN 9.19.0)");
}

TEST_CASE("a backend that cannot do the problem, or falls back, is an error with the reason") {
  CHECK(Script("no_flash").open_fault("flash") ==
        "PyTorch's flash cannot do this: No available kernel. Aborting execution.; Flash attention "
        "needs a newer GPU");
  CHECK(Script("falls_back").open_fault("flash") == "PyTorch was told to use flash and used math");
  CHECK(Script("out_of_memory").open_fault("math").starts_with("out of GPU memory: "));
}

TEST_CASE("changed inputs and another output of timed launches are found") {
  Script writer("writes_input");
  REQUIRE(writer.process.open("math", writer.setting));
  CHECK(writer.process.run("math").error().message == "inputs: the kernel changed k");

  Script drifting("drifts");
  REQUIRE(drifting.process.open("math", drifting.setting));
  drifting.fill_queries();
  CHECK(drifting.process.prepare("math").error().message.starts_with("accuracy: the timed"));
}

TEST_CASE("timed launches may leave an output that differs in last bits") {
  Script varying("varies");
  REQUIRE(varying.process.open("math", varying.setting));
  varying.fill_queries();
  CHECK(varying.process.prepare("math"));
  CHECK(varying.process.turn("math", 5));
}

TEST_CASE("the script itself says what is wrong with a PyTorch") {
  const test::TemporaryFolder folder;
  struct Case {
    const char* module;
    const char* reason;
  };
  const Case which = GENERATE(
      Case{"raise ImportError('libcudart.so.13: cannot open')",
           " has no PyTorch that can be used: libcudart.so.13: cannot open"},
      Case{"class version:\n    cuda = None\n"
           "class cuda:\n    is_available = staticmethod(lambda: False)\n"
           "__version__ = '2.11.0+cpu'\n",
           " is built without CUDA"},
      Case{"class version:\n    cuda = '13.0'\n"
           "class cuda:\n    is_available = staticmethod(lambda: False)\n"
           "    @staticmethod\n    def init():\n        raise RuntimeError('No NVIDIA driver')\n"
           "__version__ = '2.11.0'\n",
           "PyTorch 2.11.0 finds no GPU: No NVIDIA driver"});
  REQUIRE(make_directories(folder / "torch/nn/attention"));
  REQUIRE(replace_file(folder / "torch/__init__.py", which.module));
  REQUIRE(replace_file(folder / "torch/nn/__init__.py", ""));
  REQUIRE(replace_file(folder / "torch/nn/attention/__init__.py", ""));
  const std::string python = make_python(folder, folder.path().string(), "");
  TorchProcess process;
  const Status opened = process.open("flash", {python, "", kSixteen, 0});
  REQUIRE_FALSE(opened);
  CHECK(opened.error().kind == ErrorKind::kEnvironment);
  INFO(opened.error().message);
  CHECK(opened.error().message.find(which.reason) != std::string::npos);
}

namespace {

std::string backend_of(const std::string& function, const std::string& file = "functions.py") {
  return "python:" FATUNE_SOURCE_DIR "/tests/unit/worker/baselines/" + file + ":" + function;
}

}  // namespace

TEST_CASE("a function of the user's runs, and is timed as every backend") {
  Attention problem = kSixteen;
  problem.mask = Mask::kCausal;
  problem.scale = 0.5;
  problem.kv_heads = 1;
  const std::string backend = backend_of(GENERATE("attend", "attend_with_lse"));
  problem.lse = backend.ends_with("lse");
  Script script("", problem);
  REQUIRE(script.process.open(backend, script.setting));
  CHECK(script.process.detail(backend) ==
        "PyTorch 2.99.0+none, functions.py, " + backend.substr(backend.rfind(':') + 1));
  script.fill_queries();
  REQUIRE(script.process.run(backend));
  const auto q = script.process.tensors()["q"];
  const auto out = script.process.tensors()["out"];
  CHECK(std::equal(out.begin(), out.end(), q.begin()));
  REQUIRE(script.process.prepare(backend));
  CHECK(script.process.turn(backend, 5));
}

TEST_CASE("a function takes a mask that is neither none nor causal by its name") {
  Script script("", masked("causal-window:5"));
  REQUIRE(script.process.open(backend_of("attend_window"), script.setting));
  CHECK(script.open_fault(backend_of("attend")).find("keyword argument 'mask'") !=
        std::string::npos);
}

TEST_CASE("a function of e4m3 inputs takes their factors and the type of its output") {
  Attention problem = kSixteen;
  problem.dtype = Dtype::kE4m3;
  problem.out_dtype = Dtype::kBf16;
  Script script("", problem);
  REQUIRE(script.process.open(backend_of("attend_fp8"), script.setting));
  REQUIRE(script.process.open(backend_of("attend_fp8"), script.setting));
}

TEST_CASE("a function that is not there is an environment error with the reason") {
  struct Case {
    const char *function, *file, *reason;
  };
  const Case which = GENERATE(
      Case{"attend", "nowhere.py",
           "there is no file " FATUNE_SOURCE_DIR "/tests/unit/worker/baselines/nowhere.py"},
      Case{"attends", "functions.py", "functions.py has no function attends"},
      Case{"SCALE", "functions.py", "functions.py is a float, not a function"},
      Case{"attend", "broken_function.py",
           "broken_function.py cannot be imported: ModuleNotFoundError: No module named "
           "'no_such_module'"});
  Script script;
  const Status opened = script.process.open(backend_of(which.function, which.file), script.setting);
  REQUIRE_FALSE(opened);
  CHECK(opened.error().kind == ErrorKind::kEnvironment);
  INFO(opened.error().message);
  CHECK(opened.error().message.ends_with(which.reason));
  CHECK(script.process.open("flash", script.setting));
}

TEST_CASE("a function that raises or returns something else fails with the reason") {
  const auto fault = [](const std::string& function) {
    return Script().open_fault(backend_of(function));
  };
  CHECK(fault("raises") == "raises raised ValueError: heads of 8 are too short");
  CHECK(fault("takes_two") ==
        "takes_two raised TypeError: takes_two() got an unexpected keyword argument 'scale'");
  CHECK(fault("gives_nothing") == "gives_nothing returned a NoneType, not a tensor");
  CHECK(fault("gives_tokens") ==
        "gives_tokens returned the shape (1, 16, 2, 8), not (1, 2, 16, 8)");
  CHECK(fault("gives_f32") == "gives_f32 returned float32, not float16");
  CHECK(fault("gives_host") == "gives_host returned a tensor that is not on the GPU");
  CHECK(fault("too_large").starts_with("out of GPU memory: "));
}
