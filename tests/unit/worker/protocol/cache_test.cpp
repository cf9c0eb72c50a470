// cache_test.cpp: Checks that the cache returns what was stored, and no damaged entry.
#include <functional>

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "core/file.hpp"
#include "core/hash.hpp"
#include "support/temporary_folder.hpp"
#include "worker/protocol/compilation.hpp"

using namespace fatune;

namespace {

namespace fs = std::filesystem;

const std::string kKey(64, 'a');
constexpr const char* kCubin =
    "\x7f"
    "ELF machine code";

Compiled good() {
  Compiled compiled;
  compiled.ok = true;
  compiled.log = "ptxas info";
  compiled.cubin_hash = sha256_hex(kCubin);
  compiled.entries["k"].registers = 40;
  compiled.seconds = 0.5;
  return compiled;
}

}  // namespace

TEST_CASE("what was stored is found again") {
  const test::TemporaryFolder folder;
  const CubinCache cache(folder / "cubins");
  CHECK_FALSE(cache.find(kKey));
  const auto stored = cache.store(kKey, good(), kCubin);
  REQUIRE(stored);
  CHECK(stored->cubin_path == folder / "cubins/aa" / (kKey + ".cubin"));
  CHECK_FALSE(stored->from_cache);
  const auto found = cache.find(kKey);
  REQUIRE(found);
  CHECK(found->ok);
  CHECK(found->from_cache);
  CHECK(found->seconds == 0);
  CHECK(found->entries.at("k").registers == 40);
  CHECK(*read_file(found->cubin_path) == kCubin);
  CHECK_FALSE(cache.find(std::string(64, 'b')));
}

TEST_CASE("a failed compilation is remembered without machine code") {
  const test::TemporaryFolder folder;
  const CubinCache cache(folder.path());
  Compiled failed;
  failed.problem = "x.cu(1): error: no";
  failed.log = failed.problem;
  REQUIRE(cache.store(kKey, failed, ""));
  const auto found = cache.find(kKey);
  REQUIRE(found);
  CHECK_FALSE(found->ok);
  CHECK(found->problem == failed.problem);
  CHECK(found->cubin_path.empty());
}

TEST_CASE("a cache may be moved: entries do not hold its folder") {
  const test::TemporaryFolder folder;
  REQUIRE(CubinCache(folder / "one").store(kKey, good(), kCubin));
  std::filesystem::rename(folder / "one", folder / "two");
  const auto found = CubinCache(folder / "two").find(kKey);
  REQUIRE(found);
  CHECK(found->cubin_path == folder / "two/aa" / (kKey + ".cubin"));
}

TEST_CASE("damaged entries are misses") {
  const test::TemporaryFolder folder;
  const CubinCache cache(folder.path());
  REQUIRE(cache.store(kKey, good(), kCubin));
  const auto entry = folder / "aa" / (kKey + ".json");
  const auto cubin = folder / "aa" / (kKey + ".cubin");
  const std::string text = *read_file(entry);

  SECTION("machine code cut short") {
    REQUIRE(replace_file(cubin,
                         "\x7f"
                         "ELF"));
  }
  SECTION("machine code gone") { std::filesystem::remove(cubin); }
  SECTION("entry cut at any byte") {
    for (std::size_t size = 0; size + 2 < text.size(); ++size) {
      REQUIRE(replace_file(entry, text.substr(0, size)));
      REQUIRE_FALSE(cache.find(kKey));
    }
  }
  SECTION("another schema") {
    REQUIRE(replace_file(entry, R"({"schema": "fatune.cubin/2", "ok": true})"));
  }
  SECTION("fields of other types") {
    REQUIRE(replace_file(entry, R"({"schema": 1, "ok": "yes"})"));
  }
  CHECK_FALSE(cache.find(kKey));
}

TEST_CASE("no FIFO, link or device is read as an entry, and a store replaces it") {
  const test::TemporaryFolder folder;
  const CubinCache cache(folder.path());
  for (const char* extension : {".json", ".cubin"}) {
    const auto file = folder / "aa" / (kKey + extension);
    for (const auto& plant : {std::function([&] { ::mkfifo(file.c_str(), 0600); }),
                              std::function([&] { fs::create_symlink("/dev/zero", file); })}) {
      REQUIRE(cache.store(kKey, good(), kCubin));
      fs::remove(file);
      plant();
      CHECK_FALSE(cache.find(kKey));
      REQUIRE(cache.store(kKey, good(), kCubin));
      CHECK(cache.find(kKey));
    }
  }
}

TEST_CASE("of a cache beyond its limit goes what was not used for longest") {
  const test::TemporaryFolder folder;
  const CubinCache cache(folder.path());
  const auto key = [](char letter) { return std::string(64, letter); };
  const auto now = std::filesystem::file_time_type::clock::now();
  for (const char letter : {'a', 'b', 'c', 'd'}) {
    REQUIRE(cache.store(key(letter), good(), kCubin));
    const auto shard = folder / std::string(2, letter);
    for (const char* extension : {".json", ".cubin"})
      last_write_time(shard / (key(letter) + extension), now - std::chrono::hours('e' - letter));
  }
  REQUIRE(replace_file(folder / "aa/notes.json", "mine"));
  REQUIRE(replace_file(folder / "aa" / (key('e') + ".cubin"), kCubin));  // of a killed process
  last_write_time(folder / "aa" / (key('e') + ".cubin"), now - std::chrono::hours(9));
  REQUIRE(cache.find(key('a')));  // the oldest, but in use
  const auto each = file_size(folder / "bb" / (key('b') + ".json")) + std::string(kCubin).size();

  cache.prune(5 * each);
  CHECK(exists(folder / "bb" / (key('b') + ".json")));
  cache.prune(3 * each);  // 2.7 of them are kept
  CHECK(exists(folder / "aa/notes.json"));
  CHECK_FALSE(exists(folder / "aa" / (key('e') + ".cubin")));
  CHECK(cache.find(key('a')));
  CHECK_FALSE(cache.find(key('b')));
  CHECK_FALSE(exists(folder / "bb" / (key('b') + ".cubin")));
  CHECK_FALSE(cache.find(key('c')));
  CHECK(cache.find(key('d')));
}

TEST_CASE("a cache that cannot be written is an error that names the place") {
  const auto stored = CubinCache("/proc/fatune").store(kKey, good(), kCubin);
  REQUIRE_FALSE(stored);
  CHECK(stored.error().kind == ErrorKind::kFile);
  CHECK(stored.error().message.find("/proc/fatune") != std::string::npos);
}
