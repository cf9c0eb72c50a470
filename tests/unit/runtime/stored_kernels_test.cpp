// stored_kernels_test.cpp: Tests that a folder loads only if every byte is as exported.
#include <array>
#include <atomic>
#include <thread>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fmt/format.h>

#include "core/file.hpp"
#include "model/wisdom/kernel_facts.hpp"
#include "runtime/wisdom.hpp"
#include "support/temporary_folder.hpp"
#include "wisdom_folder.hpp"

using namespace fatune;
using Catch::Matchers::ContainsSubstring;
using test::problem;

namespace {

/// A folder with two kernels, and its files' contents.
struct Folder {
  test::TemporaryFolder place;
  std::vector<KernelFacts> kernels = {test::facts_of(problem("4,8,512,64")),
                                      test::elaborate_facts(problem("1,8,512,64 causal lse"))};
  std::filesystem::path index = wisdom_index_path(place.path());
  std::filesystem::path cubin = wisdom_cubin_path(place.path(), kernels[1]);

  Folder() { test::write_folder(place.path(), kernels); }
};

rt::Failure refused(const Folder& folder) {
  const auto loaded = rt::load_wisdom(folder.place.path());
  REQUIRE_FALSE(loaded);
  return loaded.error();
}

std::string content(const std::filesystem::path& path) { return *read_file(path); }

void write(const std::filesystem::path& path, const std::string& bytes) {
  REQUIRE(replace_file(path, bytes));
}

}  // namespace

TEST_CASE("a folder as exported loads, with cubins beside their facts") {
  const Folder folder;
  const auto loaded = rt::load_wisdom(folder.place.path());
  REQUIRE(loaded);
  REQUIRE((*loaded).size() == 2);
  CHECK((*loaded)[1].facts.kernel == "fa_elaborate");
  CHECK((*loaded)[1].facts.tensor_maps.size() == 4);
  CHECK_THAT((*loaded)[1].cubin, ContainsSubstring("machine code of fa_elaborate"));
}

TEST_CASE("a cubin that was changed, cut or is gone is named") {
  const Folder folder;
  std::string bytes = content(folder.cubin);
  SECTION("changed") {
    bytes[3] ^= 1;
    write(folder.cubin, bytes);
    const rt::Failure failure = refused(folder);
    CHECK(failure.status == FATUNE_RT_TAMPERED);
    CHECK_THAT(failure.message,
               ContainsSubstring(folder.cubin.string()) && ContainsSubstring("SHA-256"));
  }
  SECTION("cut") {
    write(folder.cubin, bytes.substr(0, 5));
    const rt::Failure failure = refused(folder);
    CHECK(failure.status == FATUNE_RT_TAMPERED);
    CHECK_THAT(failure.message,
               ContainsSubstring(folder.cubin.string()) && ContainsSubstring("has 5 bytes"));
  }
  SECTION("gone") {
    std::filesystem::remove(folder.cubin);
    const rt::Failure failure = refused(folder);
    CHECK(failure.status == FATUNE_RT_BAD_FILE);
    CHECK_THAT(failure.message, ContainsSubstring(folder.cubin.string()));
  }
}

TEST_CASE("a folder that is replaced meanwhile loads as it was before or as it is afterwards") {
  const test::TemporaryFolder place;
  std::array<std::vector<KernelFacts>, 2> both;
  for (int i = 0; i < 40; ++i)
    both[i % 2].push_back(test::facts_of(problem(fmt::format("{},8,512,64", i + 1).c_str())));
  test::write_folder(place.path(), both[0]);
  std::atomic<std::size_t> turns = 0;
  std::thread exports([&] {
    for (std::size_t turn = 1; turn <= 30; ++turn, ++turns) {
      test::write_folder(place.path(), both[turn % 2]);
      for (const KernelFacts& old : both[(turn + 1) % 2])
        std::filesystem::remove(wisdom_cubin_path(place.path(), old));
    }
  });
  std::string failure;
  while (turns < 30) {
    const auto loaded = rt::load_wisdom(place.path());
    if (!loaded) failure = loaded.error().message;
  }
  exports.join();
  CHECK(failure.empty());
}

TEST_CASE("an index whose facts were changed is refused, whatever was changed") {
  const Folder folder;
  const std::string text = content(folder.index);
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    const std::size_t at = changed.find(from);
    REQUIRE(at != std::string::npos);
    write(folder.index, changed.replace(at, from.size(), to));
    const rt::Failure failure = refused(folder);
    CHECK_THAT(failure.message, ContainsSubstring(folder.index.string()));
    return failure.status;
  };
  CHECK(replaced("\"seq_kv\": 512", "\"seq_kv\": 514") == FATUNE_RT_TAMPERED);
  CHECK(replaced("\"verified\": true", "\"verified\": false") == FATUNE_RT_TAMPERED);
  CHECK(replaced("\"exact_compute\": true", "\"exact_compute\": false") == FATUNE_RT_TAMPERED);
  CHECK(replaced("\"fatune.wisdom/1\"", "\"fatune.wisdom/2\"") == FATUNE_RT_BAD_FILE);
  CHECK(replaced("\"fatune.wisdom/1\"", "\"fatune.best/1\"") == FATUNE_RT_BAD_FILE);
  CHECK(replaced("\"kernels\"", "\"kernel\"") == FATUNE_RT_BAD_FILE);
}

TEST_CASE("an index that was cut anywhere is refused") {
  const Folder folder;
  const std::string text = content(folder.index);
  for (std::size_t length = 0; length + 2 < text.size(); length += 7) {
    write(folder.index, text.substr(0, length));
    const rt::Failure failure = refused(folder);
    REQUIRE(failure.status == FATUNE_RT_BAD_FILE);
    REQUIRE_THAT(failure.message, ContainsSubstring(folder.index.string()));
  }
}

TEST_CASE("no changed byte of the index goes unnoticed, save for blanks and the version") {
  const Folder folder;
  const std::string text = content(folder.index);
  const std::size_t sealed = text.find("\"sha256\"");
  for (std::size_t at = sealed; at < text.size(); at += 3) {
    if (text[at] == ' ' || text[at] == '\n') continue;
    std::string changed = text;
    changed[at] ^= 1;
    write(folder.index, changed);
    INFO("byte " << at << " of " << text.substr(at > 20 ? at - 20 : 0, 40));
    REQUIRE_FALSE(rt::load_wisdom(folder.place.path()));
  }
}

TEST_CASE("facts that no launch could rely on are refused, though their hash is right") {
  const Folder folder;
  std::vector<KernelFacts> kernels = folder.kernels;
  kernels[0].stages[0].arguments.push_back("nothing");
  test::write_folder(folder.place.path(), kernels);
  const rt::Failure failure = refused(folder);
  CHECK(failure.status == FATUNE_RT_BAD_FILE);
  CHECK_THAT(failure.message, ContainsSubstring("kernels[0]") && ContainsSubstring("'nothing'"));
}

TEST_CASE("a folder that is not there, or holds no wisdom, is told so") {
  const test::TemporaryFolder folder;
  const auto loaded = rt::load_wisdom(folder / "nothing");
  REQUIRE_FALSE(loaded);
  CHECK(loaded.error().status == FATUNE_RT_BAD_FILE);
  CHECK_THAT(loaded.error().message, ContainsSubstring("nothing/index.json"));
}
