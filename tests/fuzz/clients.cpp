// clients.cpp: Fuzzes readers of judge messages and of evolve's answers, transcripts and ledgers.
#include "core/text.hpp"
#include "evolve/protocol/proposal.hpp"
#include "evolve/run/ledger.hpp"
#include "fuzz.hpp"
#include "judge/protocol/server.hpp"
#include "judge/services.hpp"
#include "memory_file.hpp"
#include "model/problem/problem.hpp"

namespace fatune::fuzz {
namespace {

/// Reads everything that a client may send, and compiles nothing.
Referee make_referee() {
  OpenCompilers none = []() -> Result<Compilers> { return environment_error("no compilers"); };
  const auto limits = typical_limits({90, 'a'});
  FATUNE_CHECK(limits, "sm_90a has limits");
  return Referee(ProblemBook(book("", {{"it", Attention()}})),
                 make_compile_examiner(std::move(none), *limits), JudgementLog());
}

/// A client sees one line of JSON for each that it sends.
void check_line(const std::string& line) {
  if (line.empty()) return;
  FATUNE_CHECK(line.find('\n') == std::string::npos, "an answer is one line");
  FATUNE_CHECK(parse_json(line, "answer"), "an answer is JSON");
}

void converse(std::string_view text, Dialect& dialect) {
  for (const std::string& line : split(std::string(text), '\n')) {
    const ParsedLine parsed = dialect.parse(line);
    check_line(parsed.answer);
    if (!parsed.call) continue;
    const auto beat = [&](std::string_view phase) {
      check_line(dialect.progress(*parsed.call, 1, phase));
      return Status();
    };
    check_line(dialect.answer(*parsed.call, parsed.call->tool->run(*parsed.call->arguments, beat)));
  }
}

}  // namespace

void client(std::string_view text) {
  Referee referee = make_referee();
  const Services services = judge_services(referee);
  converse(text, *make_mcp(services));
  converse(text, *make_json_lines(services));
}

void answer(std::string_view text) {
  const auto proposal = parse_proposal(text);
  if (!proposal) return;
  check_round_trip(*proposal);
  Trial parent;
  parent.source = "int a; int b;";
  const std::vector<const Trial*> parents = {&parent};
  for (const ProposedKernel& each : proposal->candidates)
    static_cast<void>(make_draft(each, parents));
}

void transcript(std::string_view text) {
  check_record<TranscriptEntry>(text);
  static_cast<void>(load_transcript(MemoryFile(text).path()));
}

void ledger(std::string_view text) {
  const auto read = load_ledger(MemoryFile(text).path());
  if (!read) return;
  check_round_trip(read->header);
  for (const Trial& each : read->trials) check_round_trip(each);
  for (const DuelRecord& each : read->duels) check_round_trip(each);
}

}  // namespace fatune::fuzz
