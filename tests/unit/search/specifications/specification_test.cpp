// specification_test.cpp: Tests the readers of other tuners' files: T1, BAT, KTT, kernel_launcher.
#include "search/specifications/specification.hpp"

#include <cstring>

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "core/file.hpp"
#include "core/text.hpp"
#include "model/kernel/kernel.hpp"
#include "support/temporary_folder.hpp"

using namespace fatune;

namespace {

std::filesystem::path sample(const std::string& name) {
  return std::filesystem::path(FATUNE_TEST_DATA_DIR) / "tuners" / name;
}

std::string text_in(const Declared& declared, std::string_view name) {
  for (const SourceFile& file : declared.files) {
    if (file.path == name) return file.text;
  }
  FAIL("no file " << name);
  return {};
}

Json json_in(const Declared& declared, std::string_view name) {
  return *parse_json(text_in(declared, name), std::string(name));
}

template <typename Number>
std::vector<Number> numbers_in(const Declared& declared, std::string_view name) {
  const std::string bytes = text_in(declared, name);
  std::vector<Number> numbers(bytes.size() / sizeof(Number));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

Declared declared_of(const std::string& name) {
  Result<Declared> found = declare_json(sample(name), {});
  INFO((found ? "" : found.error().message));
  REQUIRE(found);
  return *std::move(found);
}

/// Returns the error for a copy of the samples in which a text of a file is changed.
std::string error_of(const std::string& name, const std::string& from, const std::string& to) {
  const test::TemporaryFolder folder;
  std::filesystem::copy(
      sample(""), folder.path(),
      std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing);
  const std::string text = *read_file(sample(name));
  REQUIRE(text.find(from) != std::string::npos);
  REQUIRE(replace_file(folder / name, replaced(text, from, to)));
  const Result<Declared> found = declare_json(folder / name, {});
  if (found) return "no error";
  return replaced(found.error().message, folder.path().string() + "/", "");
}

}  // namespace

TEST_CASE("a T1 file becomes a kernel whose default config is the yardstick") {
  const Declared blur = declared_of("blur_t1.json");
  CHECK(blur.kernel == "blur");
  CHECK(blur.sizes == std::vector<std::string>{"tuned_case=1"});
  CHECK(text_in(blur, "kernel.cu") == *read_file(sample("blur.cu")));
  CHECK(text_in(blur, "blur_sizes.h") == *read_file(sample("include/blur_sizes.h")));
  const Json manifest = json_in(blur, "kernel.json");
  CHECK(manifest["role"] == "reference");
  CHECK(manifest["parameters"][0]["values"].dump() == "[16,32,64,128,256,512,1024,2048]");
  CHECK(manifest["parameters"][0]["default"] == 32);  // 2048 threads are too many
  CHECK(manifest["constraints"][0]["require"] ==
        "block_size_x // tile_size >= 32 and  block_size_x % 32 == 0");
  CHECK(manifest["compiler_options"].dump() == R"(["-std=c++20","-use_fast_math","-DSCALE=0.5f"])");
  CHECK(manifest["constants"].dump() == R"({"d_weights":"d_weights"})");
  const Json& stage = manifest["stages"][0];
  CHECK(stage["grid"].dump() == R"x(["ceil_div(10000, (block_size_x) * (tile_size))","1","1"])x");
  CHECK(stage["block"].dump() == R"(["block_size_x","1","1"])");
  CHECK(stage["shared_bytes"] == "0");  // the source has none that is dynamic
  CHECK(stage["arguments"].dump() == R"(["y","x","i32 10000"])");
  const Json& tensors = manifest["operation"]["tensors"];
  CHECK(tensors[0]["output"] == true);
  CHECK(tensors[0]["fill"] == "zeros");
  CHECK(tensors[1]["shape"].dump() == R"(["10008"])");
  CHECK(tensors[1]["scale"] == 1.5);
  CHECK(tensors[1]["offset"] == 1.5);
  CHECK(numbers_in<float>(blur, "d_weights.bin") ==
        std::vector<float>{0, 0.125F, 0.5F, 0.375F, 0.5F});
}

TEST_CASE("a file of BAT has threads as sizes, vectors and dynamic shared memory") {
  const Json manifest = json_in(declared_of("tally-CAFF.json"), "kernel.json");
  CHECK(manifest["compiler_options"].empty());  // C++11 is below what the headers need
  const Json& stage = manifest["stages"][0];
  CHECK(stage["grid"][0] == "ceil_div((4096 // WORK_PER_THREAD) + 1, (BLOCK_SIZE))");
  CHECK(stage["shared_bytes"] == "16 * 4");
  CHECK(stage["arguments"].dump() == R"(["counts","values","f64 0.1","pairs"])");
  CHECK(manifest["parameters"][0]["default"] == 128);
  const Json& tensors = manifest["operation"]["tensors"];
  CHECK(tensors[1]["type"] == "i8");
  CHECK(tensors[1]["to"] == 100);
  CHECK(tensors[2]["shape"].dump() == R"(["256"])");
  CHECK(tensors[2]["output"] == true);
}

TEST_CASE("reference data of KTT are the answer, within their threshold") {
  const Declared shift = declared_of("shift_ktt.json");
  CHECK(json_in(shift, "kernel.json")["operation"] == "shift_of_a_file");
  CHECK(json_in(shift, "kernel.json")["stages"][0]["entry"] == "shift<float>");
  const Json answer = json_in(shift, "answer.json");
  CHECK(answer["operation"]["tolerance"]["absolute"] == 0.01);
  CHECK(answer["stages"][0]["arguments"].dump() == R"(["to","to_answer"])");
  CHECK(numbers_in<float>(shift, "to_answer.bin").at(4) == 11);
}

TEST_CASE("a capture of kernel_launcher has its macros, template arguments and data") {
  const Declared add = declared_of("add_capture.json");
  const Json manifest = json_in(add, "kernel.json");
  CHECK(manifest["defines"].dump() == R"({"PER":"per_thread"})");
  CHECK(manifest["compiler_options"].dump() == R"(["--use_fast_math","-DFACTOR=2"])");
  const Json& stage = manifest["stages"][0];
  CHECK(stage["entry"] == "add<float, threads>");
  CHECK(stage["arguments"].dump() == R"(["i32 8","argument_1","argument_2"])");
  CHECK(manifest["parameters"][0]["default"] == 16);  // 64 * 4 breaks the rule
  CHECK(manifest["parameters"][1]["default"] == 2);
  CHECK(numbers_in<float>(add, "argument_1_answer.bin").at(7) == 15);
}

TEST_CASE("a parameter of words stands for them in the source") {
  const test::TemporaryFolder folder;
  REQUIRE(replace_file(folder / "k.cu", "__global__ void k(float* x) { *x = T(1) / N; }"));
  REQUIRE(replace_file(folder / "k.json", R"({
    "ConfigurationSpace": {"TuningParameters": [
      {"Name": "T", "Type": "string", "Values": "['float', 'double']"},
      {"Name": "N", "Type": "int", "Values": "[1, 2]"}]},
    "KernelSpecification": {"KernelName": "k", "KernelFile": "k.cu", "GlobalSize": {"X": "1"},
      "LocalSize": {"X": 32}, "Arguments": [{"Name": "x", "Size": 1, "FillValue": 0.5}]}})"));
  const auto found = declare_json(folder / "k.json", {});
  REQUIRE(found);
  CHECK(json_in(*found, "kernel.json")["defines"].dump() == R"({"T":"T","N":"N"})");
}

TEST_CASE("arguments without names and of half have files and fills of their own") {
  const test::TemporaryFolder folder;
  REQUIRE(replace_file(folder / "k.cu", "__global__ void k(int* x, long long* y, short* z) {}"));
  REQUIRE(replace_file(folder / "raw.bin", "123456"));
  REQUIRE(replace_file(folder / "k.json", R"({
    "ConfigurationSpace": {"TuningParameters": [{"Name": "N", "Type": "int", "Values": "[1, 2]"}]},
    "KernelSpecification": {"KernelName": "k", "KernelFile": "k.cu", "GlobalSize": {"X": "1"},
      "LocalSize": {"X": 32}, "Arguments": [
        {"Type": "int32", "Size": 3, "FillType": "Generator", "DataSource": "i / 2 - 1"},
        {"Type": "int64", "Size": 1, "FillType": "Generator", "DataSource": "-i - 7"},
        {"Type": "half", "Size": 8, "AccessType": "WriteOnly", "FillValue": 0},
        {"Type": "half2", "AccessType": "ReadOnly", "FillType": "BinaryRaw",
         "DataSource": "raw.bin"}]}})"));
  const auto found = declare_json(folder / "k.json", {});
  INFO((found ? "" : found.error().message));
  REQUIRE(found);
  CHECK(numbers_in<std::int32_t>(*found, "argument.bin") == std::vector<std::int32_t>{-1, 0, 0});
  CHECK(numbers_in<std::int64_t>(*found, "argument_argument.bin") == std::vector<std::int64_t>{-7});
  const Json tensors = json_in(*found, "kernel.json")["operation"]["tensors"];
  CHECK_FALSE(tensors[2].contains("fill"));
  CHECK(tensors[3]["shape"][0] == "3");
}

TEST_CASE("what cannot be taken is refused with its field") {
  const std::string kernel = "blur_t1.json: field 'KernelSpecification.";
  const auto blur = [](const char* from, const char* to) {
    return error_of("blur_t1.json", from, to);
  };
  CHECK(blur("\"CUDA\"", "\"OpenCL\"") ==
        kernel + "Language' is OpenCL; fatune compiles CUDA alone");
  CHECK(blur("\"blur.cu\"", "\"blur.cl\"") ==
        kernel + "KernelFile' is 'blur.cl', which is not there");
  CHECK(blur("int32", "texture") ==
        kernel +
            "Arguments[2].Type' is texture; bool, int8 to uint64, half, float, double and "
            "vectors such as float4 are known");
  CHECK(blur("\"FillValue\": 10000", "\"FillValue\": 0.5") ==
        kernel + "Arguments[2].FillValue' is 0.5, which is not a whole number, as i32 needs");
  CHECK(blur("\"Random\"", "\"BinaryHDF\"") ==
        kernel +
            "Arguments[1].FillType' is BinaryHDF; Constant, Random, Generator and BinaryRaw "
            "are known");
  CHECK(blur("\"Random\"", "\"BinaryRaw\", \"DataSource\": \"x.bin\"") ==
        kernel + "Arguments[1].DataSource' is 'x.bin', which is not there");
  CHECK(blur("i / 8", "j / 8")
            .starts_with(kernel + "Arguments[3].DataSource': '0.5 if i == 2 else j / 8' uses the "
                                  "unknown name 'j'"));
  CHECK(blur("\"Size\": 5", "\"Size\": 1000000000000").find("at most 134217728") !=
        std::string::npos);
  CHECK(blur("-O3", "--dopt=on").find("'--dopt=on', which is none of") != std::string::npos);
  CHECK(blur(">= 32", ">= 4096") ==
        "blur_t1.json: the rules leave none of the first 1000000 configs");
  CHECK(blur("[1] + [2*i", "[0.5] + [2*i").find("whose values are not whole numbers") !=
        std::string::npos);
  CHECK(error_of("shift_ktt.json", "[32, 64", "[0.5, 64") ==
        "shift_ktt.json: parameter SIZE_X has 0.5; whole numbers, truth values and words can be "
        "tuned");
  CHECK(error_of("shift_ktt.json", "\"TargetName\": \"to\"", "\"TargetName\": \"from\"") ==
        "shift_ktt.json: field 'KernelSpecification.ReferenceArguments[0].TargetName' is 'from', "
        "which is no output");
  CHECK(error_of("shift_ktt.json", "\"AccessType\": \"ReadOnly\", ", "") ==
        "shift_ktt.json: output from has no reference data, as others have; give it some, or none "
        "to all");
  CHECK(error_of("add_capture.json", "add_a.bin", "gone.bin") ==
        "add_capture.json: field 'arguments[2].file' is 'gone.bin', which is not there");
  CHECK(error_of("add_capture.json", "\"operator\": \"select\"", "\"operator\": \"warp_size\"") ==
        "add_capture.json: field 'restrictions.operator' is warp_size, which manifests "
        "cannot express");
  CHECK(error_of("add_capture.json", "config_space", "space") ==
        "add_capture.json: has neither ConfigurationSpace, as T1 files have, nor config_space, as "
        "captures of kernel_launcher have");
}
