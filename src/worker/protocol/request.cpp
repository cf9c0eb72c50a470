// request.cpp - candidates to compiler input, its key and its fields.
#include "worker/protocol/request.hpp"

#include "core/fields.hpp"
#include "core/hash.hpp"

namespace fatune {
CompileRequest compile_request(const Candidate& candidate, const DeviceLimits& limits,
                               const std::vector<std::string>& extra_macros) {
  CompileRequest request;
  request.label = candidate.kernel->manifest.name + " " + describe(candidate.config);
  request.source = candidate.kernel->source;
  request.headers = candidate.kernel->headers;
  request.macros = macros_of(candidate, limits);
  request.macros.insert(request.macros.end(), extra_macros.begin(), extra_macros.end());
  request.arch = limits.arch;
  request.toolkit_headers = candidate.kernel->manifest.needs_toolkit_headers;
  return request;
}

std::vector<std::string> compile_options(const CompileRequest& request) {
  std::vector<std::string> options = {
      "--std=c++17",
      "--gpu-architecture=" + name(request.arch),
      "--ptxas-options=-v",                            // registers and memory, into the log
      "--ptxas-options=--warn-on-spills",              // each ptxas option in a flag of its own:
      "--ptxas-options=--warn-on-local-memory-usage",  // NVRTC refuses lists
  };
  for (const auto& macro : request.macros) options.push_back("--define-macro=" + macro);
  return options;
}

std::string cache_key(const CompileRequest& request, const std::string& compiler_identity) {
  Hasher hasher;
  hasher.add(compiler_identity).add(request.source.path).add(request.source.text);
  hasher.add(std::to_string(request.headers.size()));
  for (const auto& header : request.headers) hasher.add(header.path).add(header.text);
  for (const auto& option : compile_options(request)) hasher.add(option);
  hasher.add(request.toolkit_headers ? "toolkit headers" : "");
  return hasher.hex();
}

std::string id_options(const Arch& arch, const std::string& compiler_identity) {
  return name(arch) + " " + compiler_identity;
}

static void fields(SourceFile& x, FieldList& f) {
  f("path", x.path).required();
  f("text", x.text).required();
}

void fields(CompileRequest& x, FieldList& f) {
  f("label", x.label).required();
  f("source", x.source).required();
  f("headers", x.headers);
  f("macros", x.macros);
  f("arch", x.arch).required();
  f("toolkit_headers", x.toolkit_headers);
}

}  // namespace fatune
