// documents.hpp: Declares the documents that commands print with --json, a record each.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/commands/tools.hpp"
#include "model/kernel/candidate.hpp"
#include "model/space/lint.hpp"
#include "model/space/space.hpp"
#include "model/wisdom/kernel_facts.hpp"
#include "search/strategies/importance.hpp"
#include "tune/compile/inert.hpp"
#include "tune/evaluate/forecast.hpp"
#include "tune/evaluate/selftest.hpp"

namespace fatune::cli {

struct VerifiedConfig {
  NamedProblem problem;
  FinalRecord record;
  bool passed() const;
};
/// fatune.verify/1
struct VerifyDocument {
  DocumentHead head;
  Environment environment;
  std::vector<VerifiedConfig> configs;
};
void fields(VerifiedConfig& x, FieldList& f);
void fields(VerifyDocument& x, FieldList& f);

/// fatune.selftest/1
struct SelftestDocument {
  DocumentHead head;
  Environment environment;
  SelftestResult result;
};
void fields(SelftestDocument& x, FieldList& f);

/// fatune.outputs/1
struct OutputsDocument {
  DocumentHead head;
  Environment environment;
  std::vector<std::string> files;  ///< NAME.bin of each output
};
void fields(OutputsDocument& x, FieldList& f);

struct CompiledConfig {
  NamedProblem problem;
  std::string kernel;
  Json config = Json::object();
  Compiled compiled;
  std::optional<Resources> resources{};
};
/// fatune.compile/1
struct CompileDocument {
  DocumentHead head;
  std::string arch, nvrtc;
  std::vector<std::string> runtime_sizes;
  std::vector<CompiledConfig> configs;
};
void fields(CompiledConfig& x, FieldList& f);
void fields(CompileDocument& x, FieldList& f);

/// Summary of a space, for inspect.
struct SpaceSummary {
  std::uint64_t raw_points = 0, valid_points = 0;
  std::vector<Term> terms;
  std::vector<RuledOut> ruled_out;
  std::optional<Json> standard;  ///< default config; empty if a rule excludes it
};
/// Resources of an entry of the machine code and of its launch.
struct EntryResources {
  std::string entry;
  Resources resources;
};
/// Parameter importance in recorded data.
struct ExplainedRecording {
  std::string name, label, device, objective;
  std::optional<Problem> problem;
  ParameterImportance importance;
};
/// fatune.inspect/1: describes a kernel's space, a config or recorded data. Other members are
/// empty.
struct InspectDocument {
  DocumentHead head;
  std::string kernel;
  std::string arch;
  std::optional<Problem> problem;
  std::vector<std::string> runtime_sizes;  ///< sizes that machine code does not depend on
  std::optional<bool> supported;           ///< the kernel can do the problem
  std::optional<SpaceSummary> space;
  std::vector<ParameterEffect> parameters;
  std::optional<Json> config;
  std::optional<bool> feasible;  ///< the config can run
  std::string reason;            ///< reason if unsupported or infeasible
  std::optional<LaunchPlan> launch;
  std::optional<Forecast> forecast;
  std::optional<bool> compiled;
  std::string compile_problem, cubin;
  std::vector<EntryResources> entries;
  std::optional<CubinCensus> census;
  std::vector<ExplainedRecording> recordings;
};
void fields(SpaceSummary& x, FieldList& f);
void fields(EntryResources& x, FieldList& f);
void fields(InspectDocument& x, FieldList& f);

struct ListedParameter {
  std::string name;
  std::vector<Json> values;
  std::optional<Json> standard;  ///< the default
  std::string meaning;
};
struct ListedKernel {
  std::string name, summary, role, arch;
  std::vector<std::string> dtypes;
  bool tuned_by_default = false;
  std::vector<ListedParameter> parameters;
};
/// fatune.kernels/1
struct KernelsDocument {
  DocumentHead head;
  std::vector<ListedKernel> kernels;
};
void fields(ListedParameter& x, FieldList& f);
void fields(ListedKernel& x, FieldList& f);
void fields(KernelsDocument& x, FieldList& f);

/// fatune.lint/1
struct LintDocument {
  DocumentHead head;
  std::size_t kernels = 0, errors = 0;
  std::vector<LintFinding> findings;
  std::vector<std::string> runtime_sizes;
};
void fields(LintDocument& x, FieldList& f);

/// fatune.space/1: a space that a T1 file declares.
struct SpaceDocument {
  DocumentHead head;
  std::string name;
  std::uint64_t raw_points = 0, valid_points = 0;
  std::vector<ListedParameter> parameters;
  std::vector<RuledOut> ruled_out;
};
void fields(SpaceDocument& x, FieldList& f);

/// fatune.devices/1
struct DevicesDocument {
  DocumentHead head;
  std::vector<ListedDevice> devices;
};
void fields(DevicesDocument& x, FieldList& f);

struct ListedExport {
  std::string name;
  KernelFacts launch;
};
/// fatune.export/1
struct ExportDocument {
  DocumentHead head;
  std::vector<std::string> files;
  std::vector<ListedExport> kernels;
};
void fields(ListedExport& x, FieldList& f);
void fields(ExportDocument& x, FieldList& f);

}  // namespace fatune::cli
