// pool_test.cpp: Checks the pool's results, cache, crashes, deadlines, and missing compilers.
#include "tune/compile/pool.hpp"

#include <algorithm>
#include <set>

#include <catch2/catch_test_macros.hpp>

#include "core/confinement.hpp"
#include "core/file.hpp"
#include "core/hash.hpp"
#include "support/captured_stderr.hpp"
#include "support/custom_operation.hpp"
#include "support/pool_fixture.hpp"
#include "support/temporary_folder.hpp"

using namespace fatune;
using namespace std::chrono_literals;

namespace {

constexpr const char* kKernel = R"(
extern "C" __global__ void twice(float* data) {
  __shared__ float tile[32];
  tile[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = FACTOR * tile[31 - threadIdx.x];
})";

CompileRequest good(int factor) {
  CompileRequest request = test::request("good", kKernel);
  request.macros = {"FACTOR=" + std::to_string(factor)};
  return request;
}

}  // namespace

TEST_CASE("without NVRTC the pool does not start and lists every place tried") {
  const test::TemporaryFolder folder;
  PoolOptions options;
  options.cache = folder.path();
  options.search.nvrtc = "/no/such/libnvrtc.so.13";
  const auto pool = CompilePool::start(options);
  REQUIRE_FALSE(pool);
  CHECK(pool.error().kind == ErrorKind::kEnvironment);
  CHECK(pool.error().message.find("/no/such/libnvrtc.so.13") != std::string::npos);
}

TEST_CASE("a request becomes machine code, and the cache knows it from then on") {
  const test::TemporaryFolder folder;
  CompilePool pool = test::real_pool(folder / "cache");
  CHECK(pool.compiler_version().find('.') != std::string::npos);
  CHECK(pool.compiler_identity().starts_with("nvrtc " + pool.compiler_version()));
  CHECK(pool.check_arch({80, 0}));
  CHECK_FALSE(pool.check_arch({35, 0}));

  const auto begin = std::chrono::steady_clock::now();
  const auto first = pool.compile(good(2));
  REQUIRE(first);
  INFO(first->problem);
  REQUIRE(first->ok);
  CHECK_FALSE(first->from_cache);
  CHECK(first->seconds > 0);
  CHECK(first->process == 0);
  CHECK(first->ended > begin);
  CHECK(first->entries.at("twice").registers > 0);
  CHECK(first->entries.at("twice").static_shared_bytes == 128);
  const std::string cubin = *read_file(first->cubin_path);
  CHECK(
      cubin.starts_with("\x7f"
                        "ELF"));
  CHECK(sha256_hex(cubin) == first->cubin_hash);

  const auto second = pool.compile(good(2));
  REQUIRE(second);
  CHECK(second->from_cache);
  CHECK_FALSE(second->process);
  CHECK(second->cubin_hash == first->cubin_hash);
  const auto other = pool.compile(good(3));
  REQUIRE(other);
  CHECK_FALSE(other->from_cache);
  CHECK(other->cubin_hash != first->cubin_hash);
}

TEST_CASE("problems that differ in a run-time size share one compilation") {
  const test::TemporaryFolder folder;
  CompilePool pool = test::real_pool(folder / "cache", 2);
  const auto compilations = [&](std::string_view reference) {
    const KernelRef kernel = test::load_custom(reference)->front();
    std::vector<Ticket> tickets;  // of a problem and its edges
    for (const std::int64_t rows : {512, 1, 3}) {
      const Candidate candidate{kernel, default_config(kernel->manifest),
                                test::custom_test_problem(rows)};
      tickets.push_back(pool.submit(compile_request(candidate, *typical_limits({80, 0}))));
    }
    int compiled = 0;
    for (const Ticket ticket : tickets) {
      while (!pool.ready(ticket)) REQUIRE(pool.pump(200ms));
      const Compiled done = pool.take(ticket);
      CHECK(done.ok);
      compiled += done.from_cache ? 0 : 1;
    }
    return compiled;
  };
  CHECK(compilations(test::kCustomReference) == 3);
  CHECK(compilations(test::changed(test::kCustomReference, R"("meaning": "rows of x and y")",
                                   R"("runtime": true)")) == 1);
}

