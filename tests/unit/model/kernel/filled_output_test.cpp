// filled_output_test.cpp: Checks outputs that are read, data files and uncounted shared memory.
#include <fstream>

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "model/kernel/candidate.hpp"
#include "model/space/lint.hpp"
#include "support/custom_operation.hpp"
#include "support/temporary_folder.hpp"

using namespace fatune;
using namespace fatune::test;

namespace {

constexpr std::string_view kSums = R"("shape": ["ROWS"], "output": true)";
constexpr std::string_view kW =
    R"("shape": ["COLUMNS"], "fill": "uniform", "scale": 0.5, "offset": 1)";
constexpr std::string_view kFromFile = R"("shape": ["64"], "fill": "file", "file": "w.npy")";
const std::string kWhere = "scale_reference.json: field 'operation.tensors[3].";

/// The reference's manifest with these fields added to its last tensor.
std::string with_sums(std::string_view fields) {
  return changed(kCustomReference, kSums, std::string(kSums) + ", " + std::string(fields));
}

/// The error of loading such a manifest.
std::string sums_error(std::string_view fields) {
  const auto kernels = load_custom(with_sums(fields));
  return kernels ? "" : kernels.error().message;
}

const DeclaredOperation& declared(const std::vector<KernelRef>& kernels) {
  return *kernels.front()->manifest.operation->declared();
}

/// Loads the operation whose w is in a file of `folder`.
std::vector<KernelRef> kernels_at(const TemporaryFolder& folder, std::string_view w = kFromFile) {
  SourceTree tree = {{"scale.cu", "__global__ void scale_main() { THREADS; UNROLL; }\n"},
                     {"scale.json", std::string(kCustomKernel)},
                     {"scale_reference.cu", "__global__ void scale_reference() {}\n"},
                     {"scale_reference.json", changed(kCustomReference, kW, w)}};
  const auto kernels = load_kernels(tree, folder.path());
  REQUIRE(kernels);
  return *kernels;
}

void write(const std::filesystem::path& file, std::size_t bytes) {
  std::ofstream(file) << std::string(bytes, '\1');
}

std::string lint_errors(const Kernel& kernel) {
  std::string all;
  for (const LintFinding& each : lint(kernel))
    if (each.severity == Severity::kError) all += each.message + "\n";
  return all;
}

}  // namespace

TEST_CASE("an output with a fill is an input, too") {
  const auto kernels = load_custom(with_sums(R"("fill": "normal", "scale": 2, "offset": 1)"));
  REQUIRE(kernels);
  const auto problem = declared(*kernels).problem({{"ROWS", 512}, {"COLUMNS", 64}}, Dtype::kF16);
  REQUIRE(problem);
  CHECK(problem->custom()->bytes_read == 512 * 64 * 2 + 64 * 4 + 512 * 4);
  CHECK(problem->custom()->bytes_written == 512 * 64 * 2 + 512 * 4);
  const auto plan = declared(*kernels).plan(*problem);
  REQUIRE(plan);
  CHECK(plan->fills_outputs());
  REQUIRE(plan->inputs().size() == 3);
  CHECK(plan->inputs()[2].name == "sums");
  CHECK(plan->inputs()[2].fill == Fill{Fill::Kind::kNormal, 2, 1});
  CHECK(plan->outputs().size() == 2);
  CHECK_FALSE(plan->outputs()[0].filled);
  CHECK(*read_value<OperationPlan>(to_json(*plan), "x.json") == *plan);
  CHECK_FALSE(declared(custom_kernels()).plan(*problem)->fills_outputs());
}

TEST_CASE("an operation may read nothing but outputs that are filled") {
  const auto updating = [](std::string_view fill) {
    std::string text = changed(kCustomReference, kW, R"("shape": ["COLUMNS"], "output": true)");
    text = changed(
        text, R"("shape": ["ROWS", "COLUMNS"], "fill": "normal")",
        R"("type": "f32", "shape": ["ROWS", "COLUMNS"], "output": true)" + std::string(fill));
    const auto kernels = load_custom(text);
    return kernels ? "" : kernels.error().message;
  };
  CHECK(updating(R"(, "fill": "normal")").empty());
  CHECK(updating("") ==
        "scale_reference.json: field 'operation.tensors' must have at least one input");
}

