// specification.hpp: Reads tuning problems of other tuners as kernels with manifests.
#pragma once

#include <array>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.hpp"
#include "core/result.hpp"
#include "model/declaring/declare.hpp"
#include "model/kernel/manifest.hpp"
#include "model/problem/plain_type.hpp"

namespace fatune {

/// The reference of a kernel whose file has reference data: it copies them.
inline constexpr std::string_view kAnswerSource = "answer.cu";

/// Reads a T1 file (of KTT, BAT or Kernel Tuner) or a capture of kernel_launcher. The source is
/// kept byte by byte; headers that it includes in quotes are found beside it or in folders of -I.
/// Without reference data the default config is the yardstick, or the first that the rules allow.
/// Errors name file and field. `typed` must be empty: the file says everything.
Result<Declared> declare_json(const std::filesystem::path& file, std::span<const Statement> typed);

/// Holds what a file of another tuner says, in a manifest's terms.
struct Specification {
  std::string where;     ///< the file, for messages
  std::string function;  ///< C++ name, with template arguments
  std::string source;
  std::vector<std::filesystem::path> folders;  ///< searched for the source and its headers
  std::vector<SourceFile> headers;             ///< that the file holds itself
  std::vector<SourceFile> files;               ///< data
  std::vector<Parameter> parameters;
  std::vector<std::string> rules;
  std::vector<std::string> options;  ///< of the compiler, in any spelling
  bool own_macros = false;
  std::vector<DefineSpec> defines;
  std::array<std::string, 3> grid, block;
  std::string shared_bytes = "0";
  std::vector<Json> tensors;  ///< as in a manifest; `answer_of`: of reference data
  std::vector<ConstantSpec> constants;
  std::vector<std::string> arguments;
  double absolute = 0, relative = 0;  ///< tolerance; both 0: the usual one

  /// Adds an argument by value; a value that the type cannot hold is an error of the field.
  Status pass(const PlainFacts& type, double value, const Fields& fields, const char* field);
  /// Adds a tensor of `count` elements and returns its fields. The name is changed if a macro or
  /// another tensor has it.
  Json& add(std::string name, std::string_view type, std::size_t count);
  /// Adds the file of a tensor's elements.
  void set_data(Json& tensor, std::string bytes);
  /// Adds the right elements of an output, as a tensor without a fill yet.
  Json& add_answer(const std::string& output);
};

Result<Specification> specification_of_t1(const Json& json, const std::filesystem::path& file);
Result<Specification> specification_of_capture(const Json& json, const std::filesystem::path& file);

/// Writes manifests, source and answers as files of a folder. Fails where no config obeys the
/// rules, and where a manifest cannot hold what is asked.
Result<Declared> declared(Specification specification);

/// Reads a file below the first folder that has it. Fails with an error of the field that names it.
Result<std::string> read_named(const std::string& name, const Fields& fields, const char* field,
                               std::span<const std::filesystem::path> folders);

}  // namespace fatune
