// draft_test.cpp: Tests kernels from answers and edits, and the errors of invalid ones.
#include <catch2/catch_test_macros.hpp>

#include "evolve/protocol/proposal.hpp"
#include "evolve_fakes.hpp"

using namespace fatune;

namespace {

std::string problem_with(const std::string& line) {
  const auto proposal = parse_proposal(line);
  return proposal ? "" : proposal.error().message;
}

Trial parent_of(const std::string& source) {
  Trial parent;
  parent.number = 3;
  parent.verdict = verdict::kElite;
  parent.source = source;
  parent.manifest = test::manifest_text("timed", "attention");
  ShapeTrial shape;
  shape.config = Json{{"TILE", 2}};
  parent.shapes.push_back(shape);
  return parent;
}

std::string refusal(const ProposedKernel& proposed, const Trial& parent) {
  const Trial* parents[] = {&parent};
  const auto draft = make_draft(proposed, parents);
  return draft ? "" : draft.error().message;
}

}  // namespace

TEST_CASE("an answer's faults are told by field") {
  CHECK(problem_with("{") != "");
  CHECK(problem_with("[]") != "");
  CHECK(problem_with("{}") == "answer: field 'candidates' is missing");
  CHECK(problem_with(R"({"candidates": []})") == "answer: field 'candidates' is empty");
  CHECK(problem_with(R"({"candidates": [{"source": 3}]})").find("candidates[0].source") !=
        std::string::npos);
  CHECK(problem_with(R"({"candidates": [{"lever": "two words"}]})").find("not a word") !=
        std::string::npos);
  CHECK(problem_with(R"({"candidates": [{}], "usage": {"cost": -1}})").find("usage.cost") !=
        std::string::npos);
  CHECK(problem_with(R"({"candidates": [{}], "insight": ")" + std::string(5000, 'x') + "\"}")
            .find("more than 4096") != std::string::npos);
  CHECK(problem_with(R"({"candidates": [{"source": "x"}], "extra": true})").empty());
}

TEST_CASE("an edit finds its text once, or it is refused") {
  const Trial parent = parent_of("int a;\nint b;\nvoid main_entry();\n");
  ProposedKernel proposed;
  proposed.edits = {{"int a;", "long a;"}, {"int b;", "long b;"}};
  const Trial* parents[] = {&parent};
  const auto draft = make_draft(proposed, parents);
  REQUIRE(draft);
  CHECK(draft->source == "long a;\nlong b;\nvoid main_entry();\n");
  CHECK(draft->manifest == parent.manifest);
  CHECK_FALSE(draft->settings);
  proposed.edits = {{"int", "long"}};
  CHECK(refusal(proposed, parent) == "edits[0]: its 'find' stands 2 times in the parent, not once");
  proposed.edits = {{"int a;", ""}, {"int c;", ""}};
  CHECK(refusal(proposed, parent) == "edits[1]: its 'find' stands 0 times in the parent, not once");
}

TEST_CASE("paths, foreign includes and roles are refused as the judge refuses them") {
  const Trial parent = parent_of("void main_entry();\n");
  ProposedKernel proposed;
  proposed.manifest = replaced(parent.manifest, "timed.cu", "../../timed.cu");
  CHECK(refusal(proposed, parent).find("not a name such as kernel.cu") != std::string::npos);
  proposed.manifest = replaced(parent.manifest, "\"attention\"", "\"reference\"");
  CHECK(refusal(proposed, parent).find("role") != std::string::npos);
  proposed.manifest.clear();
  proposed.source = "#include \"/etc/passwd\"\nvoid main_entry();\n";
  CHECK(refusal(proposed, parent).find("passwd") != std::string::npos);
}

TEST_CASE("a config that moves one parameter of its parent's is a move, two are not") {
  Trial parent = parent_of("void main_entry();\n");
  parent.manifest = replaced(parent.manifest, "\"constraints\"", "\"terms\":[],\"constraints\"");
  parent.manifest =
      replaced(parent.manifest, "\"parameters\":[",
               R"("parameters":[{"name":"WIDTH","values":[1,2],"default":1,"meaning":"w"},)");
  parent.shapes[0].config = Json{{"WIDTH", 1}, {"TILE", 2}};
  ProposedKernel proposed;
  proposed.config = R"({"WIDTH": 1, "TILE": 3})";
  CHECK(refusal(proposed, parent).empty());
  proposed.config = R"({"WIDTH": 2, "TILE": 3})";
  CHECK(refusal(proposed, parent) == "config: moves WIDTH, TILE at once; a move has one lever");
  proposed.config = R"({"TILE": 999})";
  CHECK_FALSE(refusal(proposed, parent).empty());
}

TEST_CASE("the key tells texts apart") {
  CHECK(test::timed_draft("1 1 1").key == test::timed_draft("1 1 1").key);
  CHECK(test::timed_draft("1 1 1").key != test::timed_draft("1 1 2").key);
}

TEST_CASE("without a parent a kernel must be whole") { CHECK_FALSE(make_draft({}, {})); }
