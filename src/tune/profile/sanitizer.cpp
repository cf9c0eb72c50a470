// sanitizer.cpp: Starts the tools of compute-sanitizer and reads their summaries.
#include "tune/profile/sanitizer.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

#include <fmt/format.h>

#include "core/lines.hpp"
#include "core/run_program.hpp"
#include "core/text.hpp"
#include "model/kernel/operation.hpp"
#include "model/space/rules.hpp"

namespace fatune {
namespace {

constexpr std::string_view kMark = "========= ";  // prefix of every line of the tool itself
constexpr std::string_view kSummaries[] = {"ERROR SUMMARY: ", "RACECHECK SUMMARY: "};
constexpr std::string_view kBanner = "COMPUTE-SANITIZER";

/// Returns the number of errors or hazards in a summary line; nullopt for other lines.
std::optional<std::int64_t> summary_count(std::string_view line) {
  for (const std::string_view summary : kSummaries) {
    const auto at = line.find(summary);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = line.substr(at + summary.size());
    return parse_integer(rest.substr(0, rest.find(' ')));
  }
  return std::nullopt;
}

/// Returns the lines to quote: the tool's first lines, or else the last of all.
struct Quotes {
  std::string first_finding, last_line;
};

void look_at(std::string_view line, Quotes& quotes) {
  if (line.empty()) return;
  quotes.last_line = line;
  if (!line.starts_with(kMark) || line.find(kBanner) != std::string_view::npos) return;
  if (quotes.first_finding.empty()) quotes.first_finding = trim(line.substr(kMark.size()));
}

constexpr std::uint64_t kSeed = 42;
constexpr std::int64_t kMostKeys = 256;  // chosen: kernels run up to 100 times slower

bool is_worse(const ToolVerdict& verdict, const ToolVerdict& than) {
  const auto rank = [](const ToolVerdict& of) {
    return of.result == "failed" ? 2 : of.result == "not_run" ? 1 : 0;
  };
  return rank(verdict) > rank(than);
}

}  // namespace

Result<std::vector<Candidate>> sanitizer_candidates(Candidate candidate,
                                                    const DeviceLimits& limits) {
  FATUNE_TRY(const std::vector<EdgeProblem> edges,
             candidate.kernel->manifest.operation->edge_problems(candidate.problem, kSeed));
  const auto is_long = [](const Attention& edge) { return edge.seq_kv > kMostKeys; };
  std::optional<Candidate> small, waves;
  for (const EdgeProblem& edge : edges) {
    if (!edge.last_resort && edge.problem.is(is_long)) continue;
    candidate.problem = edge.problem;
    FATUNE_TRY(const std::string reason, impossible_reason(candidate, limits));
    if (reason.empty()) (edge.last_resort ? waves : small) = candidate;
  }
  std::vector<Candidate> chosen;
  if (small) chosen.push_back(*small);
  if (waves && (!small || is_persistent(*waves, limits))) chosen.push_back(*waves);
  return chosen;
}

std::vector<ToolVerdict> worst_of(const std::vector<std::vector<ToolVerdict>>& runs) {
  std::vector<ToolVerdict> worst = runs.front();
  for (const std::vector<ToolVerdict>& run : runs) {
    for (std::size_t i = 0; i < worst.size(); ++i) {
      if (is_worse(run[i], worst[i])) worst[i] = run[i];
    }
  }
  return worst;
}

ToolVerdict read_sanitizer(const std::string& tool, bool succeeded, std::string_view text) {
  Quotes quotes;
  std::int64_t found = 0;
  int summaries = 0;
  for (const std::string_view line : Lines(text)) {
    if (const auto count = summary_count(line)) {
      found += *count;
      ++summaries;
    } else {
      look_at(trim(line), quotes);
    }
  }
  if (found > 0) return {tool, "failed", fmt::format("{} found: {}", found, quotes.first_finding)};
  if (summaries > 0 && succeeded) return {tool, "passed", ""};
  const std::string& said = quotes.first_finding.empty() ? quotes.last_line : quotes.first_finding;
  return {tool, "not_run", said.empty() ? "compute-sanitizer said nothing" : said};
}

Result<std::vector<ToolVerdict>> run_sanitizer(const SanitizerRequest& request) {
  std::vector<ToolVerdict> verdicts;
  for (const std::string& tool : sanitizer_tools()) {
    std::vector<std::string> arguments = {"--tool", tool, "--print-limit", "5",
                                          request.program.string()};
    arguments.insert(arguments.end(), request.arguments.begin(), request.arguments.end());
    auto run = run_program(
        {.program = request.sanitizer, .arguments = arguments, .extra_environment = {"LC_ALL=C"}},
        request.patience);
    if (!run) {
      if (run.error().kind == ErrorKind::kInterrupted) return std::move(run).error();
      verdicts.push_back({tool, "not_run", run.error().message});
    } else if (!run->end) {
      verdicts.push_back({tool, "not_run",
                          fmt::format("it had not finished after {} s", request.patience.count())});
    } else {
      verdicts.push_back(read_sanitizer(tool, run->succeeded(), run->text));
    }
  }
  return verdicts;
}

}  // namespace fatune
