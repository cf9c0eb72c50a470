// disassemble.cpp - runs nvdisasm or cuobjdump and counts what it prints.
#include "tune/profile/disassemble.hpp"

#include <chrono>
#include <string>

#include "core/run_program.hpp"
#include "core/text.hpp"

namespace fatune {
namespace {

constexpr std::chrono::seconds kPatience{60};

}  // namespace

std::vector<std::string> disassemblers() { return {"nvdisasm", "cuobjdump"}; }

std::string disassembler_remedy() {
  return "install nvdisasm or cuobjdump: they are part of the CUDA toolkit (packages cuda-nvdisasm "
         "and cuda-cuobjdump), or the wheels nvidia-cuda-nvdisasm and nvidia-cuda-cuobjdump";
}

Result<std::vector<Census>> take_census(const std::filesystem::path& tool,
                                        const std::filesystem::path& cubin) {
  const std::string option = tool.filename() == "cuobjdump" ? "-sass" : "-c";
  FATUNE_TRY(const ProgramRun output, run_program({.program = tool,
                                                   .arguments = {option, cubin.string()},
                                                   .extra_environment = {"LC_ALL=C"}},
                                                  kPatience));
  std::vector<Census> found = parse_sass(output.text);
  if (output.succeeded() && !found.empty()) return found;
  const auto lines = split(trim(output.text), '\n');
  return environment_error(tool.string() + " cannot disassemble " + cubin.string() + ": " +
                           (output.end ? lines.back() : "it did not come to an end"));
}

}  // namespace fatune
