// recording_importance.hpp - a recording to what each of its parameters explains of the cost.
#pragma once

#include <cstdint>

#include "core/fields_fwd.hpp"
#include "search/datasets/recording.hpp"
#include "search/strategies/importance.hpp"

namespace fatune {

/// Measured configs below which shares are chance; chosen.
inline constexpr std::uint64_t kFewestForImportance = 20;

/// Of the logarithm of the cost, so that factors become sums; of the cost itself where one is not
/// positive.
ParameterImportance importance_of(const Recording& recording);
void fields(ParameterImportance::Single& x, FieldList& f);
void fields(ParameterImportance::Pair& x, FieldList& f);
void fields(ParameterImportance& x, FieldList& f);

}  // namespace fatune