TEST_CASE("the last pool that has a cache open prunes it") {
  const test::TemporaryFolder folder;
  static_cast<void>(test::real_pool(folder / "other"));
  PoolOptions options;
  options.jobs = 1;
  options.cache = folder / "cache";
  options.cache_limit = 1;
  options.search = test::search_paths();
  {
    auto other = CompilePool::start(options);
    REQUIRE(other);
    {
      auto pool = CompilePool::start(options);
      REQUIRE(pool);
      REQUIRE(pool->compile(good(2)));
    }
    const auto known = other->compile(good(2));
    REQUIRE(known);
    CHECK(known->from_cache);
    REQUIRE(other->compile(good(3)));
  }
  auto next = CompilePool::start(options);
  REQUIRE(next);
  for (const int factor : {2, 3}) {
    const auto compiled = next->compile(good(factor));
    REQUIRE(compiled);
    CHECK_FALSE(compiled->from_cache);
  }
}

TEST_CASE("configs with the same machine code have the same hash") {
  const test::TemporaryFolder folder;
  CompilePool pool = test::real_pool(folder.path());
  CompileRequest inert = good(2);
  inert.macros.emplace_back("UNUSED=1");
  const auto one = pool.compile(good(2));
  const auto two = pool.compile(inert);
  REQUIRE((one && two));
  CHECK_FALSE(two->from_cache);
  CHECK(one->cubin_hash == two->cubin_hash);
}

TEST_CASE("an error of the kernel is an outcome, and remembered") {
  const test::TemporaryFolder folder;
  CompilePool pool = test::real_pool(folder.path());
  const auto bad = test::request("bad", "__global__ void k() { unknown(); }");
  const auto first = pool.compile(bad);
  REQUIRE(first);
  CHECK_FALSE(first->ok);
  CHECK(first->problem == "test/test.cu(1): error: identifier \"unknown\" is undefined");
  CHECK(first->log.find("1 error detected") != std::string::npos);
  const auto second = pool.compile(bad);
  REQUIRE(second);
  CHECK(second->from_cache);
  CHECK(second->problem == first->problem);
}

TEST_CASE("an error of the assembler is an outcome too") {
  const test::TemporaryFolder folder;
  CompilePool pool = test::real_pool(folder.path());
  const auto result = pool.compile(test::request(
      "large",
      "extern \"C\" __global__ void k(int* p) { __shared__ int s[70000]; s[p[1]] = 1; "
      "__syncthreads(); p[0] = s[threadIdx.x]; }"));
  REQUIRE(result);
  CHECK_FALSE(result->ok);
  INFO(result->problem << "\n" << result->log);
  CHECK(
      result->problem.starts_with("ptxas error   : Entry function 'k' uses too much shared data"));
  CHECK(result->log.find('\0') == std::string::npos);
}

TEST_CASE("headers travel with the request") {
  const test::TemporaryFolder folder;
  CompilePool pool = test::real_pool(folder.path());
  CompileRequest with = test::request(
      "header", "#include \"common/x.cuh\"\nextern \"C\" __global__ void k(int* p) { *p = kX; }");
  with.headers = {{"common/x.cuh", "constexpr int kX = 7;\n"}};
  const auto result = pool.compile(with);
  REQUIRE(result);
  CHECK(result->ok);
}

TEST_CASE("the compiler reads nothing of the user's, whatever a request includes") {
  if (confinement_here().landlock == 0) SKIP("no Landlock here");
  const test::TemporaryFolder folder;
  CompilePool pool = test::real_pool(folder / "cache");
  REQUIRE(replace_file(folder / "secret.h", "constexpr int kSecret = 7;\n"));
  const auto result = pool.compile(
      test::request("curious", "#include \"" + (folder / "secret.h").string() + "\"\n"));
  REQUIRE(result);
  CHECK_FALSE(result->ok);
  INFO(result->problem);
  CHECK(result->problem.find("open source file") != std::string::npos);
}

