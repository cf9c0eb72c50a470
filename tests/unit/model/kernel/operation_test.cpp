// operation_test.cpp: Checks operation declarations, and that each mistake names file and field.
#include "model/kernel/operation.hpp"

#include <algorithm>

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "model/kernel/candidate.hpp"
#include "model/kernel/vocabulary.hpp"
#include "model/space/lint.hpp"
#include "model/space/space.hpp"
#include "support/custom_operation.hpp"

using namespace fatune;
using namespace fatune::test;

namespace {

DeviceLimits limits() { return *typical_limits(Arch{90, 'a'}); }

/// The error of loading after one change to the reference's manifest.
std::string reference_error(std::string_view from, std::string_view to) {
  const auto kernels = load_custom(changed(kCustomReference, from, to));
  return kernels ? "" : kernels.error().message;
}

std::string kernel_error(std::string_view from, std::string_view to) {
  const auto kernels = load_custom(kCustomReference, changed(kCustomKernel, from, to));
  return kernels ? "" : kernels.error().message;
}

bool has_macro(const std::vector<std::string>& macros, const std::string& macro) {
  return std::find(macros.begin(), macros.end(), macro) != macros.end();
}

}  // namespace

TEST_CASE("the reference declares, the candidate names the operation") {
  const auto kernels = custom_kernels();
  CHECK(kernels[0]->manifest.role == Role::kAttention);
  CHECK(kernels[1]->manifest.role == Role::kReference);
  REQUIRE(kernels[0]->manifest.operation);
  CHECK(kernels[0]->manifest.operation->name == "scale");
  CHECK(attention()->name == "attention");
  CHECK(attention()->declared() == nullptr);
  REQUIRE(kernels[0]->manifest.operation->declared() != nullptr);
  const DeclaredOperation& operation = *kernels[0]->manifest.operation->declared();
  CHECK(operation.sizes.size() == 2);
  CHECK(operation.tensors.size() == 4);
  CHECK(fill_of(operation.tensors[1]) == Fill{Fill::Kind::kUniform, 0.5, 1});
  CHECK(operation.example() == "--size ROWS=512,COLUMNS=64");
}

TEST_CASE("sizes become a problem with its work, in the declaration's order") {
  const OperationRef declared = custom_kernels().front()->manifest.operation;
  const DeclaredOperation& operation = *declared->declared();
  const auto problem = operation.problem({{"COLUMNS", 64}, {"ROWS", 512}}, Dtype::kF16);
  REQUIRE(problem);
  CHECK(describe(*problem) == "scale ROWS=512,COLUMNS=64 f16");
  CHECK(problem->custom()->flops == 2 * 512 * 64);
  CHECK(problem->custom()->bytes_read == 512 * 64 * 2 + 64 * 4);
  CHECK(problem->custom()->bytes_written == 512 * 64 * 2 + 512 * 4);
  const auto plan = operation.plan(*problem);
  REQUIRE(plan);
  CHECK(plan->tensors[0].shape == std::vector<std::int64_t>{512, 64});
  CHECK(plan->tensors[0].type == Dtype::kF16);
  CHECK_FALSE(plan->tensors[1].type);
  CHECK_FALSE(plan->tolerance);
}

TEST_CASE("sizes that make no problem are told with what would") {
  const OperationRef declared = custom_kernels().front()->manifest.operation;
  const DeclaredOperation& operation = *declared->declared();
  const auto message = [&](const std::vector<NamedSize>& sizes) {
    const auto problem = operation.problem(sizes, Dtype::kF16);
    return problem ? "" : problem.error().message;
  };
  CHECK(message({{"ROWS", 4}}) ==
        "COLUMNS is missing: scale has the sizes ROWS, COLUMNS; for example --size "
        "ROWS=512,COLUMNS=64");
  CHECK(message({{"ROWS", 4}, {"COLUMNS", 4}, {"DEPTH", 1}}) ==
        "DEPTH is no size of scale, which has ROWS, COLUMNS");
  CHECK(message({{"ROWS", 2147418112}, {"COLUMNS", 2147418112}}) == "x would be larger than 1 TiB");
}

