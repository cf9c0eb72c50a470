// terms_test.cpp: Checks that a manifest's terms are read, expanded, and usable in every
// expression.
#include <algorithm>

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "model/kernel/vocabulary.hpp"
#include "model/space/lint.hpp"
#include "model/space/rules.hpp"
#include "model/space/space.hpp"
#include "support/sample_kernel.hpp"

namespace fatune {
namespace {

const std::string kWhere = "sample.json: field 'terms";

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  FATUNE_CHECK(at != std::string::npos, "a test must replace text that is there");
  return text.replace(at, from.size(), to);
}

/// The sample manifest with these terms, a JSON list without its brackets.
std::string with_terms(std::string_view terms) {
  return sample_with("\"constraints\": [",
                     fmt::format("\"terms\": [{}], \"constraints\": [", terms));
}

std::string term(std::string_view name, std::string_view value) {
  return fmt::format(R"({{"name": "{}", "value": "{}", "meaning": "m"}})", name, value);
}

std::string terms_error(std::string_view terms) {
  const Result<Manifest> manifest = parse_manifest(with_terms(terms), "sample.json");
  return manifest ? "" : manifest.error().message;
}

/// The sample manifest with a term in each kind of expression, and the same meaning.
std::string all_in_terms() {
  std::string text = with_terms(
      term("PAIR", "2 * BLOCK_N") + ", " + term("ALONE", "REDUCE == REDUCE_SERIAL ? 1 : 0") + ", " +
      term("SCORES", "BATCH * HEADS * SEQ_Q * SEQ_KV") + ", " +
      term("TILES", "ceil_div(SEQ_Q, BLOCK_M)") + ", " +
      term("ROW_BYTES", "HEAD_DIM * DTYPE_BYTES") + ", " + term("Q_BYTES", "BLOCK_M * ROW_BYTES") +
      ", " + term("ONE", "PAIR / BLOCK_N - 1"));
  text = replaced(text, "BLOCK_M >= 2 * BLOCK_N", "BLOCK_M >= PAIR");
  text = replaced(text, "REDUCE == REDUCE_WARP ||", "ALONE == 0 ||");
  text = replaced(text, "4 * BATCH * HEADS * SEQ_Q * SEQ_KV", "4 * SCORES");
  text = replaced(text, "\"HEAD_DIM\", \"BLOCK_N\"", "\"HEAD_DIM\", \"PAIR / 2\"");
  text = replaced(text, "[\"ceil_div(SEQ_Q, BLOCK_M)\"", "[\"TILES\"");
  text = replaced(text, "\"block\": [\"BLOCK_M\"",
                  "\"cluster\": [\"ONE\", \"1\", \"1\"], \"block\": [\"BLOCK_M * ONE\"");
  text = replaced(text, "\"BLOCK_M * HEAD_DIM * DTYPE_BYTES\"", "\"Q_BYTES\"");
  return replaced(text, "\"256\"", "\"256 * ONE\"");
}

Result<Space> space_of(const std::string& manifest, std::string_view arch) {
  return Space::build(sample_kernel(manifest), kMission, limits_of(arch));
}

}  // namespace

TEST_CASE("terms are read, and written out in parentheses") {
  const auto manifest = parse_manifest(
      with_terms(term("PAIR", "BLOCK_N + BLOCK_N") + ", " + term("E3", "3 * PAIR")), "sample.json");
  INFO((manifest ? "" : manifest.error().message));
  REQUIRE(manifest);
  REQUIRE(manifest->terms.size() == 2);
  CHECK(manifest->terms[0].name == "PAIR");
  CHECK(manifest->terms[0].meaning == "m");
  CHECK(manifest->terms[1].value == "3 * PAIR");
  const auto expanded = [&](std::string_view text) { return expand_terms(*manifest, text); };
  CHECK(expanded("BLOCK_M >= PAIR") == "BLOCK_M >= (BLOCK_N + BLOCK_N)");
  CHECK(expanded("E3-PAIR") == "(3 * (BLOCK_N + BLOCK_N))-(BLOCK_N + BLOCK_N)");
  CHECK(expanded("PAIRS + A_PAIR + PAIR2") == "PAIRS + A_PAIR + PAIR2");
  CHECK(expanded("1E3 + 1.E3 + .5E3") == "1E3 + 1.E3 + .5E3");
  CHECK(expanded("").empty());
  const auto plain = parse_manifest(kSampleManifest, "sample.json");
  REQUIRE(plain);
  CHECK(plain->terms.empty());
  CHECK(expand_terms(*plain, "PAIR") == "PAIR");
}