TEST_CASE("a cache that cannot be written costs one warning and no result") {
  CompilePool pool = test::real_pool("/proc/fatune-cache");
  bool all_ok = true;
  bool all_files = true;
  const std::string said = test::captured_stderr([&] {
    for (int factor = 2; factor < 4; ++factor) {
      const auto result = pool.compile(good(factor));
      all_ok = all_ok && result && result->ok;
      all_files = all_files && result && std::filesystem::exists(result->cubin_path);
    }
  });
  CHECK(all_ok);
  CHECK(all_files);
  const auto at = said.find("compiling without the cache");
  CHECK(at != std::string::npos);
  CHECK(said.find("compiling without the cache", at + 1) == std::string::npos);
}

TEST_CASE("missing toolkit headers are the outcome of those who need them") {
  const test::TemporaryFolder folder;
  auto pool = CompilePool::start(test::faulty_options(folder.path()));
  REQUIRE(pool);
  if (!pool->toolchain().headers_problem.empty()) {
    CompileRequest request = test::request("good", "");
    request.toolkit_headers = true;
    const auto result = pool->compile(request);
    REQUIRE(result);
    CHECK(result->problem == pool->toolchain().headers_problem);
  }
}

TEST_CASE("the toolkit's headers belong to the identity of kernels that include them") {
  const test::TemporaryFolder folder;
  const auto pool = test::real_pool(folder.path());
  Kernel kernel;
  kernel.source = {"k.cu", "#include <mma.h>\n"};
  CHECK(pool.compiler_identity(kernel) == pool.compiler_identity());
  kernel.manifest.needs_toolkit_headers = true;
  const std::string with_mma = pool.compiler_identity(kernel);
  CHECK(with_mma.starts_with(pool.compiler_identity() + " headers "));
  CHECK(pool.compiler_identity(kernel) == with_mma);
  if (!pool.toolchain().headers_problem.empty()) return;
  kernel.headers = {{"other.cuh", "#include <cuda_fp16.h>\n"}};
  CHECK(pool.compiler_identity(kernel) != with_mma);
}

TEST_CASE("a crash of the compiler costs one candidate") {
  const test::TemporaryFolder folder;
  auto pool = CompilePool::start(test::faulty_options(folder.path()));
  REQUIRE(pool);
  const Ticket crash = pool->submit(test::request("crash", ""));
  std::vector<Ticket> others;
  for (int i = 0; i < 5; ++i) others.push_back(pool->submit(test::request("fine", "")));
  const auto all_ready = [&] {
    return pool->ready(crash) && std::all_of(others.begin(), others.end(),
                                             [&](Ticket ticket) { return pool->ready(ticket); });
  };
  while (!all_ready()) REQUIRE(pool->pump(1s));
  CHECK(pool->take(crash).problem == "the compiler crashed twice: signal SIGKILL");
  for (const Ticket ticket : others) {
    CHECK(pool->take(ticket).problem.starts_with("by process "));
  }
}

TEST_CASE("a lack of memory is tried once more, in another worker") {
  const test::TemporaryFolder folder;
  auto pool = CompilePool::start(test::faulty_options(folder.path()));
  REQUIRE(pool);
  const auto before = pool->compile(test::request("fine", ""));
  const auto done = pool->compile(test::request("no memory", ""));
  REQUIRE(done);
  CHECK(done->problem.starts_with("the compiler lacked memory twice: out of memory by process "));
  CHECK_FALSE(done->problem.ends_with(before->problem));
}

TEST_CASE("a compilation whose worker was killed is tried once more, in a fresh worker and alone") {
  const test::TemporaryFolder folder;
  const std::string mark = (folder / "mark").string();
  auto pool = CompilePool::start(test::faulty_options(folder.path()));
  REQUIRE(pool);
  const Ticket killed = pool->submit(test::request("crash once, then hold " + mark, ""));
  std::vector<Ticket> others;
  for (int i = 0; i < 9; ++i) others.push_back(pool->submit(test::request("beside " + mark, "")));
  while (!pool->ready(killed)) REQUIRE(pool->pump(1s));
  const std::string process = pool->take(killed).problem;
  CHECK(process.starts_with("by process "));
  for (int i = 0; i < 9; ++i) {
    others.push_back(pool->submit(test::request("beside " + mark, "")));
  }
  for (const Ticket ticket : others) {
    const auto done = wait_for(*pool, ticket);
    REQUIRE(done);
    CHECK(done->problem.starts_with("by process "));
  }
}