TEST_CASE("expressions and templates know the sizes, and nothing of attention") {
  const KernelRef kernel = custom_kernels().front();
  const Problem problem = custom_test_problem();
  const Candidate candidate{kernel, default_config(kernel->manifest), problem};
  const auto macros = macros_of(candidate, limits());
  CHECK(has_macro(macros, "ROWS=512"));
  CHECK(has_macro(macros, "COLUMNS=64"));
  CHECK(has_macro(macros, "DTYPE=1"));
  CHECK(has_macro(macros, "THREADS=64"));
  CHECK(has_macro(macros, "SM_COUNT=132"));
  CHECK(std::none_of(macros.begin(), macros.end(), [](const std::string& macro) {
    return macro.starts_with("BATCH=") || macro.starts_with("SOFTMAX");
  }));
  const auto plan = launch_plan(candidate, limits());
  REQUIRE(plan);
  CHECK(plan->stages[0].grid[0] == 512);
  CHECK(candidate_key(candidate).starts_with("scale scale:ROWS=512,COLUMNS=64:f16 "));
}

TEST_CASE("a space is built as for attention") {
  const auto space = Space::build(custom_kernels().front(), custom_test_problem(), limits());
  REQUIRE(space);
  CHECK(space->raw_size() == 16);
  CHECK(space->size() == 3);  // THREADS * UNROLL <= 64
  CHECK_FALSE(space->default_point());
}

TEST_CASE("a kernel does its own operation only, within its rules") {
  const auto kernels = custom_kernels();
  const auto reason = [&](const Problem& problem) {
    return *unsupported_reason(kernels[0]->manifest, problem, limits());
  };
  CHECK(reason(custom_test_problem()).empty());
  CHECK(reason(Problem{}) == "computes scale, not attention");
  CHECK(reason(custom_test_problem(1, 8192)) == "needs COLUMNS <= 4096: a row stays in registers");
  Problem other = custom_test_problem();
  other.as_custom().operation = "softmax";
  CHECK(reason(other) == "computes scale, not softmax");
}

TEST_CASE("another declaration makes another kernel of the same text") {
  const auto before = custom_kernels();
  const auto after = load_custom(changed(kCustomReference, "\"offset\": 1", "\"offset\": 2"));
  REQUIRE(after);
  CHECK((*after)[0]->text_hash != before[0]->text_hash);
  CHECK((*after)[1]->text_hash != before[1]->text_hash);
}