TEST_CASE("mistakes in terms are named") {
  CHECK(terms_error(term("2ND", "1")) ==
        kWhere + "[0].name' is '2ND', not a name of letters, digits and _ only");
  CHECK(terms_error(term("BATCH", "1")) ==
        kWhere + "[0].name' is 'BATCH', a name that fatune defines itself");
  CHECK(terms_error(term("BLOCK_M", "1")) == kWhere + "[0].name' defines BLOCK_M a second time");
  CHECK(terms_error(term("REDUCE_WARP", "1")) ==
        kWhere + "[0].name' defines REDUCE_WARP a second time");
  CHECK(terms_error(term("A", "1") + ", " + term("A", "2")) ==
        kWhere + "[1].name' defines A a second time");
  CHECK(terms_error(R"({"name": "A", "meaning": "m"})") == kWhere + "[0].value' is missing");
  CHECK(terms_error(R"({"name": "A", "value": "1", "meaning": ""})") ==
        kWhere + "[0].meaning' must not be empty");
  CHECK(terms_error(R"({"name": "A", "vlaue": "1", "meaning": "m"})") ==
        kWhere + "[0].vlaue' is unknown; did you mean 'value'?");
  CHECK(terms_error(term("A", "BLOCK_M = 2"))
            .starts_with(kWhere + "[0].value': 'BLOCK_M = 2' '=' at character 9 is not"));
}

TEST_CASE("a term knows those before it only") {
  const std::string unknown = "uses the unknown name ";
  CHECK(terms_error(term("PAIRS", "PAIRS + 1")) ==
        kWhere + "[0].value': 'PAIRS + 1' " + unknown + "'PAIRS'");
  CHECK(terms_error(term("A", "PAIRS") + ", " + term("PAIRS", "1")) ==
        kWhere + "[0].value': 'PAIRS' " + unknown + "'PAIRS'");
  CHECK(terms_error(term("PAIRS", "1") + ", " + term("A", "2 * PARIS")) ==
        kWhere + "[1].value': '2 * PARIS' " + unknown + "'PARIS' (did you mean 'PAIRS'?)");
}

TEST_CASE("unknown names in expressions are compared with terms too") {
  const std::string text = with_terms(term("PAIRS", "2 * BLOCK_N"));
  CHECK(parse_manifest(replaced(text, "BLOCK_M >= 2 * BLOCK_N", "BLOCK_M >= PARIS"), "sample.json")
            .error()
            .message ==
        "sample.json: field 'constraints[0].require': 'BLOCK_M >= PARIS' uses the unknown name "
        "'PARIS' (did you mean 'PAIRS'?)");
  CHECK(parse_manifest(replaced(text, "HEAD_DIM % 16 == 0", "PAIRS > 0"), "sample.json")
            .error()
            .message ==
        "sample.json: field 'supports.rules[0].require': 'PAIRS > 0' uses the "
        "unknown name 'PAIRS'");
}

TEST_CASE("terms that double each other are stopped before they fill memory") {
  std::string terms = term("T0", "BLOCK_M + BLOCK_N");
  for (int i = 1; i < 40; ++i) {
    terms += ", " + term(fmt::format("T{}", i), fmt::format("T{0} + T{0}", i - 1));
  }
  CHECK(terms_error(terms) ==
        kWhere +
            "[12].value' is longer than 65536 characters with the terms that it uses written "
            "out");
}

