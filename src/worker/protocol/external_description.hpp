// external_description.hpp - configs/external/NAME.json: how a program is called and understood.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/fields_fwd.hpp"
#include "core/result.hpp"
#include "model/problem/problem.hpp"

namespace fatune {

/// How to find times in what a program prints. Groups are numbered as in the pattern; 0: none.
struct ExternalOutput {
  std::string pattern;  ///< a regular expression of RE2, for one line
  std::string unit = "us";
  std::optional<double> unit_us;  ///< what the printed times count, instead of a unit
  std::int64_t hot = 1, cold = 0, tflops = 0, error = 0;
  std::optional<double> error_limit;  ///< an error above it fails the program
};
/// Reading fails also for a pattern that is no regular expression or lacks a group.
void fields(ExternalOutput& x, FieldList& f);

struct ExternalTimes {
  double hot_us = 0;
  std::optional<double> cold_us, tflops, error;
};
/// From the first line that matches. Without one, with a time that is none, or with an error above
/// the limit it is a device error that quotes the line.
Result<ExternalTimes> read_external_output(std::string_view text, const ExternalOutput& how);

/// A rule of the description that a problem must keep.
struct ExternalRule {
  std::string require;  ///< an expression over batch, heads, kv_heads, seq_q, seq_kv and head_dim,
                        ///< or over the operation's sizes
  std::string why;
};
void fields(ExternalRule& x, FieldList& f);

struct ExternalDescription {
  std::string name, summary, homepage, licence;
  std::string install;  ///< how to get the program
  std::string program;
  std::string operation = "attention";  ///< what it computes
  std::vector<std::string> sizes;       ///< of a custom operation: names for placeholders
  std::vector<std::string> arguments;   ///< with placeholders
  std::vector<std::string> dtypes, masks;
  std::vector<std::int64_t> head_dims;  ///< this list and the two above: empty is all
  std::vector<std::string> layouts;     ///< as name(Layouts) writes them; empty: bhsd alone
  std::vector<ExternalRule> rules;
  ExternalOutput output;
  std::int64_t launches = 1;  ///< behind a hot time
  std::int64_t runs = 3;      ///< turns it takes, spread over the rounds
  std::int64_t timeout_s = 60;
  std::string verifies;  ///< what the program checks of its own output
};
void fields(ExternalDescription& x, FieldList& f);
Result<ExternalDescription> parse_external(std::string_view text, const std::string& where);

/// Fills in {batch}, {heads}, {kv_heads}, {seq_q}, {seq_kv}, {head_dim}, {dtype}, {mask}, {layout},
/// {causal} (0 or 1) and {causal:A|B}, A without a mask and B with it. For a custom operation: its
/// sizes, as {ROWS}, and {dtype}.
Result<std::string> fill_in(std::string_view text, const Problem& problem,
                            const std::string& where);

/// Why the program cannot do the problem; empty when it can.
Result<std::string> refusal(const ExternalDescription& description, const Problem& problem);

/// Finds NAME.json in the folders, in order, or among those that ship with fatune.
Result<ExternalDescription> load_external(const std::string& name,
                                          const std::vector<std::filesystem::path>& folders);

/// Where descriptions NAME.json and the programs that they name are looked for.
struct ExternalPlaces {
  std::vector<std::filesystem::path> folders;          ///< of both, first
  std::vector<std::filesystem::path> program_folders;  ///< of programs
};

/// The settings of an OutsideProgram.
struct ExternalCommand {
  ExternalDescription description;  ///< its arguments with the problem filled in
  std::string program;              ///< its file; empty when it is not there
  std::string refusal;              ///< why it cannot do the problem; then no argument is filled in
};
void fields(ExternalCommand& x, FieldList& f);
/// configs/external/NAME.json (fatune.external/1) for the problem. An error names file and field; a
/// problem that the program cannot do, or a program that is not there, is told by open_external().
Result<ExternalCommand> external_command(const std::string& name, const Problem& problem,
                                         const ExternalPlaces& places);

/// Those in `folders` and those that ship with fatune.
std::vector<std::string> external_names(const std::vector<std::filesystem::path>& folders);

std::optional<std::filesystem::path> find_external(const ExternalDescription& description,
                                                   const ExternalPlaces& places);
/// The environment error for a program that is not there.
Error no_external(const ExternalDescription& description);

}  // namespace fatune