TEST_CASE("mistakes of a declaration are named by file and field") {
  const std::string file = "scale_reference.json: field ";
  CHECK(reference_error("\"name\": \"scale\",", "\"name\": \"attention\",") ==
        file + "'operation.name' is 'attention', which fatune defines itself");
  CHECK(reference_error("\"name\": \"ROWS\"", "\"name\": \"SM_COUNT\"")
            .find("'operation.sizes[0].name' is 'SM_COUNT', a name that fatune") !=
        std::string::npos);
  CHECK(reference_error("\"name\": \"COLUMNS\"", "\"name\": \"ROWS\"")
            .find("'operation.sizes[1].name' is 'ROWS'") != std::string::npos);
  CHECK(reference_error("[\"ROWS\", \"COLUMNS\"]", "[\"ROWS\", \"COLUMS\"]")
            .find("'operation.tensors[0].shape[1]'") != std::string::npos);
  CHECK(reference_error("[\"ROWS\", \"COLUMNS\"]", "[]").find("'operation.tensors[0].shape'") !=
        std::string::npos);
  CHECK(reference_error("\"fill\": \"normal\"", "\"fill\": \"gauss\"") ==
        file +
            "'operation.tensors[0].fill' is 'gauss', but must be one of normal, uniform, zeros, "
            "constant, file");
  CHECK(reference_error("\"fill\": \"normal\"", "\"fill\": \"zeros\", \"scale\": 2")
            .find("'operation.tensors[0].scale' is for tensors that are filled with") !=
        std::string::npos);
  CHECK(reference_error("\"fill\": \"normal\"", "\"fill\": \"constant\"")
            .find("'operation.tensors[0].value' is missing") != std::string::npos);
  CHECK(reference_error(", \"fill\": \"normal\"", "")
            .find("'operation.tensors[0].fill' is missing") != std::string::npos);
  CHECK(reference_error("\"output\": true}", "\"output\": true, \"fill\": \"zeros\"}")
            .find("'operation.tensors[2].fill' is for inputs") != std::string::npos);
  CHECK(reference_error("\"type\": \"f32\"", "\"type\": \"f99\"")
            .find("'operation.tensors[1].type' is 'f99', but must be one of io") !=
        std::string::npos);
  CHECK(reference_error("\"name\": \"sums\"", "\"name\": \"y\"")
            .find("'operation.tensors[3].name' is 'y', which names another tensor") !=
        std::string::npos);
  CHECK(reference_error("\"zeros\"]", "\"large_logits\"]")
            .find("'operation.hard_inputs[1]' is 'large_logits'") != std::string::npos);
  CHECK(reference_error("{\"ROWS\": 1, \"COLUMNS\": 1}", "{\"ROWS\": 1}")
            .find("'operation.edges[0]' is wrong: COLUMNS is missing") != std::string::npos);
  CHECK(reference_error("[{\"ROWS\": 512, \"COLUMNS\": 64}]", "[]")
            .find("'operation.typical' must not be empty") != std::string::npos);
  CHECK(reference_error("2 * ROWS * COLUMNS", "2 * HEADS")
            .find("'operation.least.flops': '2 * HEADS' uses the unknown name") !=
        std::string::npos);
  CHECK(
      reference_error("\"edges\"", "\"edge\"").find("'operation.edge' is unknown; did you mean") !=
      std::string::npos);
}

TEST_CASE("a declared tolerance has limits and a reason") {
  const auto with = [](const std::string& tolerance) {
    return "\"tolerance\": " + tolerance + ", \"least\"";
  };
  CHECK(reference_error("\"least\"", with(R"({"absolute": 1e-3, "why": ""})"))
            .find("'operation.tolerance.why' must not be empty") != std::string::npos);
  CHECK(reference_error("\"least\"", with(R"({"why": "x"})"))
            .find("must have an 'absolute' or a 'relative' above 0") != std::string::npos);
  CHECK(reference_error("\"least\"", with(R"({"relative": 0.5, "why": "x"})"))
            .find("'operation.tolerance.relative' must be below 0.25") != std::string::npos);
  const auto kernels = load_custom(
      changed(kCustomReference, "\"least\"", with(R"({"relative": 0.01, "why": "x"})")));
  REQUIRE(kernels);
  CHECK((*kernels)[0]->manifest.operation->declared()->tolerance ==
        DeclaredTolerance{0, 0.01, "x"});
}

TEST_CASE("who declares is the reference, who names is not") {
  CHECK(reference_error("\"role\": \"reference\",", "").find("field 'role' must be 'reference'") !=
        std::string::npos);
  CHECK(kernel_error("\"operation\": \"scale\"", "\"operation\": \"scales\"") ==
        "scale.json: field 'operation' is 'scales', which no manifest of role 'reference' in this "
        "folder declares; did you mean 'scale'?");
  CHECK(kernel_error("\"operation\"", "\"role\": \"attention\", \"operation\"")
            .find("field 'role' is 'attention'") != std::string::npos);
  CHECK(kernel_error("\"operation\"", "\"role\": \"reference\", \"operation\"")
            .find("field 'operation' must be an object") != std::string::npos);
  CHECK(kernel_error("\"operation\"", "\"role\": \"fault\", \"operation\"")
            .find("fixtures of attention") != std::string::npos);
  const std::string twice =
      changed(changed(kCustomReference, "\"scale_reference\"", "\"scale_again\""),
              "scale_reference.cu", "scale.cu");
  CHECK(load_custom(kCustomReference, twice)
            .error()
            .message.find("another manifest declares already") != std::string::npos);
}

