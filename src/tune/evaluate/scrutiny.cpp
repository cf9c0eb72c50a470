// scrutiny.cpp: Maps each level of scrutiny to its name and final plan.
#include <array>
#include <cstdint>
#include <limits>
#include <random>

#include "core/fields.hpp"
#include "core/words.hpp"
#include "tune/evaluate/evaluator.hpp"

namespace fatune {
namespace {

constexpr std::array kScrutinies = {Scrutiny::kCheck, Scrutiny::kRank, Scrutiny::kFinal};
// Chosen: an interval needs kLeastSamples rounds, and some in-layer rounds are discarded.
constexpr int kRankRounds = 16;

}  // namespace

std::string_view name(Scrutiny scrutiny) {
  constexpr std::array<std::string_view, 3> kNames = {"check", "rank", "final"};
  return kNames[static_cast<std::size_t>(scrutiny)];
}

Result<Scrutiny> parse_scrutiny(std::string_view text) {
  return parse_word<Scrutiny>(text, kScrutinies);
}

FieldWord<Scrutiny> word_of(const Scrutiny*) { return {parse_scrutiny, kScrutinies}; }

std::uint64_t unknown_seed() {
  std::random_device device;
  return std::uniform_int_distribution<std::uint64_t>(
      1, std::numeric_limits<std::int64_t>::max())(device);
}

FinalPlan examination_plan(Scrutiny scrutiny) {
  FinalPlan plan;
  plan.secret_inputs = true;
  plan.edge_problems = scrutiny == Scrutiny::kFinal;
  if (scrutiny == Scrutiny::kCheck) plan.rounds = 0;
  if (scrutiny == Scrutiny::kRank) plan.rounds = kRankRounds;
  return plan;
}

}  // namespace fatune
