// compiled.hpp - what a compilation gave: machine code and resources, or the log.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/fields_fwd.hpp"
#include "core/result.hpp"
#include "model/results/measurement.hpp"

namespace fatune {

struct Compiled {
  bool ok = false;
  std::string problem;                       ///< first error line, when not ok
  std::string log;                           ///< whole compiler log
  std::filesystem::path cubin_path;          ///< in the cache
  std::string cubin_hash;                    ///< SHA-256 of the machine code
  std::map<std::string, Resources> entries;  ///< by entry name, from the log
  double seconds = 0;                        ///< of the compiler; 0 on a cache hit
  bool from_cache = false;
};
void fields(Compiled& x, FieldList& f);

/// Registers, spills, stack frame, shared memory by entry, and the warnings worth keeping (C75xx,
/// spills, stack frame).
std::map<std::string, Resources> parse_compile_log(std::string_view log);

}  // namespace fatune