TEST_CASE("names have any case, and texts may be left out") {
  std::string reference(kCustomReference), kernel(kCustomKernel);
  for (const char* text :
       {R"("summary": "one thread an element",)", R"("summary": "y = x * w, w by columns",)",
        R"(, "meaning": "rows of x and y")", R"(, "meaning": "elements of a row")",
        R"("typical": [{"ROWS": 512, "COLUMNS": 64}],)"})
    reference = changed(reference, text, "");
  for (const char* text :
       {R"("summary": "a block a row",)", R"(, "why": "a row stays in registers")",
        R"(, "meaning": "threads of a block")", R"(, "why": "threads without work")"})
    kernel = changed(kernel, text, "");
  const auto renamed = [](std::string text) {
    for (const auto& [from, to] : {std::pair("ROWS", "n_rows"),
                                   {"COLUMNS", "nColumns"},
                                   {"THREADS", "block_size_x"},
                                   {"\"x\"", "\"X\""}})
      for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos;)
        text.replace(at, std::string_view(from).size(), to);
    return text;
  };
  const auto kernels = load_custom(renamed(reference), renamed(kernel));
  REQUIRE(kernels);
  const Manifest& manifest = kernels->front()->manifest;
  CHECK(manifest.parameters[0].name == "block_size_x");
  const DeclaredOperation& operation = *manifest.operation->declared();
  CHECK(operation.example() == "--size n_rows=1,nColumns=1");  // an edge
  const auto problem = operation.problem({{"n_rows", 2}, {"nColumns", 8192}}, Dtype::kF16);
  REQUIRE(problem);
  CHECK(*unsupported_reason(manifest, *problem, limits()) == "needs nColumns <= 4096");
}

TEST_CASE("what only attention has is refused") {
  CHECK(kernel_error("\"dtypes\": [\"f16\", \"bf16\"], ",
                     "\"dtypes\": [\"f16\"], \"masks\": [\"none\"], ") ==
        "scale.json: field 'supports.masks' is of attention, not of scale");
  CHECK(kernel_error("\"stages\"", "\"tensor_maps\": [], \"stages\"").find("'tensor_maps'") !=
        std::string::npos);
  CHECK(kernel_error("\"name\": \"UNROLL\"", "\"name\": \"COLUMNS\"")
            .find("is 'COLUMNS', a name that fatune or the operation's sizes define") !=
        std::string::npos);
  CHECK(kernel_error("[\"x\", \"w\", \"y\", \"sums\"]", "[\"q\", \"w\", \"y\", \"sums\"]")
            .find("'stages[0].arguments[0]' is 'q'") != std::string::npos);
  CHECK(kernel_error("[\"ROWS\", \"1\", \"1\"]", "[\"BATCH\", \"1\", \"1\"]")
            .find("uses the unknown name 'BATCH'") != std::string::npos);
}

TEST_CASE("tensors may have elements of C's types") {
  const auto w = [](std::string_view fields) {
    return reference_error(
        "\"type\": \"f32\", \"shape\": [\"COLUMNS\"], \"fill\": \"uniform\", "
        "\"scale\": 0.5, \"offset\": 1",
        "\"shape\": [\"COLUMNS\"], " + std::string(fields));
  };
  for (const PlainFacts& type : plain_types())
    CHECK(w(fmt::format(R"("type": "{}", "fill": "uniform")", type.name)).empty());
  CHECK(w(R"("type": "i32", "fill": "uniform", "from": -5, "to": 5)").empty());
  CHECK(w(R"("type": "u8", "fill": "constant", "value": 255)").empty());
  const std::string where = "scale_reference.json: field 'operation.tensors[1].";
  CHECK(w(R"("type": "i32", "fill": "normal")") ==
        where + "fill' is normal, but elements of i32 are uniform, zeros, constant or file");
  CHECK(w(R"("type": "i32", "fill": "uniform", "scale": 2)") ==
        where + "scale' is for floating-point tensors; integers have from and to");
  CHECK(w(R"("type": "f32", "fill": "uniform", "from": 2)") ==
        where + "from' is for integers that are filled with uniform");
  CHECK(w(R"("type": "u8", "fill": "uniform", "to": 256)") ==
        where + "to' is 256, but u8 holds 0 to 255");
  CHECK(w(R"("type": "i16", "fill": "uniform", "from": 3, "to": 2)") ==
        where + "to' is 2, which is below 'from', 3");
  CHECK(w(R"("type": "bool", "fill": "constant", "value": 0.5)") ==
        where + "value' is 0.5, which is not a whole number, as bool needs");
  CHECK(w(R"("type": "int", "fill": "uniform")").find("tensors[1].type' is 'int'") !=
        std::string::npos);
}

