// request.hpp - a candidate turned into the exact input of the compiler, and its cache key.
#pragma once

#include <string>
#include <vector>

#include "core/fields_fwd.hpp"
#include "model/kernel/candidate.hpp"

namespace fatune {

/// One compilation: everything that decides the machine code.
struct CompileRequest {
  std::string label;  ///< "fa_mma BLOCK_M=128 ...", for messages
  SourceFile source;
  std::vector<SourceFile> headers;
  std::vector<std::string> macros;  ///< "BLOCK_M=128"
  Arch arch;
  bool toolkit_headers = false;
};
CompileRequest compile_request(const Candidate& candidate, const DeviceLimits& limits,
                               const std::vector<std::string>& extra_macros = {});
/// What the compiler is told, include folders aside: language, target, reports, macros.
std::vector<std::string> compile_options(const CompileRequest& request);
/// SHA-256 over the request, the compiler's version and, with toolkit headers, theirs.
std::string cache_key(const CompileRequest& request, const std::string& compiler_identity);
/// What candidate_id() takes beside the candidate.
std::string id_options(const Arch& arch, const std::string& compiler_identity);
void fields(CompileRequest& x, FieldList& f);

}  // namespace fatune
