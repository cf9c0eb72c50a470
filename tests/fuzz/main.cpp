// main.cpp: Runs the fuzz target that the first argument names. With libFuzzer, the remaining
// arguments are libFuzzer's options. Without libFuzzer, they are files or folders, and the target
// runs once on each file, as afl-fuzz expects.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "core/file.hpp"
#include "core/log.hpp"
#include "fuzz.hpp"

#ifdef FATUNE_LIBFUZZER
extern "C" int LLVMFuzzerRunDriver(int* argc, char*** argv,
                                   int (*run)(const std::uint8_t* data, std::size_t size));
// FATUNE_CHECK ends so; libFuzzer keeps the input of what aborts.
extern "C" void _exit(int) { std::abort(); }
#endif

namespace fatune::fuzz {
namespace {

constexpr Target kTargets[] = {{"json", json},
                               {"gzip", gzip},
                               {"words", words},
                               {"manifest", manifest},
                               {"expression", expression},
                               {"python", python},
                               {"suite", suite},
                               {"shape", shape},
                               {"journal", journal},
                               {"journal_files", journal_files},
                               {"merge", merge},
                               {"kernel_tuner", kernel_tuner},
                               {"t4", t4},
                               {"ktt", ktt},
                               {"t1", t1},
                               {"best", best},
                               {"saved", saved},
                               {"known", known},
                               {"wisdom", wisdom},
                               {"launch", launch},
                               {"message", message},
                               {"compile_log", compile_log},
                               {"ncu", ncu},
                               {"sass", sass},
                               {"client", client},
                               {"answer", answer},
                               {"transcript", transcript},
                               {"ledger", ledger},
                               {"http", http}};

#ifdef FATUNE_LIBFUZZER
void (*chosen)(std::string_view) = nullptr;  // libFuzzer's callback takes nothing of ours

int run(const Target& target, int argc, char** argv) {
  chosen = target.run;
  return LLVMFuzzerRunDriver(&argc, &argv, [](const std::uint8_t* data, std::size_t size) {
    chosen({reinterpret_cast<const char*>(data), size});
    return 0;
  });
}
#else
int run(const Target& target, int argc, char** argv) {
  namespace fs = std::filesystem;
  for (int i = 1; i < argc; ++i) {
    std::vector<fs::path> files = {argv[i]};
    if (fs::is_directory(files.front())) files.assign(fs::directory_iterator(argv[i]), {});
    for (const fs::path& file : files) {
      const auto text = read_file(file);
      if (!text) return 4;
      target.run(*text);
    }
  }
  return 0;
}
#endif

}  // namespace
}  // namespace fatune::fuzz

int main(int argc, char** argv) {
  using fatune::fuzz::kTargets;
  fatune::log::set_level(fatune::log::Level::kQuiet);
  const auto* target = std::ranges::find_if(
      kTargets, [&](const auto& each) { return argc > 1 && each.name == argv[1]; });
  if (target != std::end(kTargets)) return fatune::fuzz::run(*target, argc - 1, argv + 1);
  for (const auto& each : kTargets) std::puts(std::string(each.name).c_str());
  return argc > 1 ? 2 : 0;
}
