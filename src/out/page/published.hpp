// published.hpp - the best.json beside a journal to the standings that a sweep has published.
#pragma once

#include <filesystem>
#include <map>

#include "core/json.hpp"
#include "model/results/sweep_result.hpp"

namespace fatune {

/// By problem, the object of fatune.best/1; empty where there is no best.json that can be read.
std::map<Problem, Json> published_beside(const std::filesystem::path& journal);

/// Puts the finals in the order of `entry` and takes over their standings and the gate: the page
/// then shows the numbers that were published, and no interval is computed twice. False, with
/// nothing changed, when it does not list exactly these finals.
bool settle_as_published(const Json& entry, ProblemResult& result);

/// Id of the published best; empty if there is none.
std::string published_winner(const Json& entry);

}  // namespace fatune
