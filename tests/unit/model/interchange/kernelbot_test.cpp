// kernelbot_test.cpp - checks tasks of KernelBot, and what is refused of them.
#include "model/interchange/kernelbot.hpp"

#include <catch2/catch_test_macros.hpp>

#include "core/file.hpp"
#include "core/text.hpp"
#include "support/temporary_folder.hpp"

using namespace fatune;

namespace {

const std::filesystem::path kTaskFolder =
    FATUNE_SOURCE_DIR "/tests/data/interchange/kernelbot/causal_attention";

std::string task_labels(const Result<Suite>& suite) {
  if (!suite) return suite.error().message;
  std::vector<std::string> all;
  for (const NamedProblem& each : suite->problems) all.push_back(label(each));
  return join(all, "; ");
}

/// Of the committed task with a piece of its task.yml or reference.py replaced.
std::string changed_task(const std::string& from, const std::string& to) {
  const auto task = read_file(kTaskFolder / "task.yml");
  const auto reference = read_file(kTaskFolder / "reference.py");
  REQUIRE((task && reference));
  REQUIRE((*task + *reference).find(from) != std::string::npos);
  const auto parsed = parse_kernelbot(replaced(*task, from, to), "task.yml");
  if (!parsed) return parsed.error().message;
  return task_labels(suite_of(*parsed, replaced(*reference, from, to), "task.yml"));
}

const std::string kTaskPlace = "task.yml: field 'benchmarks[0]': reference.py: ";

}  // namespace

TEST_CASE("the benchmarks of a task are its problems, each once") {
  const auto suite = load_kernelbot(kTaskFolder / "task.yml");
  CHECK(task_labels(suite) ==
        "benchmark-1 4,8(kv 2),512,64 bf16 causal bshd; "
        "benchmark-2 1,32(kv 8),4096,128 bf16 causal bshd");
  CHECK(suite->name == "causal_attention");
}

TEST_CASE("inputs that are made otherwise are the same problem") {
  const std::string made =
      "benchmark-1 4,8(kv 2),512,64 bf16 causal bshd; "
      "benchmark-2 1,32(kv 8),4096,128 bf16 causal bshd";
  CHECK(changed_task("torch.randn_like(k)",
                     "torch.zeros(batch, seq, kvheads, dim).to(\"cuda\", "
                     "torch.bfloat16)") == made);
  CHECK(changed_task("    return q, k, v",
                     "    k.uniform_(0, 1, generator=gen)\n    return q, k, v") == made);
  CHECK(changed_task("k = torch.empty((batch, seq, kvheads, dim), dtype=torch.bfloat16)",
                     "k = torch.empty((batch, kvheads, seq, dim), "
                     "dtype=torch.bfloat16).transpose(1, 2)") ==
        "benchmark-1 4,8(kv 2),512,64 bf16 causal bshd,k=bhsd; "
        "benchmark-2 1,32(kv 8),4096,128 bf16 causal bshd,k=bhsd");
}

TEST_CASE("fields of a task are refused by name") {
  const std::string where = "task.yml: field ";
  CHECK(changed_task("lang: \"py\"", "lang: cu") == where + "'lang' is 'cu': only py is read");
  CHECK(changed_task("\"name\": \"reference.py\"", "\"name\": \"r.py\"") ==
        where + "'files' names no reference.py");
  CHECK(changed_task("\"seq\": 512", "\"seq\": long") ==
        where + "'benchmarks[0].seq' must be a whole number, but is string");
  CHECK(changed_task("\"seq\": 512", "\"length\": 512") ==
        kTaskPlace + "generate_input() has no parameter 'length'");
  CHECK(changed_task("benchmarks:", "benchmark:") == where + "'benchmarks' must hold at least one");
  CHECK(changed_task("\"batch\": 4", "\"batch\": -4").find("batch must be at least 1") !=
        std::string::npos);
  CHECK(changed_task("ranking_by: \"geom\"", "a: &a [1]\nb: [*a, *a]").find("aliases") !=
        std::string::npos);
}

TEST_CASE("references that are not attention are refused by benchmark and line") {
  CHECK(changed_task("def ref_kernel", "def reference") ==
        kTaskPlace + "has no ref_kernel(): it is no reference of KernelBot");
  CHECK(changed_task("is_causal=True", "attn_mask=q") ==
        kTaskPlace + "line 20: attn_mask= is given: no mask but causal is known");
  CHECK(changed_task("with DeterministicContext", "with torch.autocast") ==
        kTaskPlace + "line 18: 'with torch.autocast()' is not understood");
  CHECK(changed_task("q, k, v = data", "q, k, v = data\n        q.normal_()") ==
        kTaskPlace + "line 20: .normal_() of a tensor is called: more than attention is computed");
  CHECK(changed_task("dtype=torch.bfloat16", "dtype=torch.float32") ==
        kTaskPlace + "its tensors are float32, not float16 or bfloat16");
  CHECK(changed_task("return q, k, v", "return 1, 2") ==
        kTaskPlace + "generate_input() makes no tensors");
  CHECK(changed_task("return q, k, v", "return q, k, v, seed") ==
        kTaskPlace + "line 19: it does not have 3 values");
}

TEST_CASE("a reference outside of the task's folder is not read") {
  const test::TemporaryFolder folder;
  const auto task = read_file(kTaskFolder / "task.yml");
  REQUIRE(task);
  REQUIRE(make_directories(folder / "a"));
  std::filesystem::create_symlink(kTaskFolder / "reference.py", folder / "a/reference.py");
  for (const char* source : {"../r.py", "/etc/passwd", "reference.py"}) {
    REQUIRE(replace_file(folder / "a/task.yml",
                         replaced(*task, "\"source\": \"reference.py\"",
                                  std::string("\"source\": \"") + source + "\"")));
    CHECK(task_labels(load_kernelbot(folder / "a/task.yml"))
              .ends_with("which is not in this folder"));
  }
}