TEST_CASE("terms mean in every expression what their values mean there") {
  for (const std::string_view arch : {"86", "sm_90a"}) {
    const auto plain = space_of(std::string(kSampleManifest), arch);
    const auto named = space_of(all_in_terms(), arch);
    REQUIRE(plain);
    INFO((named ? "" : named.error().message));
    REQUIRE(named);
    REQUIRE(named->size() == plain->size());
    CHECK(named->default_point() == plain->default_point());
    for (std::uint64_t i = 0; i < plain->size(); ++i) {
      REQUIRE(named->point(i) == plain->point(i));
      const auto before = launch_plan(plain->candidate(plain->point(i)), limits_of(arch));
      const auto after = launch_plan(named->candidate(named->point(i)), limits_of(arch));
      REQUIRE(before);
      REQUIRE(after);
      CHECK(to_json(*after) == to_json(*before));
    }
  }
}

TEST_CASE("what people read of a rule is as written") {
  const KernelRef kernel = sample_kernel(all_in_terms());
  const auto space = Space::build(kernel, kMission, limits_of("80"));
  REQUIRE(space);
  CHECK(space->ruled_out()[0].rule == "BLOCK_M >= PAIR");
  Config config = default_config(kernel->manifest);
  config.settings[1].value = kernel->manifest.parameters[1].values[2];
  CHECK(*infeasible_reason({kernel, config, kMission}, limits_of("80")) ==
        "breaks BLOCK_M >= PAIR: tiles are tall");
}

TEST_CASE("terms that the template mentions are macros of it, with the candidate's values") {
  const auto macros = [](const KernelRef& of) {
    return macros_of({of, default_config(of->manifest), kMission}, limits_of("80"));
  };
  const std::vector<std::string> plain = macros(sample_kernel());
  CHECK(macros(sample_kernel(all_in_terms())) == plain);
  const std::string source = std::string(kSampleSource) + "int pair = PAIR; int x = NO_PAIR;\n";
  std::vector<std::string> expected = plain;
  expected.push_back("PAIR=64");
  CHECK(macros(sample_kernel(all_in_terms(), source)) == expected);
}

TEST_CASE("a term without a whole value is no macro: the compiler names it") {
  const std::string manifest = sample_with("\"constraints\"", R"json("terms": [
      {"name": "THIRD", "value": "BLOCK_M / 3", "meaning": "m"},
      {"name": "NOTHING", "value": "1 / (BLOCK_M - 64)", "meaning": "m"}], "constraints")json");
  const KernelRef kernel =
      sample_kernel(manifest, std::string(kSampleSource) + "int x = THIRD + NOTHING;\n");
  const auto macros =
      macros_of({kernel, default_config(kernel->manifest), kMission}, limits_of("80"));
  CHECK(macros ==
        macros_of({sample_kernel(), default_config(kernel->manifest), kMission}, limits_of("80")));
}

TEST_CASE("the lint looks through terms, and finds one that nothing uses") {
  const std::string clean = replaced(all_in_terms(), "\"swizzle\": 128", "\"swizzle\": 0");
  CHECK(sample_findings(clean) == std::vector<std::string>{});
  CHECK(sample_findings(replaced(clean, "\"4 * SCORES\"", "\"4\"")) ==
        std::vector<std::string>{"warning: sample.json: field 'terms[2].name': no expression uses "
                                 "SCORES, nor does the template"});
  const std::string source = replaced(std::string(kSampleSource), "BLOCK_M + ", "");
  const auto launched = lint(*sample_kernel(clean, source));
  REQUIRE(launched.size() == 1);
  CHECK(launched[0].severity == Severity::kWarning);
  CHECK(launched[0].message.starts_with("BLOCK_M changes the launch only"));
}

}  // namespace fatune
