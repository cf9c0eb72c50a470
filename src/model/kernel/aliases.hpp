// aliases.hpp - configs of earlier manifests to those of today's: former names of parameters and
// values, parameters that are gone, and kernels that were one.
#pragma once

#include <span>
#include <string>

#include "core/json.hpp"
#include "core/result.hpp"
#include "model/kernel/kernel.hpp"
#include "model/kernel/manifest.hpp"

namespace fatune {

/// Reads 'aliases' and 'value_aliases' of a parameter.
Status parse_aliases(const Fields& fields, Parameter& parameter);
/// Reads 'former_parameters' and 'split_from'; the parameters must be in the manifest by then.
Status parse_former(const Fields& root, Manifest& manifest);

/// The config, an object, with the names that the manifest has today, in the manifest's order. What
/// it does not know stays as it is, for config_from_json to refuse.
Json with_current_names(const Manifest& manifest, const Json& config);

/// The kernel's name and the config, an object, as today's kernels have them. A kernel that is not
/// among them stays as it is, with its config.
void update_names(std::span<const KernelRef> kernels, std::string& kernel, Json& config);

}  // namespace fatune