TEST_CASE("integers have the fill that is declared, or the usual one of the type") {
  const auto fill = [](std::string type, std::optional<std::int64_t> from = {},
                       std::optional<std::int64_t> to = {}) {
    TensorSpec spec;
    spec.type = std::move(type);
    spec.fill = "uniform";
    spec.from = from;
    spec.to = to;
    return fill_of(spec);
  };
  CHECK(fill("i8") == Fill{Fill::Kind::kWhole, 255, -128});
  CHECK(fill("bool") == Fill{Fill::Kind::kWhole, 1, 0});
  CHECK(fill("i64") == Fill{Fill::Kind::kWhole, 2000, -1000});
  CHECK(fill("u32") == Fill{Fill::Kind::kWhole, 1000, 0});
  CHECK(fill("u32", 5000) == Fill{Fill::Kind::kWhole, 0, 5000});
  CHECK(fill("i32", 0, 9) == Fill{Fill::Kind::kWhole, 9, 0});
}

TEST_CASE("a tolerance is for floating-point outputs") {
  std::string text = changed(kCustomReference, R"("hard_inputs")",
                             R"("tolerance": {"absolute": 1}, "hard_inputs")");
  text = changed(text, R"({"name": "y", )", R"({"name": "y", "type": "u8", )");
  CHECK(load_custom(text));
  text = changed(text, R"({"name": "sums", "type": "f32")", R"({"name": "sums", "type": "i64")");
  const auto kernels = load_custom(text);
  REQUIRE_FALSE(kernels);
  CHECK(kernels.error().message ==
        "scale_reference.json: field 'operation.tolerance' is for floating-point outputs; integers "
        "must be equal to the reference's");
  const auto exact = load_custom(changed(text, R"("tolerance": {"absolute": 1}, )", ""));
  REQUIRE(exact);
  const auto plan = (*exact)[0]->manifest.operation->plan(custom_test_problem());
  REQUIRE(plan);
  CHECK_FALSE(plan->has_low_precision());
  CHECK(plan->tensors[2].type_word() == "u8");
  CHECK(plan->tensors[3].bytes() == 512 * 8);
  CHECK(*read_value<OperationPlan>(to_json(*plan), "x.json") == *plan);
}

TEST_CASE("constants are inputs of an operation, which fill variables of the template") {
  const auto with = [](std::string_view constants) {
    return load_custom(kCustomReference,
                       changed(kCustomKernel, "\"stages\"",
                               "\"constants\": " + std::string(constants) + ", \"stages\""));
  };
  const auto error = [&](std::string_view constants) { return with(constants).error().message; };
  const auto kernels = with(R"({"ops::c_w": "w"})");
  REQUIRE(kernels);
  const KernelRef kernel = kernels->front();
  const auto plan =
      launch_plan({kernel, default_config(kernel->manifest), custom_test_problem(3, 64)}, limits());
  REQUIRE(plan);
  REQUIRE(plan->constants.size() == 1);
  CHECK(plan->constants[0].symbol == "ops::c_w");
  CHECK(plan->constants[0].bytes == 64 * 4);
  CHECK(kernel->text_hash != custom_kernels().front()->text_hash);
  CHECK(error(R"({"c_w": "v"})") ==
        "scale.json: field 'constants.c_w' is 'v', which is not one of the inputs x, w");
  CHECK(error(R"({"c_w": "y"})").find("is 'y', which is not one of") != std::string::npos);
  CHECK(error(R"({"c w": "w"})") ==
        "scale.json: field 'constants' has 'c w', which is no variable's name");
  const auto dependent = load_custom(
      kCustomReference,
      changed(changed(kCustomKernel, "\"stages\"", "\"constants\": {\"c_w\": \"w\"}, \"stages\""),
              "\"grid\"", "\"dependent\": \"1\", \"grid\""));
  REQUIRE_FALSE(dependent);
  CHECK(dependent.error().message ==
        "scale.json: field 'stages[0].dependent' excludes constants: the gate early_start "
        "exchanges inputs after their copy");
}