TEST_CASE("a compiler past its deadline is killed and costs one candidate") {
  const test::TemporaryFolder folder;
  PoolOptions options = test::faulty_options(folder.path());
  options.jobs = 1;
  options.deadline = 1s;
  auto pool = CompilePool::start(options);
  REQUIRE(pool);
  const auto hung = pool->compile(test::request("hang", ""));
  REQUIRE(hung);
  CHECK_FALSE(hung->ok);
  CHECK(hung->problem == "the compiler did not finish within 5 s");
  const auto busy = pool->compile(test::request("spin", ""));
  REQUIRE(busy);
  CHECK(busy->problem == "the compiler did not finish within 1 s of CPU time");
  const auto next = pool->compile(test::request("fine", ""));
  REQUIRE(next);
  CHECK(next->problem.starts_with("by process "));
}

TEST_CASE("workers are started as work needs them, up to the number of jobs") {
  const test::TemporaryFolder folder;
  auto pool = CompilePool::start(test::faulty_options(folder.path()));
  REQUIRE(pool);
  CHECK(pool->jobs() == 2);
  CHECK(pool->descriptors().size() == 1);
  std::set<std::string> processes;
  std::vector<Ticket> tickets;
  for (int i = 0; i < 6; ++i) tickets.push_back(pool->submit(test::request("fine", "")));
  for (const Ticket ticket : tickets) {
    while (!pool->ready(ticket)) REQUIRE(pool->pump(1s));
    processes.insert(pool->take(ticket).problem);
  }
  CHECK(pool->descriptors().size() <= 2);
  CHECK(processes.size() <= 2);
}

TEST_CASE("machine code that can be stored nowhere is an error of files") {
  const test::TemporaryFolder folder;
  auto pool = CompilePool::start(test::faulty_options(folder.path()));
  REQUIRE(pool);
  const auto result = pool->compile(test::request("unstorable", ""));
  REQUIRE_FALSE(result);
  CHECK(result.error().kind == ErrorKind::kFile);
  CHECK(result.error().message.find("no space left") != std::string::npos);
}

TEST_CASE("nothing to do is no reason to wait") {
  const test::TemporaryFolder folder;
  auto pool = CompilePool::start(test::faulty_options(folder.path()));
  REQUIRE(pool);
  // The time limit of the test ends a pool that waits forever.
  REQUIRE(pool->pump(24h));
  CHECK(pool->idle() == pool->jobs());
}

TEST_CASE("a pool says how many of its jobs have nothing to do") {
  const test::TemporaryFolder folder;
  auto pool = CompilePool::start(test::faulty_options(folder.path()));
  REQUIRE(pool);
  CHECK(pool->idle() == 2);
  const Ticket first = pool->submit(test::request("hang", ""));
  CHECK(pool->idle() == 1);
  REQUIRE(pool->pump(0ms));
  CHECK(pool->idle() == 1);
  for (int i = 0; i < 3; ++i) pool->submit(test::request("hang", ""));
  CHECK(pool->idle() == 0);
  pool->cancel(first);
  CHECK(pool->idle() == 0);
}

TEST_CASE("a cancelled request is forgotten: waiting, under way or done") {
  const test::TemporaryFolder folder;
  PoolOptions options = test::faulty_options(folder.path());
  options.jobs = 1;
  auto pool = CompilePool::start(options);
  REQUIRE(pool);
  const Ticket done = pool->submit(test::request("fine", ""));
  while (!pool->ready(done)) REQUIRE(pool->pump(1s));
  const Ticket hung = pool->submit(test::request("hang", ""));
  const Ticket waiting = pool->submit(test::request("hang", ""));
  const Ticket last = pool->submit(test::request("fine", ""));
  REQUIRE(pool->pump(200ms));
  for (const Ticket ticket : {done, hung, waiting}) pool->cancel(ticket);
  CHECK_FALSE(pool->ready(done));
  // The hung compilation was the only one: its process is gone.
  while (!pool->ready(last)) REQUIRE(pool->pump(1s));
  CHECK(pool->take(last).problem.starts_with("by process "));
  CHECK_FALSE(pool->ready(hung));
  CHECK_FALSE(pool->ready(waiting));
  CHECK(pool->idle() == 1);
}
