// trace_set.hpp - Definitions and Workloads of FlashInfer-Trace and SOL-ExecBench, and what of them
// is attention of ours.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "model/problem/suite.hpp"

namespace fatune {

/// Of its value one of three is known: a constant, what computes it from others, or that a workload
/// tells it.
struct TraceAxis {
  std::string name;
  std::optional<std::int64_t> constant{};
  std::string expression{};
};

struct TraceTensor {
  std::string name;
  std::vector<std::string> shape{};  ///< names of axes; empty: a number
  std::string dtype{};               ///< "float16"
};

/// An operation: tensors over named axes, and its reference in PyTorch.
struct TraceDefinition {
  std::string name;
  std::vector<TraceAxis> axes{};
  std::vector<TraceTensor> inputs{}, outputs{};
  std::string reference{};
};

/// Values for a definition's variable axes and for inputs that are numbers.
struct TraceWorkload {
  std::string uuid;
  std::string definition{};  ///< its name; empty: not told
  std::map<std::string, std::int64_t> axes{};
  std::map<std::string, double> numbers{};
};

/// Members that it does not know are passed over. Errors are file errors with file and field.
Result<TraceDefinition> parse_definition(std::string_view text, const std::string& where);
/// Lines of workloads, each alone or in a Trace around it.
Result<std::vector<TraceWorkload>> parse_workloads(std::string_view text, const std::string& where);
/// The attention that it is; a file error names what is not ours: tensors other than q, k, v and
/// one output, element types, and what attention_of() says of the reference.
Result<Problem> problem_of(const TraceDefinition& definition, const TraceWorkload& workload,
                           const std::string& where);

/// What problem_of() says of a definition's tensors, whatever their sizes.
Status check_tensors(const TraceDefinition& definition, const std::string& where);

/// Problems of a folder: definitions/ with workloads/ (FlashInfer-Trace), or definition.json with
/// workload.jsonl, in it or below (SOL-ExecBench). A definition that is no attention of ours is
/// left out, and the log says why; so is a second workload of the same problem. None at all is an
/// error.
Result<Suite> load_trace_set(const std::filesystem::path& folder);
/// A definition alone, whose axes are all constant or computed.
Result<Suite> suite_of(const TraceDefinition& definition, const std::string& where);

}  // namespace fatune
