// declare_test.cpp: Checks what statements about a CUDA file declare, and how faults are told.
#include "model/declaring/declare.hpp"

#include <algorithm>

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "core/file.hpp"
#include "core/text.hpp"
#include "model/declaring/declaration.hpp"
#include "support/temporary_folder.hpp"

using namespace fatune;
using namespace fatune::test;

namespace {

constexpr const char* kAdd = R"(
//@ size n=1000
//@ array a, b, c: [n]
//@ output c
//@ param B=32..128:*2
//@ grid n / B
//@ block B
__global__ void add(float* c, const float* a, const float* b, int n) {}
)";

/// Reads "--word text" of lines as options.
std::vector<Statement> typed(std::string_view lines) {
  Faults faults;
  std::vector<Statement> statements = read_statements(lines, "typed", "--", faults);
  REQUIRE(faults.status());
  return statements;
}

Result<Declared> declare(std::string_view text, std::string_view options = "",
                         const std::string& file = "k.cu") {
  const TemporaryFolder folder;
  REQUIRE(replace_file(folder / "k.cu", file == "k.cu" ? text : kAdd));
  if (file == "k.cu") return declare_source(folder / file, typed(options));
  REQUIRE(replace_file(folder / file, text));
  return declare_text(folder / file, typed(options));
}

/// Returns a manifest, or null.
Json manifest(const Declared& declared, const std::string& name) {
  const auto file = std::ranges::find(declared.files, name + ".json", &SourceFile::path);
  return file == declared.files.end() ? Json() : *parse_json(file->text, name);
}

Json manifest_of(std::string_view text, std::string_view options = "") {
  const auto declared = declare(text, options);
  INFO((declared ? "" : declared.error().message));
  REQUIRE(declared);
  return manifest(*declared, declared->kernel);
}

/// Returns the faults, a line each, without the folder.
std::vector<std::string> faults_of(std::string_view text, std::string_view options = "") {
  const auto declared = declare(text, options);
  REQUIRE_FALSE(declared);
  std::vector<std::string> lines;
  for (const std::string& line : split(declared.error().message, '\n'))
    lines.push_back(line.substr(std::min(line.find("k.cu"), line.find("typed"))));
  return lines;
}

bool tells(const std::vector<std::string>& faults, std::string_view fault) {
  UNSCOPED_INFO(join(faults, "\n"));
  return std::ranges::count(faults, fault) == 1;
}

}  // namespace

TEST_CASE("the text of the file is kept, and its signature gives types and order") {
  const auto declared = declare(kAdd);
  REQUIRE(declared);
  CHECK(declared->kernel == "add");
  CHECK(declared->sizes == std::vector<std::string>{"n=1000"});
  REQUIRE(declared->files.size() == 2);
  CHECK(declared->files[0].path == "k.cu");
  CHECK(declared->files[0].text == kAdd);
  const Json add = manifest(*declared, "add");
  CHECK(add["role"] == "reference");
  CHECK(add["stages"][0]["arguments"] == Json({"c", "a", "b", "i32 n"}));
  CHECK(add["stages"][0]["grid"] == Json({"ceil_div(n, B)", "1", "1"}));
  CHECK(add["parameters"][0]["values"] == Json({32, 64, 128}));
  CHECK(add["operation"]["sizes"] == Json::parse(R"([{"name": "n", "runtime": true}])"));
  CHECK(add["operation"]["tensors"][0] ==
        Json::parse(R"({"name": "a", "type": "f32", "shape": ["n"], "fill": "normal"})"));
  CHECK(add["operation"]["tensors"][2] ==
        Json::parse(R"({"name": "c", "type": "f32", "shape": ["n"], "output": true})"));
}

TEST_CASE("typed statements replace lines of the same word and name, and add others") {
  const Json add = manifest_of(kAdd, "--param B=64 C=a,b\n--where B > 32\n--array a[n] zeros");
  CHECK(add["parameters"][0]["values"] == Json({64}));
  CHECK(add["parameters"][1]["values"] == Json({"a", "b"}));
  CHECK(add["constraints"] == Json::parse(R"([{"require": "B > 32"}])"));
  CHECK(add["operation"]["tensors"][0]["fill"] == "zeros");
  CHECK(tells(faults_of(kAdd, "--param B=64\n--param B=32"),
              "typed:2: param: B is said already, by typed:1: param"));
}

