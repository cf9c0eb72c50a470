// request.cpp - candidates to compiler input, its key, and its JSON form.
#include "worker/protocol/request.hpp"

#include <nlohmann/json.hpp>

#include "core/hash.hpp"

namespace fatune {
namespace {

Json to_json(const SourceFile& file) { return {{"path", file.path}, {"text", file.text}}; }

Result<SourceFile> source_file_from(const Fields& fields) {
  SourceFile file;
  FATUNE_TRY(file.path, fields.text("path"));
  FATUNE_TRY(file.text, fields.text("text"));
  return file;
}

}  // namespace

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

Json to_json(const CompileRequest& request) {
  Json headers = Json::array();
  for (const auto& header : request.headers) headers.push_back(to_json(header));
  return {{"label", request.label},        {"source", to_json(request.source)},
          {"headers", std::move(headers)}, {"macros", request.macros},
          {"arch", name(request.arch)},    {"toolkit_headers", request.toolkit_headers}};
}

Result<CompileRequest> compile_request_from_json(const Json& object, const std::string& where) {
  const Fields fields(object, where);
  CompileRequest request;
  FATUNE_TRY(request.label, fields.text("label"));
  FATUNE_TRY(const Fields source, fields.object("source"));
  FATUNE_TRY(request.source, source_file_from(source));
  FATUNE_TRY(const std::vector<Fields> headers, fields.objects_or_empty("headers"));
  for (const Fields& header : headers) {
    FATUNE_TRY(SourceFile file, source_file_from(header));
    request.headers.push_back(std::move(file));
  }
  FATUNE_TRY(request.macros, fields.texts_or("macros", {}));
  FATUNE_TRY(const std::string arch, fields.text("arch"));
  FATUNE_TRY(request.arch, parse_arch(arch));
  FATUNE_TRY(request.toolkit_headers, fields.boolean_or("toolkit_headers", false));
  return request;
}

}  // namespace fatune
