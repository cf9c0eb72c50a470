// manifest_operation.cpp - a manifest's 'operation' to the one that it declares or computes.
#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "model/kernel/manifest_parse.hpp"

namespace fatune {
namespace {

/// The reference declares, the others name what they compute.
Status check_role(const Fields& root, bool declares, const Manifest& manifest) {
  if (declares && manifest.role != Role::kReference) {
    return root.error("role",
                      "must be 'reference': the kernel that declares an operation is what "
                      "others are compared with");
  }
  if (!declares && manifest.role == Role::kReference) {
    return root.error("operation",
                      "must be an object that declares the operation, as this is its reference");
  }
  if (manifest.role == Role::kFault)
    return root.error("role", "is 'fault', which is for fixtures of attention");
  if (manifest.role == Role::kAttention && root.has("role"))
    return root.error("role", "is 'attention', but 'operation' says otherwise; leave it out");
  return {};
}

Result<OperationRef> find_operation(const Fields& root, const std::string& name,
                                    std::span<const OperationRef> operations) {
  std::vector<std::string> known;
  for (const OperationRef& each : operations) {
    if (each->name == name) return each;
    known.push_back(each->name);
  }
  const auto near = nearest_name(name, known);
  return root.error("operation",
                    fmt::format("is '{}', which no manifest of role 'reference' in this folder "
                                "declares{}",
                                name, near ? fmt::format("; did you mean '{}'?", *near) : ""));
}

}  // namespace

Status parse_operation_field(const Fields& root, std::span<const OperationRef> operations,
                             Manifest& manifest) {
  if (!root.has("operation")) return {};
  FATUNE_TRY(const Json* value, root.value("operation"));
  FATUNE_TRY_STATUS(check_role(root, value->is_object(), manifest));
  if (!value->is_object()) {
    FATUNE_TRY(const std::string name, root.text("operation"));
    FATUNE_TRY(manifest.operation, find_operation(root, name, operations));
    return {};
  }
  FATUNE_TRY(const Fields fields, root.object("operation"));
  FATUNE_TRY(Operation operation, parse_operation(fields));
  manifest.operation = std::make_shared<const Operation>(std::move(operation));
  return {};
}

}  // namespace fatune