TEST_CASE("a text file has the same lines, and names the CUDA file") {
  const auto declared =
      declare("# a comment\nfile: k.cu\n\nparam: B=64\nsize n=5, 7", "", "k.fatune");
  REQUIRE(declared);
  CHECK(declared->sizes == std::vector<std::string>{"n=5", "n=7"});
  CHECK(manifest(*declared, "add")["parameters"][0]["values"] == Json({64}));
  CHECK(
      declare("size: n=5", "", "k.fatune")
          .error()
          .message.ends_with("k.fatune: has no line 'file: kernel.cu', which names the CUDA file"));
}

TEST_CASE("the first config that obeys the rules is the default") {
  CHECK(manifest_of(kAdd, "--where B > 32")["parameters"][0]["default"] == 64);
  CHECK(manifest_of(kAdd, "--default B=128")["parameters"][0]["default"] == 128);
  CHECK(manifest_of(kAdd, "--param B=2048,1024")["parameters"][0]["default"] == 1024);
  CHECK(tells(faults_of(kAdd, "--where B > 128"),
              "k.cu: no config obeys the rules; 'B > 128' leaves out 3 of 3"));
  CHECK(tells(faults_of(kAdd, "--default B=3"), "typed:1: default: B=3 is not one of [32,64,128]"));
}

TEST_CASE("a reference of the file is compiled with the default config") {
  const auto declared =
      declare(std::string(kAdd) + "__global__ void plain(float* c, float* a, float* b, int n) {}",
              "--reference plain grid n / 32 block 32\n--where B > 32");
  REQUIRE(declared);
  const Json plain = manifest(*declared, "plain");
  CHECK(plain["role"] == "reference");
  CHECK(plain["parameters"] == Json::parse(R"([{"name": "B", "values": [64], "default": 64}])"));
  CHECK_FALSE(plain.contains("constraints"));
  CHECK(manifest(*declared, "add")["operation"] == plain["operation"]["name"]);
}

TEST_CASE("which function is tuned is asked where lines do not say") {
  const std::string two = "__global__ void a(int* x) {}\n__global__ void b(int* x) {}\n";
  const std::string rest =
      "\n//@ param P=1,2\n//@ size n=8\n//@ array x[n] zeros out\n//@ grid 1\n//@ block 1\n";
  const std::string fault =
      "k.cu: say which function is tuned: kernel NAME; the __global__ functions of ";
  CHECK(manifest_of(two + rest, "--kernel b")["name"] == "b");
  CHECK(manifest_of("__global__ void A(int* x) {}" + rest)["name"] == "a");
  CHECK(manifest_of(rest + two)["name"] == "a");
  CHECK(faults_of(two + rest).front().starts_with(fault));
  CHECK(faults_of(rest + two, "--reference a grid 1 block 1").front().starts_with(fault));
  CHECK(faults_of(two + rest, "--kernel c")
            .front()
            .starts_with("typed:1: kernel: there is no function c; "));
}

TEST_CASE("quoted headers beside the file go with it, and edges complete each other") {
  const TemporaryFolder folder;
  REQUIRE(replace_file(folder / "k.cu",
                       "#include \"a.cuh\"\n#include <cuda_fp16.h>\n" + std::string(kAdd)));
  REQUIRE(replace_file(folder / "a.cuh", "#include \"b.cuh\"\n"));
  REQUIRE(replace_file(folder / "b.cuh", "#pragma once\n"));
  const auto declared = declare_source(folder / "k.cu", typed("--size m=2, 3\n--edge n=1, 7"));
  REQUIRE(declared);
  REQUIRE(declared->files.size() == 4);
  CHECK(declared->files[1].path == "a.cuh");
  CHECK(declared->files[2].path == "b.cuh");
  CHECK(declared->sizes == std::vector<std::string>{"n=1000,m=2", "n=1000,m=3"});
  const Json add = manifest(*declared, "add");
  CHECK(add["needs_toolkit_headers"] == true);
  CHECK(add["operation"]["edges"] == Json::parse(R"([{"n": 1, "m": 2}, {"n": 7, "m": 2}])"));
}

TEST_CASE("values are lists, ranges and words") {
  CHECK(*parse_values("1, 2,4") == Json({1, 2, 4}));
  CHECK(*parse_values("1..4") == Json({1, 2, 3, 4}));
  CHECK(*parse_values("128..300:64") == Json({128, 192, 256}));
  CHECK(*parse_values("32..256:*2, -1") == Json({32, 64, 128, 256, -1}));
  CHECK(*parse_values("true,false") == Json({true, false}));
  CHECK(*parse_values("row,col") == Json({"row", "col"}));
  for (const char* wrong :
       {"", "1-8", "8..1", "0..8:*2", "1..8:0", "1..8:*1", "1..", "1..5000", "a b"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_values(wrong));
  }
}