TEST_CASE("compiler options and macros of its own are part of a kernel's identity") {
  const auto with = [](std::string_view fields) {
    return load_custom(kCustomReference,
                       changed(kCustomKernel, "\"stages\"", std::string(fields) + ", \"stages\""));
  };
  const auto error = [&](std::string_view fields) { return with(fields).error().message; };
  const auto macros = [](const KernelRef& kernel) {
    const Candidate candidate{kernel, default_config(kernel->manifest), custom_test_problem(3, 64)};
    return macros_of(candidate, limits());
  };
  const std::string plain = custom_kernels().front()->text_hash;
  const auto fast = with(R"("compiler_options": ["-use_fast_math", "-DSIZE=4", "--std=c++20"])");
  REQUIRE(fast);
  CHECK(fast->front()->text_hash != plain);
  CHECK(error(R"("compiler_options": ["-I /usr/include"])")
            .starts_with("scale.json: field 'compiler_options' has '-I /usr/include', which is "));
  const auto defined = with(R"("defines": {"SIZE": "THREADS", "HALF": "THREADS // 2 / 3"})");
  REQUIRE(defined);
  CHECK(defined->front()->text_hash != plain);
  const KernelRef kernel = defined->front();
  CHECK(has_macro(macros(kernel), "SIZE=64"));
  CHECK(has_macro(macros(kernel), "HALF=10.666666666666666"));
  CHECK_FALSE(has_macro(macros(kernel), "THREADS=64"));
  const Candidate candidate{kernel, default_config(kernel->manifest), custom_test_problem(3, 64)};
  CHECK(instance_of(candidate, "scale<float, THREADS>") == "scale<float, 64>");
  CHECK(has_macro(macros(custom_kernels().front()), "THREADS=64"));
  CHECK(error(R"("defines": {"SIZE": "THREAD"})")
            .starts_with("scale.json: field 'defines.SIZE': 'THREAD' uses the unknown name"));
  CHECK(error(R"("defines": {"while": "1"})") ==
        "scale.json: field 'defines.while' is 'while', a keyword of C++");
}

TEST_CASE("an operation whose tensors all have types of their own has no element type") {
  std::string reference(kCustomReference), kernel(kCustomKernel);
  reference = changed(reference, R"({"name": "x", )", R"({"name": "x", "type": "f32", )");
  const std::string one_left =
      changed(reference, R"("supports": {"dtypes": ["f16", "bf16"]},)", "");
  reference = changed(one_left, R"({"name": "y", )", R"({"name": "y", "type": "f64", )");
  const auto both = load_custom(reference, kernel);
  REQUIRE_FALSE(both);
  CHECK(both.error().message ==
        "scale.json: field 'supports.dtypes' must be left out, as the reference of scale does");
  kernel = changed(kernel, R"("dtypes": ["f16", "bf16"], )", "");
  const auto wanting = load_custom(one_left, kernel);
  REQUIRE_FALSE(wanting);
  CHECK(wanting.error().message ==
        "scale_reference.json: field 'supports.dtypes' is missing: it lists the types that tensors "
        "of type io may have, as y");
  const auto kernels = load_custom(reference, kernel);
  REQUIRE(kernels);
  const DeclaredOperation& operation = *kernels->front()->manifest.operation->declared();
  const auto problem = operation.problem({{"ROWS", 3}, {"COLUMNS", 64}}, Dtype::kBf16);
  REQUIRE(problem);
  CHECK(describe(*problem) == "scale ROWS=3,COLUMNS=64");
  CHECK(key(*problem) == "scale:ROWS=3,COLUMNS=64");
  CHECK(*read_value<Problem>(to_json(*problem), "x.json") == *problem);
  CHECK(unsupported_reason(kernels->front()->manifest, *problem, limits())->empty());
}

TEST_CASE("arguments may be values of a type and an expression") {
  const auto with = [](std::string_view argument) {
    return load_custom(kCustomReference,
                       changed(kCustomKernel, "\"y\", \"sums\"",
                               "\"y\", \"sums\", \"" + std::string(argument) + "\""));
  };
  const auto planned = [&](std::string_view argument, std::int64_t rows) -> std::string {
    const auto kernels = with(argument);
    if (!kernels) return kernels.error().message;
    const KernelRef kernel = kernels->front();
    const auto plan = launch_plan(
        {kernel, default_config(kernel->manifest), custom_test_problem(rows, 64)}, limits());
    return plan ? plan->stages.front().arguments.back() : plan.error().message;
  };
  CHECK(planned("i32 COLUMNS", 3) == "i32 64");
  CHECK(planned("unsigned int (ROWS + 1) / 2", 3) == "u32 2");
  CHECK(planned("long long -ROWS * THREADS", 3) == "i64 -192");
  CHECK(planned("float 1e-5", 3) == "f32 1e-05");
  CHECK(planned("bool ROWS > 2", 3) == "bool 1");
  const std::string where = "scale.json: field 'stages[0].arguments[4]'";
  CHECK(planned("int (ROWS + 1) / 2", 2) ==
        where + ": '(ROWS + 1) / 2' is 1.5, which is not a whole number, as i32 needs");
  CHECK(planned("int ROWS * 2147483648", 1) ==
        where + ": 'ROWS * 2147483648' is 2147483648, but i32 holds -2147483648 to 2147483647");
  CHECK(planned("int COLUMS", 1) ==
        where + ": 'COLUMS' uses the unknown name 'COLUMS' (did you mean 'COLUMNS'?)");
  CHECK(planned("half 1", 1) ==
        where +
            " is 'half 1', which is neither a name nor a value as \"i32 8\", whose type is one "
            "of f32, f64, i8, u8, i16, u16, i32, u32, i64, u64, bool");
  CHECK(planned("int", 1).find("is 'int', which is") != std::string::npos);
  CHECK((*with("i32 8")).front()->text_hash != (*with("i32 9")).front()->text_hash);
}

TEST_CASE("the lint looks at typical problems and at every tensor") {
  const auto findings = [](std::string_view from, std::string_view to) {
    const auto kernels = load_custom(kCustomReference, changed(kCustomKernel, from, to));
    REQUIRE(kernels);
    std::string all;
    for (const LintFinding& each : lint(*kernels->front()))
      all += std::string(name(each.severity)) + ": " + each.message + "\n";
    return all;
  };
  const std::string usual = findings("a block a row", "a block a row");
  CHECK(usual.find("the default config is ruled out for scale ROWS=512,COLUMNS=64 f16") !=
        std::string::npos);
  CHECK(usual.find("among its arguments") == std::string::npos);
  CHECK(findings("\"w\", \"y\", \"sums\"", "\"w\", \"y\"")
            .find("error: no stage has sums among its arguments, so it stays unwritten") !=
        std::string::npos);
  CHECK(findings("\"w\", \"y\"", "\"y\"").find("warning: no stage has w among its arguments") !=
        std::string::npos);
  CHECK(findings("\"constraints\": [",
                 "\"constraints\": [{\"require\": \"COLUMNS % UNROLL == 0\", \"why\": \"edges\"},")
            .find("excludes nothing") == std::string::npos);
  CHECK(findings("COLUMNS <= 4096", "COLUMNS > 4096")
            .find("no typical problem is supported, so no space was examined") !=
        std::string::npos);
}