TEST_CASE("an output has the fields of its fill alone") {
  CHECK(sums_error(R"("fill": "uniform", "scale": 2)").empty());
  CHECK(sums_error(R"("scale": 2)") ==
        kWhere + "scale' is for tensors that are filled with normal or uniform");
  CHECK(sums_error(R"("from": 1)") ==
        kWhere + "from' is for integers that are filled with uniform");
  CHECK(sums_error(R"("to": 1)") == kWhere + "to' is for integers that are filled with uniform");
  CHECK(sums_error(R"("value": 1)") ==
        kWhere + "value' is for tensors that are filled with constant");
  for (const char* type : {"io", "f16", "e4m3"}) {
    const auto kernels =
        load_custom(changed(with_sums(R"("fill": "zeros")"), R"("name": "sums", "type": "f32")",
                            R"("name": "sums", "type": ")" + std::string(type) + '"'));
    REQUIRE_FALSE(kernels);
    CHECK(kernels.error().message ==
          kWhere + "fill' is for inputs and plain types; references write such an output as float");
  }
}

TEST_CASE("a dependent launch has no output that is read") {
  const auto kernels =
      load_custom(with_sums(R"("fill": "zeros")"),
                  changed(kCustomKernel, R"("grid")", R"("dependent": "1", "grid")"));
  REQUIRE_FALSE(kernels);
  CHECK(kernels.error().message ==
        "scale.json: field 'stages[0].dependent' excludes sums, which is read and written: the "
        "gate early_start exchanges inputs late");
}

TEST_CASE("a data file goes with the fill file") {
  CHECK(sums_error(R"("fill": "file")") == kWhere + "file' is missing: the file with the elements");
  CHECK(sums_error(R"("fill": "zeros", "file": "w.npy")") == kWhere + "file' is for the fill file");
  CHECK(sums_error(R"("fill": "file", "file": "w.npy")").empty());
}

TEST_CASE("a data file is found beside the manifest, and held against its tensor") {
  const TemporaryFolder folder;
  write(folder / "w.npy", 64 * 4);
  const auto kernels = kernels_at(folder);
  const auto plan = declared(kernels).plan(custom_test_problem());
  REQUIRE(plan);
  CHECK(plan->tensors[1].fill == Fill{Fill::Kind::kFile, 1, 0, folder / "w.npy"});
  CHECK(*read_value<OperationPlan>(to_json(*plan), "x.json") == *plan);
  CHECK(declared(kernels).check_data(custom_test_problem()));
  CHECK(lint_errors(*kernels.back()).empty());
  write(folder / "w.npy", 64 * 4 - 1);
  const std::string fault = "field 'operation.tensors[1].file': " + (folder / "w.npy").string() +
                            " has 255 bytes of elements, but w needs 256";
  const auto refused = declared(kernels).plan(custom_test_problem());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "scale_reference.json: " + fault);
  CHECK(lint_errors(*kernels.back()) == fault + " (scale ROWS=512,COLUMNS=64 f16)\n");
  CHECK(lint_errors(*kernels.front()).find("w.npy") == std::string::npos);
}

TEST_CASE("a data file must fit the edges, too") {
  const TemporaryFolder folder;
  write(folder / "w.npy", 64 * 4);
  const auto kernels = kernels_at(folder, changed(kFromFile, "64", "COLUMNS"));
  CHECK(declared(kernels).plan(custom_test_problem()));
  const Status held = declared(kernels).check_data(custom_test_problem());
  REQUIRE_FALSE(held);
  CHECK(held.error().message.ends_with("w needs 4 (scale ROWS=1,COLUMNS=1 f16)"));
}

TEST_CASE("another data file makes another kernel of the same text") {
  const TemporaryFolder folder;
  const auto hash = [&] { return kernels_at(folder).front()->text_hash; };
  const std::string missing = hash();
  write(folder / "w.npy", 8);
  const std::string first = hash();
  CHECK(first != missing);
  CHECK(hash() == first);
  write(folder / "w.npy", 9);
  const std::string longer = hash();
  CHECK(longer != first);
  std::filesystem::last_write_time(folder / "w.npy", std::filesystem::file_time_type{});
  CHECK(hash() != longer);
}

TEST_CASE("kernels that are embedded have no data files") {
  const auto kernels = load_custom(changed(kCustomReference, kW, kFromFile));
  REQUIRE(kernels);
  const auto plan = declared(*kernels).plan(custom_test_problem());
  REQUIRE_FALSE(plan);
  CHECK(plan.error().message ==
        "scale_reference.json: field 'operation.tensors[1].file' needs a folder of kernels");
}

TEST_CASE("shared memory that a manifest does not declare is not counted") {
  const auto counts = [](const std::string& fields) {
    const auto kernels =
        load_custom(kCustomReference, changed(kCustomKernel, R"("grid")", fields + R"("grid")"));
    REQUIRE(kernels);
    const KernelRef kernel = kernels->front();
    const auto plan = launch_plan({kernel, default_config(kernel->manifest), custom_test_problem()},
                                  *typical_limits(Arch{90, 'a'}));
    REQUIRE(plan);
    return plan->stages.front().counts_static;
  };
  CHECK_FALSE(counts(""));
  CHECK(counts(R"("static_shared_bytes": "0", )"));
  Kernel kernel = *custom_kernels().front();
  const auto warns = [&] {
    kernel.source.text += "__shared__ float parts[4];\n";
    for (const LintFinding& each : lint(kernel))
      if (each.message.find("declares __shared__ arrays") != std::string::npos) return true;
    return false;
  };
  CHECK_FALSE(warns());
  kernel.manifest.stages.front().counts_static = true;
  CHECK(warns());
}