TEST_CASE("divisions round up, inside of brackets and calls too") {
  CHECK(rounded_up("n / B") == "ceil_div(n, B)");
  CHECK(rounded_up("(n + B - 1) / B") == "ceil_div((n), B)");
  CHECK(rounded_up("(n + B - 1) / (2 * B)") == "ceil_div((n + B - 1), (2 * B))");
  CHECK(rounded_up("w / (A * B) + 1") == "ceil_div(w, (A * B)) + 1");
  CHECK(rounded_up("n * t / B / C") == "ceil_div(ceil_div(n * t, B), C)");
  CHECK(rounded_up("min(n / B, 64)") == "min(ceil_div(n, B), 64)");
  CHECK(rounded_up("-n / B == 1 and 1") == "- ceil_div(n, B) == 1 and 1");
}

TEST_CASE("signatures may have templates, attributes, vectors and arrays") {
  constexpr const char* kText = R"(
/* __global__ void commented(int a) {} */
template <typename T, int N = 4>
__global__ void __launch_bounds__(B < 8 ? 1 : 2) scale(T* __restrict__ y, const T x[], T alpha, float4* v,
                                                        unsigned long long n) {}
namespace ops { extern "C" __global__ void other(struct S s, const half* const h) {} }
__global__ void prototype(int n);
__constant__ float table[64], single;
)";
  const auto functions = global_functions(kText);
  REQUIRE(functions.size() == 2);
  CHECK(functions[0].template_names == std::vector<std::string>{"T", "N"});
  const auto parameters = parameters_of(functions[0], "scale<double, 8>");
  REQUIRE(parameters.size() == 5);
  CHECK((parameters[0].type == "double" && parameters[0].pointer && parameters[0].written));
  CHECK((parameters[1].name == "x" && parameters[1].pointer && !parameters[1].written));
  CHECK((parameters[2].type == "double" && !parameters[2].pointer));
  CHECK(element_type(parameters[3].type)->count == 4);
  CHECK(element_type(parameters[4].type)->name == "u64");
  CHECK(element_type("unsigned short int")->name == "u16");
  CHECK_FALSE(element_type("long double"));
  CHECK(functions[1].parameters[1].type == "half");
  CHECK_FALSE(functions[1].parameters[1].written);
  CHECK(constant_type(kText, "ops::table") == "float");
  CHECK(constant_type(kText, "tabl").empty());
}

TEST_CASE("arrays have extents, fills and uses") {
  const Json tensors = manifest_of(R"(
//@ size n=8
//@ array f[n, 2 * n] uniform(0, 3) out
//@ array g, h: [n] normal(5, 2)
//@ array i[n] uniform(0, 3)
//@ array j[n] file j.npy
//@ constant table = h
//@ param P=1,2
//@ grid 1
//@ block 32
__constant__ double table[8];
__global__ void k(float* f, float4* g, int* i, bool* j) {})")["operation"]["tensors"];
  CHECK(tensors[0] == Json::parse(R"({"name": "f", "type": "f32", "shape": ["n", "2 * n"],
    "output": true, "fill": "uniform", "scale": 1.5, "offset": 1.5})"));
  CHECK(tensors[1] == Json::parse(R"({"name": "g", "type": "f32", "shape": ["n", "4"],
    "fill": "normal", "scale": 2.0, "offset": 5.0})"));
  CHECK(tensors[2]["type"] == "f64");
  CHECK(tensors[3] == Json::parse(R"({"name": "i", "type": "i32", "shape": ["n"],
    "fill": "uniform", "from": 0, "to": 3})"));
  CHECK(tensors[4]["fill"] == "file");
  CHECK(tensors[4]["file"].get<std::string>().ends_with("/j.npy"));
}

