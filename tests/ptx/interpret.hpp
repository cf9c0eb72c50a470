// interpret.hpp: Runs a candidate on given inputs without a GPU and returns its outputs.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "model/kernel/candidate.hpp"
#include "ptx/grid.hpp"
#include "worker/compile/nvrtc.hpp"

namespace fatune::ptx {

/// Everything that interpretation needs beside a candidate.
struct Setting {
  const Nvrtc& compiler;
  DeviceLimits limits;
};

/// Memory by the name of its tensor; several tensors may share a buffer.
struct Tensors {
  struct Place {
    std::string buffer;
    std::size_t first = 0;  ///< byte
  };
  std::map<std::string, std::vector<std::byte>> buffers;
  std::map<std::string, Place> places;
  std::uint64_t products = 0;  ///< multiplications of tensor cores
};

/// An entry's text, compiled and decoded.
struct Module {
  ModuleSyntax syntax;
  /// `memory` holds its variables from then on.
  static Result<Module> parse(std::string_view ptx);
  Result<Program> entry(const std::string& name, Memory& memory);

 private:
  std::map<std::string, std::uint64_t> globals_;
  bool placed_ = false;
};

/// Runs the stages one after another, and leaves what they write in `tensors`. `macros` as for
/// compile_request(). Errors: what does not compile, an instruction that is not known, an access
/// outside of all buffers, threads that wait for each other, a stage that is a library's.
Status interpret(const Setting& setting, const Candidate& candidate,
                 const std::vector<std::string>& macros, Asynchrony asynchrony, Tensors& tensors);

}  // namespace fatune::ptx
