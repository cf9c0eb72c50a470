// run_text.hpp: Runs a test's PTX text and returns the buffers that it wrote.
#pragma once

#include <string>
#include <vector>

#include "ptx/interpret.hpp"

namespace fatune::test {

using Buffer = std::vector<std::byte>;

/// Runs the only entry of a text; its parameters are the addresses of the buffers.
inline Status run_text(const std::string& text, ptx::Launch launch, std::vector<Buffer>& buffers,
                       ptx::Asynchrony asynchrony = ptx::Asynchrony::kLate) {
  FATUNE_TRY(ptx::Module module, ptx::Module::parse(text));
  ptx::Memory memory;
  FATUNE_TRY(const ptx::Program program, module.entry(module.syntax.entries.at(0).name, memory));
  launch.parameters.resize(program.parameter_bytes);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const std::uint64_t address = memory.add("buffer " + std::to_string(i), buffers[i]);
    std::memcpy(&launch.parameters[program.parameters[i].offset], &address, sizeof address);
  }
  return ptx::run_grid(program, launch, memory, asynchrony);
}

/// An entry with one parameter, %base, and %tid.x in %thread. Registers: %p0-3, %h0-7 of 16 bits,
/// %r0-31 and %f0-31 of 32, %d0-7 of 64.
inline std::string entry_of(const std::string& body) {
  return ".version 8.0\n.target sm_90a\n.address_size 64\n"
         ".visible .entry test(.param .u64 test_param_0)\n{\n"
         ".reg .pred %p<4>; .reg .b16 %h<8>; .reg .b32 %r<32>; .reg .f32 %f<32>;\n"
         ".reg .b64 %d<8>; .reg .b64 %base; .reg .b32 %thread;\n"
         "ld.param.u64 %base, [test_param_0];\nmov.u32 %thread, %tid.x;\n" +
         body + "\nret;\n}\n";
}

}  // namespace fatune::test