TEST_CASE("all independent faults are told at once, with file, line and word") {
  const auto faults = faults_of(R"(
//@ size n=10, 20 m=1,2,3
//@ parm a=1
//@ param a=8..1 b=1-3
//@ where q > 3
//@ array x[n, k], y normal
//@ grid n / blok
//@ output zz
//@ tolerance 1e-4
//@ constant table=x
//@ default e=2
__global__ void k(float* x, const int* u, int l, S s) {})");
  for (const char* fault :
       {"k.cu:3: parm: is an unknown word; did you mean param?",
        "k.cu:4: param: a: '8..1' has no values, as it does not ascend",
        "k.cu:4: param: b: '1-3' is no value; write 1,2,4, 1..8, 128..1024:64, 32..1024:*2, or "
        "words",
        "k.cu: size n has 2 values, but another has 3",
        "k.cu:6: array: y has no extents; write y[n]", "k.cu:8: output: there is no array zz",
        "k.cu:5: where: 'q > 3' uses the unknown name 'q'",
        "k.cu:6: array: 'k' uses the unknown name 'k'",
        "k.cu:7: grid: 'n / blok' uses the unknown name 'blok'",
        "k.cu: no block is said; write 1 to 3 expressions, such as: block BLOCK",
        "k.cu: parameter u of k is a pointer, but u is no array; add: array u[n]",
        "k.cu: parameter l of k has no value; add: size l=N or scalar l=X",
        "k.cu: no array is an output; add: output x", "k.cu:6: array: no launch takes y",
        "k.cu:10: constant: the file has no __constant__ variable table",
        "k.cu:11: default: there is no param e",
        "k.cu:9: tolerance: '1e-4' is not of the form relative=1e-4 absolute=1e-6"})
    CHECK(tells(faults, fault));
}

TEST_CASE("brackets, numbers of fills and scalars that nothing takes are faults") {
  const auto faults = faults_of(kAdd, "--array b: [n\n--array a: [n] uniform(1)\n--scalar x=1");
  CHECK(tells(faults, "typed:1: array: has a bracket that is not closed, or not opened"));
  CHECK(tells(faults, "typed:3: scalar: no launch takes x"));
  CHECK(std::ranges::any_of(faults, [](const std::string& each) {
    return each.starts_with("typed:2: array: 'uniform' of a has other numbers; write out,");
  }));
  CHECK(parse_values("1..8:0").error().message == "'1..8:0' must step by 1 or more");
}

TEST_CASE("faults of options alone are of usage, others of a file") {
  Faults faults;
  faults.add("--param", "x: '' is no value");
  CHECK(faults.status().error().kind == ErrorKind::kUsage);
  faults.add("k.cu:3: param", "y: '' is no value");
  CHECK(faults.status().error().kind == ErrorKind::kFile);
}

TEST_CASE("launches have their own arguments, and refuse what one module cannot do") {
  constexpr const char* kSum = R"(
//@ size n=1000
//@ param B=32,64 G=8
//@ array x[n]
//@ array part[G] scratch
//@ array total[1] out
//@ launch sum(part, x, n) grid G block B
//@ launch sum(total, part, G) grid 1 block B shared 4 * B
__global__ void sum(float* to, const float* from, long long count) {})";
  const Json sum = manifest_of(kSum);
  CHECK(sum["scratch"][0] == Json({{"name", "part"}, {"bytes", "4 * (G)"}}));
  CHECK(sum["stages"][0]["arguments"] == Json({"part", "x", "i64 n"}));
  CHECK(sum["stages"][1]["arguments"] == Json({"total", "part", "i64 G"}));
  CHECK(sum["stages"][1]["shared_bytes"] == "4 * B");
  CHECK(sum["operation"]["sizes"][0]["runtime"] == true);
  const auto with = faults_of(kSum, "--launch sum(total, x, n) grid 1 block B with G=1");
  CHECK(with.front().find("has 'with', but all launches have the same macros") !=
        std::string::npos);
  constexpr const char* kTwo = R"(
//@ size n=8
//@ param P=1,2
//@ array y[n] out
//@ array x[n]
//@ launch one<2>(y, x) grid 1 block 1
template <int N> __global__ void one(float* to, const float* from) {})";
  CHECK(
      faults_of(kTwo, "--launch one<1>(y, x) grid 1 block 1") ==
      std::vector<std::string>{
          "typed:1: launch: launches one with other template arguments; write a second function"});
  CHECK(manifest_of(kTwo, "--reference one<1>(y, x) grid 1 block 1")["operation"] == "one_of_file");
  CHECK(faults_of(kSum, "--grid 3").front().ends_with("excludes 'launch', which says the same"));
  CHECK(faults_of(kSum, "--launch sum(x) grid 1 block 1")
            .front()
            .ends_with("sum takes 3 arguments, not 1"));
}
