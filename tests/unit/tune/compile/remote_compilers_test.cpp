// remote_compilers_test.cpp - a pool whose requests others compile: what it takes from them, and
// what it compiles itself after all.
#include "tune/compile/remote_compilers.hpp"

#include <optional>

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "core/fields.hpp"
#include "core/file.hpp"
#include "core/hash.hpp"
#include "core/text.hpp"
#include "support/captured_stderr.hpp"
#include "support/pool_fixture.hpp"
#include "support/temporary_folder.hpp"

using namespace fatune;
using namespace std::chrono_literals;

namespace {

/// A pool with one process, which is held until it is released, and the channel by which the pool
/// asks for two compilations more at once: while the process is held, all that is submitted goes
/// there.
struct AskingPool {
  test::TemporaryFolder folder;
  Channel rank;
  std::optional<CompilePool> pool;
  Ticket held = 0;

  explicit AskingPool(std::chrono::seconds longest_away = 60s) {
    auto ends = make_channel_pair();
    REQUIRE(ends);
    PoolOptions options = test::faulty_options(folder.path());
    options.jobs = 1;
    options.remote_jobs = 2;
    options.remote_channel = ::dup(ends->first.descriptor());
    options.longest_away = longest_away;
    rank = std::move(ends->second);
    auto started = CompilePool::start(options);
    REQUIRE(started);
    pool = *std::move(started);
    held = pool->submit(test::request("hang", ""));
    REQUIRE(pool->pump(0ms));
  }
  void release() { pool->cancel(held); }
  Ticket submit(const std::string& label) {
    const Ticket ticket = pool->submit(test::request(label, "source of " + label));
    REQUIRE(pool->pump(0ms));
    return ticket;
  }
  Json heard() {
    const auto message = rank.receive(5s);
    REQUIRE(message);
    REQUIRE(*message);
    return **message;
  }
  CompileMessage order() {
    const auto order = from_json<CompileMessage>(heard(), "test");
    REQUIRE(order);
    return *order;
  }
  void answer(const CompiledMessage& message) { REQUIRE(rank.send(to_json(message))); }
  Compiled wait(Ticket ticket) {
    const auto compiled = wait_for(*pool, ticket);
    REQUIRE(compiled);
    return *compiled;
  }
};

CompiledMessage good(std::int64_t number, const std::string& code) {
  CompiledMessage message{.number = number, .code = to_hex(code)};
  message.compiled.ok = true;
  message.compiled.cubin_hash = sha256_hex(code);
  message.compiled.cubin_path = "/of/another/host";
  message.compiled.seconds = 2;
  return message;
}

}  // namespace

TEST_CASE("machine code of other ranks lies in this host's cache as if it were made here") {
  AskingPool asking;
  CHECK(asking.pool->jobs() == 3);
  const Ticket first = asking.submit("one"), second = asking.submit("two"),
               third = asking.submit("three");
  CHECK(asking.pool->idle() == 0);
  const CompileMessage one = asking.order(), two = asking.order();
  CHECK(one.order.request.source.text == "source of one");
  CHECK(one.order.key == asking.pool->key_of(one.order.request));
  asking.answer(good(two.number, "code 2"));
  const Compiled compiled = asking.wait(second);
  CHECK(*read_file(compiled.cubin_path) == "code 2");
  CHECK(compiled.process == 2);
  CHECK(compiled.seconds == 2);
  CHECK_FALSE(compiled.from_cache);
  CHECK(CubinCache(asking.folder.path()).find(two.order.key)->cubin_hash == sha256_hex("code 2"));
  const CompileMessage three = asking.order();  // there is room for it now
  asking.answer(good(one.number, "code 1"));
  CHECK(asking.wait(first).process == 1);
  CompiledMessage failed{.number = three.number};
  failed.compiled.problem = failed.compiled.log = "test.cu(1): error";
  asking.answer(failed);
  CHECK(asking.wait(third).problem == "test.cu(1): error");
}

TEST_CASE("what others refuse, damage or take too long for is compiled here") {
  AskingPool asking(1s);
  const Ticket refused = asking.submit("fine"), damaged = asking.submit("fine"),
               late = asking.submit("fine");
  const CompileMessage first = asking.order(), second = asking.order();
  CHECK(first.order.request.label == "fine");
  asking.answer({.number = first.number, .refused = "other headers"});
  CompiledMessage other = good(second.number, "code");
  other.compiled.cubin_hash = sha256_hex("other code");
  asking.answer(other);
  asking.release();
  const Ticket here = asking.submit("crash");
  for (const Ticket ticket : {refused, damaged, late})
    CHECK(asking.wait(ticket).problem.starts_with("by process "));
  CHECK(asking.wait(here).problem.starts_with("the compiler crashed twice"));
}

TEST_CASE("a failure without a word of the compiler is another machine's, not the source's") {
  AskingPool asking;
  const Ticket unsaid = asking.submit("fine");
  CompiledMessage killed{.number = asking.order().number};
  killed.compiled.problem = "the compiler was killed";
  asking.answer(killed);
  asking.release();
  CHECK(asking.wait(unsaid).problem.starts_with("by process "));
}

TEST_CASE("without the ranks a pool compiles alone, and says so once") {
  AskingPool asking;
  std::vector<Ticket> tickets;
  const std::string said = test::captured_stderr([&] {
    for (int i = 0; i < 3; ++i) tickets.push_back(asking.submit("fine"));
    asking.rank.close();
    asking.release();
    for (int i = 0; i < 3; ++i) tickets.push_back(asking.submit("fine"));
    for (const Ticket ticket : tickets)
      CHECK(asking.wait(ticket).problem.starts_with("by process "));
  });
  CHECK(occurrences(said, '\n') == 1);
  CHECK(said.find("compiling on this host alone") != std::string::npos);
}

TEST_CASE("what is cancelled is withdrawn from the others") {
  AskingPool asking;
  const Ticket ticket = asking.submit("one");
  const CompileMessage order = asking.order();
  asking.pool->cancel(ticket);
  const auto withdrawn = from_json<WithdrawMessage>(asking.heard(), "test");
  REQUIRE(withdrawn);
  CHECK(withdrawn->number == order.number);
  asking.answer(good(order.number, "late"));
  REQUIRE(asking.pool->pump(100ms));
  CHECK_FALSE(asking.pool->ready(ticket));
}
